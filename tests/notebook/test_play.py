"""`gauntlet.run`: a path, a text and a dictionary are one experiment; the report says how to repeat it."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

import gauntlet
from gauntlet import campaign
from gauntlet.errors import UserError

TEXT = (Path(__file__).parents[2] / "experiments" / "constant.toml").read_text(encoding="utf-8")


class Played(Exception):
    """What a campaign would have been given."""


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Call `gauntlet.run`; hands back the ids of its runs, its folder and its options."""
    monkeypatch.chdir(tmp_path)

    def give(specs: Any, folder: Path, **options: Any) -> None:
        raise Played([spec.id for spec in specs], folder, options)

    monkeypatch.setattr(campaign, "run", give)

    def call(experiment: Any, **wishes: Any) -> Any:
        with pytest.raises(Played) as given:
            gauntlet.run(experiment, **wishes)
        return given.value.args

    return call


def test_a_path_a_text_and_a_dictionary_are_the_same(played: Any, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(TEXT)
    runs, folder, options = played("own.toml", seed=7, repetitions=2, capture=True)
    assert len(runs) == 18
    assert folder == Path("results/constant")
    assert options["command"] == [
        "gauntlet",
        "run",
        "own.toml",
        "--seed",
        "7",
        "--repetitions",
        "2",
        "--capture",
    ]
    for same in (Path("own.toml"), TEXT, tomllib.loads(TEXT)):
        again, place, others = played(same, seed=7, repetitions=2, capture=True)
        assert (again, place, others["seed"]) == (runs, folder, 7)
        assert tomllib.loads(others["experiment"]) == tomllib.loads(TEXT)
    assert others["command"][2] == "results/constant/experiment.toml"


def test_what_cannot_be_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no such file"):
        gauntlet.run(tmp_path / "nowhere.toml")
    with pytest.raises(UserError, match=r"^the experiment: .*'lost'.*did you mean 'loss'"):
        gauntlet.run({**tomllib.loads(TEXT), "link": {"lost": "1%"}})


def test_what_no_flow_can_answer_is_refused_as_from_a_terminal(tmp_path: Path) -> None:
    judged = TEXT.replace("[workload]", '[workload]\njudge = { kpi = "latency", at_most = "1s" }')
    with pytest.raises(UserError, match=r"\[workload\] judge: there is no KPI 'latency'.*'message_delay_s'"):
        gauntlet.run(judged, out=tmp_path / "out")
    more = TEXT.replace("[workload]", '[workload]\njudge = { kpi = "throughput_bps", at_most = "1Mbit/s" }')
    with pytest.raises(UserError, match=r"\[workload\] judge: .*more is better; give at_least"):
        gauntlet.run(more, out=tmp_path / "out")
    answered = TEXT.replace("[experiment]", '[experiment]\nanswer_by = "delay_p98_s"')
    with pytest.raises(UserError, match=r"\[experiment\] answer_by: .*did you mean 'delay_p99_s'"):
        gauntlet.run(answered, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
