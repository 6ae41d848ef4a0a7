"""What a ground that never repeats itself means for a campaign: one worker, an order drawn, no cache."""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gauntlet import campaign
from gauntlet.campaign import by_repetition, interleaved
from gauntlet.errors import RunError, UserError
from gauntlet.executor.address import Cluster
from gauntlet.executor.cache import Cache
from gauntlet.executor.plan import run_key
from gauntlet.executor.planning import plans
from gauntlet.experiment import expand, parse_experiment

TEXT = """
[experiment]
name = "grounds"
repetitions = 3
[scenario]
name = "constant"
rate = "1Mbit/s"
[matrix]
protocols = ["tcp-cubic", "tcp-reno"]
channel_delay = ["10ms", "20ms"]
[workload]
app = "bulk"
size = "10kB"
"""


@dataclass
class Real:
    """An engine that plays nothing and keeps what it was given, in order."""

    seen: list[int] = field(default_factory=list)
    exact: bool = False

    def identity(self) -> dict[str, str]:
        return {"ground": "host" if not self.exact else "virtual", "player_sha256": "0" * 64}

    def describe(self) -> dict[str, str]:
        return self.identity()

    def refusals(self, runs: Any) -> list[str | None]:
        return [None] * len(runs)

    def play(self, run: Any, out: Path, *, place: Any, on_event: Any = None) -> Path:
        (out.parents[2] / "order").open("a").write(f"{run['seed']}\n")
        raise RunError("it is not played")


def run(out: Path, engine: Real, **options: Any) -> list[int]:
    """Play the experiment with this engine; the seeds of its runs in the order in which they were played."""
    experiment = parse_experiment(TEXT, "grounds.toml", Path())
    with pytest.raises(RunError, match="in a row left nothing"):
        campaign.play(experiment, out, engine=engine, **options)
    return [int(line) for line in (out.parent / "order").read_text().split()]


def place(repetition: int, protocol: str, loss: float = 0.0) -> Any:
    """A planned run, of which only its place in the experiment matters."""
    factors = {"protocol": protocol, "loss": loss, "repetition": repetition}
    return SimpleNamespace(spec=SimpleNamespace(factors=factors))


def test_keys_of_one_plan_differ_by_the_ground() -> None:
    keys = {run_key({"seed": b"1"}, {}, {}, {"ground": ground}) for ground in ("virtual", "host")}
    assert len(keys) == 2


def test_the_order_is_drawn_from_the_seed() -> None:
    runs = [place(repetition, protocol) for repetition in (2, 1) for protocol in "abcdefgh"]
    drawn = interleaved(runs, 1)
    assert [it.spec.factors["repetition"] for it in drawn] == [1] * 8 + [2] * 8
    of_first = [it.spec.factors["protocol"] for it in drawn[:8]]
    assert sorted(of_first) == list("abcdefgh") != of_first
    assert interleaved(runs, 1) == drawn
    assert interleaved(runs, 2) != drawn


def test_protocols_take_turns_within_a_condition_and_conditions_within_a_repetition() -> None:
    runs = [
        place(repetition, protocol, loss)
        for protocol in ("x", "y")
        for loss in (0.0, 0.1)
        for repetition in (1, 2)
    ]
    order = [
        tuple(it.spec.factors[name] for name in ("repetition", "loss", "protocol"))
        for it in by_repetition(runs)
    ]
    assert order == [
        (repetition, loss, protocol)
        for repetition in (1, 2)
        for loss in (0.0, 0.1)
        for protocol in ("x", "y")
    ]


def test_in_virtual_time_a_campaign_plays_repetition_by_repetition(tmp_path: Path) -> None:
    specs = expand(parse_experiment(TEXT, "grounds.toml", Path()))
    seeds = {(it.factors["repetition"], it.factors["channel_delay_s"]): it.seed for it in specs}
    played = run(tmp_path / "out", Real(exact=True), workers=1, cached=False)
    wanted = [seeds[repetition, delay_s] for repetition in (1, 2) for delay_s in (0.01, 0.02)]
    # Two protocols meet each; the campaign gives up after eight runs that left nothing.
    assert played[:8] == [seed for seed in wanted for _ in range(2)]


def test_runs_in_real_time_are_interleaved(tmp_path: Path) -> None:
    experiment = parse_experiment(TEXT, "grounds.toml", Path())
    planned = [spec.seed for spec in expand(experiment)]
    played = run(tmp_path / "a" / "out", Real())
    assert played != planned[: len(played)]
    assert set(played) <= set(planned)
    again = run(tmp_path / "b" / "out", Real())
    # The campaign gives up after a few runs that left nothing; by then the next one may have begun or not.
    assert abs(len(again) - len(played)) <= 1
    both = min(len(again), len(played))
    assert again[:both] == played[:both], "the order follows from the seed"


def test_several_workers_are_refused(tmp_path: Path) -> None:
    experiment = parse_experiment(TEXT, "grounds.toml", Path())
    with pytest.raises(
        UserError, match="2 workers were asked for, and runs in real time are played one at a time"
    ):
        campaign.play(experiment, tmp_path / "out", engine=Real(), workers=2)


def test_equal_runs_in_real_time_are_each_played(tmp_path: Path) -> None:
    experiment = parse_experiment(TEXT.replace("repetitions = 3", "repetitions = 1"), "grounds.toml", Path())
    one = expand(experiment)[0]
    alike = [one, replace(one, id=f"{one.id}-again")]
    assert len({plan.key({}) for plan in plans(alike)}) == 1 < len({spec.id for spec in alike})
    for exact, times in ((True, 1), (False, 2)):
        out = tmp_path / str(exact) / "out"
        with suppress(RunError):
            campaign.play(experiment, out, specs=alike, engine=Real(exact=exact), workers=1, cached=False)
        assert (out.parent / "order").read_text().split() == [str(one.seed)] * times


def test_a_cluster_is_refused(tmp_path: Path) -> None:
    experiment = parse_experiment(TEXT, "grounds.toml", Path())
    with pytest.raises(UserError, match="played on the machine where they are asked for; leave --scheduler"):
        campaign.play(experiment, tmp_path / "out", engine=Real(), cluster=Cluster("tcp://127.0.0.1:1"))


def test_no_run_in_real_time_comes_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never() -> Any:
        raise AssertionError("the cache was asked")

    monkeypatch.setattr(Cache, "of_user", never)
    assert run(tmp_path / "out", Real())
