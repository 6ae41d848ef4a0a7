"""Two results side by side: which runs are pairs, what is said of them, and what they differ in."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from gauntlet import report
from gauntlet.errors import UserError
from gauntlet.report.changed import between, changed
from gauntlet.report.compared import Compared, Line, compared

from .flows import Constructed, Did, build

PROTOCOLS = ("tcp-bbr", "tcp-cubic", "sctp")


def before_s(_protocol: str, repetition: int) -> float:
    return 10.0 + repetition / 10


def after_s(protocol: str, repetition: int) -> float:
    """BBR takes a fifth less, CUBIC as long, SCTP now more and now less."""
    was_s = before_s(protocol, repetition)
    return {"tcp-bbr": 0.8, "tcp-cubic": 1.0, "sctp": 1.01 if repetition % 2 else 0.99}[protocol] * was_s


def campaign(
    folder: Path,
    took_s: Callable[[str, int], float],
    protocols: tuple[str, ...] = PROTOCOLS,
    repetitions: int = 10,
    *,
    labels: Mapping[str, str] | None = None,
    about: str = "",
) -> Path:
    made = Constructed(
        protocols,
        lambda protocol, _place, repetition, _loss: Did(took_s(protocol, repetition)),
        repetitions=repetitions,
        labels=labels or {},
        about=about,
    )
    return build(folder, folder.with_name(f"{folder.name}-scratch"), made)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("compared")
    return campaign(folder / "a", before_s), campaign(folder / "b", after_s)


def lay(one: Path, other: Path, **options: Any) -> Compared:
    return compared(report.load(one), report.load(other), **options)


def line(found: Compared, label: str) -> Line:
    (only,) = [it for it in found.lines if it.protocol[0] == label]
    return only


def test_what_changed_is_found_run_by_run(both: tuple[Path, Path]) -> None:
    found = lay(*both)
    words = {it.protocol[0]: it.word for it in found.lines}
    assert words == {"TCP BBR": "better", "TCP CUBIC": "the same", "SCTP": "level"}
    faster = line(found, "TCP BBR")
    assert faster.pairs == 10
    assert faster.ratio is not None
    assert (faster.ratio.value, faster.ratio.low, faster.ratio.high) == pytest.approx((0.8, 0.8, 0.8))
    # Of 2^10 patterns of signs, two are as far as ten differences of one sign.
    assert faster.p_value == pytest.approx(2 / 1024)
    assert faster.before.mean is not None
    assert faster.before.mean.value == pytest.approx(10.55)
    assert found.in_words == "B against A over 3 lines: better in 1, level in 1, the same in 1."
    assert (found.unpaired, found.other_draws) == ((0, 0), 0)


def test_what_is_too_small_to_matter_is_equal(tmp_path: Path) -> None:
    """Half a per cent less in each repetition, and a fifth less."""

    def less(protocol: str, repetition: int) -> float:
        return before_s(protocol, repetition) * (0.995 if protocol == "sctp" else 0.8)

    asked = [
        campaign(tmp_path / name, took_s, about='matters = "2 %"\n')
        for name, took_s in (("a", before_s), ("b", less))
    ]
    found = lay(*asked)
    assert line(found, "SCTP").word == "equal"
    assert line(found, "TCP BBR").word == "better"


def test_the_other_way_round_it_is_worse(both: tuple[Path, Path]) -> None:
    found = line(lay(both[1], both[0]), "TCP BBR")
    assert found.word == "worse"
    assert found.ratio is not None
    assert found.ratio.value == pytest.approx(1.25)


def test_a_kpi_of_which_more_is_better(both: tuple[Path, Path]) -> None:
    """A message a second, and the last one sooner: up to an eighth more a second."""
    found = line(lay(*both, kpi="throughput_bps"), "TCP BBR")
    assert (found.kpi.name, found.pairs) == ("throughput_bps", 10)
    assert found.ratio is not None
    assert 0.9 < found.ratio.value < 1.15
    with pytest.raises(UserError, match="there is no KPI 'speed'"):
        lay(*both, kpi="speed")


def test_runs_without_a_counterpart_are_counted(tmp_path: Path, both: tuple[Path, Path]) -> None:
    fewer = campaign(tmp_path / "fewer", after_s, PROTOCOLS[:2], repetitions=7)
    found = lay(both[0], fewer)
    assert [it.pairs for it in found.lines] == [7, 7]
    assert found.unpaired == (30 - 14, 0)


def test_few_pairs_tell_nothing_beyond_chance(tmp_path: Path, both: tuple[Path, Path]) -> None:
    found = lay(both[0], campaign(tmp_path / "few", after_s, repetitions=5))
    assert {it.protocol[0]: it.word for it in found.lines} == {
        "TCP BBR": "",
        "TCP CUBIC": "the same",
        "SCTP": "",
    }
    assert "not to be told in 2 (5 pairs tell nothing from chance: that takes 6)" in found.in_words


def test_few_pairs_are_not_equal_either(tmp_path: Path) -> None:
    """Half a per cent less in two repetitions, where 2 % matter."""
    about = 'matters = "2 %"\n'
    one = campaign(tmp_path / "a", before_s, ("sctp",), 2, about=about)
    other = campaign(tmp_path / "b", lambda _, it: 0.995 * before_s("", it), ("sctp",), 2, about=about)
    found = lay(one, other)
    assert line(found, "SCTP").word == ""
    assert re.fullmatch(
        r"B may be better or worse than A: transfer time 0\.9950 times.*; 2 pairs tell nothing from chance: "
        r"that takes 6\.",
        found.in_words,
    ), found.in_words


def test_equal_are_two_whose_whole_interval_is_below_what_matters(tmp_path: Path) -> None:
    """On average 0.1 % more, but now 4 % more and now 4 % less."""

    def spread(protocol: str, repetition: int) -> float:
        return before_s(protocol, repetition) * (1.041 if repetition % 2 else 0.961)

    about = 'matters = "2 %"\n'
    one = campaign(tmp_path / "a", before_s, ("sctp",), about=about)
    found = lay(one, campaign(tmp_path / "b", spread, ("sctp",), about=about))
    assert line(found, "SCTP").word == "level"


def test_conditions_that_are_not_those_of_the_other_are_named(tmp_path: Path) -> None:
    one = campaign(tmp_path / "a", before_s, ("sctp",), 2)
    made = Constructed(("sctp",), lambda *_: Did(10.0), repetitions=2, losses=(0.01,))
    with pytest.raises(UserError, match=r"\(A has loss 0 %; B has loss 1 %\)"):
        lay(one, build(tmp_path / "b", tmp_path / "b-scratch", made))


def test_what_two_protocols_were_to_do_differently_is_named(tmp_path: Path) -> None:
    own = campaign(tmp_path / "own", before_s, ("build-1", "build-2"), 2)
    for file in sorted(own.glob("runs/*/spec.json")):
        spec = json.loads(file.read_text())
        first = spec["factors"]["protocol"] == "build-1"
        external = {
            "name": spec["factors"]["protocol"],
            "parameters": {"block_bytes": 512 if first else 65536},
        }
        spec["flows"] = [{**it, "external": external} for it in spec["flows"]]
        file.write_text(json.dumps(spec))
        (file.parent / "key.json").write_text(json.dumps({"files": {"/x/client": "old" if first else "new"}}))
    both = report.load(own), report.load(own)
    found = compared(*both, pairs={"build-1": "build-2"})
    assert between(both[0].results, both[1].results, [it.runs for it in found.lines]) == [
        "protocol: build-1 → build-2",
        "build-1 → build-2, external.parameters.block_bytes: 512 → 65536",
        "build-1 → build-2, file /x/client: old → new",
    ]
    assert between(both[0].results, both[1].results, [("build-1_loss-0pct_rep-001",) * 2]) == []


def test_what_did_not_end_counts_with_its_limit(tmp_path: Path, both: tuple[Path, Path]) -> None:
    made = Constructed(("tcp-bbr",), lambda *_: Did(5.0, whole=False), repetitions=10)
    found = line(lay(both[0], build(tmp_path / "r", tmp_path / "s", made)), "TCP BBR")
    assert found.word == "worse"
    assert (found.after.completed, found.after.flows, found.after.limited) == (0, 10, True)
    assert found.after.mean is not None
    assert found.after.mean.value == 100.0


def test_runs_on_other_stretches_are_no_pairs(tmp_path: Path, both: tuple[Path, Path]) -> None:
    elsewhere = campaign(tmp_path / "elsewhere", after_s)
    specs = sorted(elsewhere.glob("runs/*/spec.json"))
    for file in specs[1:]:
        file.write_text(json.dumps({**json.loads(file.read_text()), "start_s": 300.0}))
    found = lay(both[0], elsewhere)
    assert [it.pairs for it in found.lines] == [1]
    assert found.other_draws == 29
    specs[0].write_text(json.dumps({**json.loads(specs[0].read_text()), "start_s": 300.0}))
    with pytest.raises(UserError, match="did not meet the same draws"):
        lay(both[0], elsewhere)


def test_two_builds_of_one_stack_are_a_pair(tmp_path: Path) -> None:
    took_s = {"build-1": 10.0, "build-2": 9.0}
    own = campaign(
        tmp_path / "own",
        lambda protocol, repetition: took_s[protocol] * (1 + repetition / 100),
        ("build-1", "build-2"),
        labels={"build-1": "Build 1", "build-2": "Build 2"},
    )
    found = lay(own, own, pairs={"build-1": "build-2"})
    (only,) = found.lines
    assert (only.protocol, only.word) == (("Build 1", "Build 2"), "better")
    assert only.ratio is not None
    assert only.ratio.value == pytest.approx(0.9)
    with pytest.raises(UserError, match="there is no build-3 in these results"):
        lay(own, own, pairs={"build-1": "build-3"})


def test_protocols_that_have_nothing_in_common(tmp_path: Path, both: tuple[Path, Path]) -> None:
    other = campaign(tmp_path / "other", lambda *_: 10.0, ("udp",))
    with pytest.raises(UserError, match=r"no protocol in common .* --pair OLD=NEW"):
        lay(both[0], other)


def test_what_differs_is_named(tmp_path: Path) -> None:
    one, other = (campaign(tmp_path / name, before_s, ("tcp-bbr",), 1) for name in "ab")
    manifest = other / "manifest.json"
    content = json.loads(manifest.read_text())
    content["engine"] = {"kernel": "7.3.0"}
    content["seed"] = 2
    manifest.write_text(json.dumps(content))
    text = (other / "experiment.toml").read_text()
    (other / "experiment.toml").write_text(f'{text}title = "again"\n[link]\nqueue = "64kB"\n')
    for folder, sha256 in ((one, "1" * 64), (other, "2" * 64)):
        (run,) = (folder / "runs").iterdir()
        (run / "key.json").write_text(json.dumps({"key": "k", "files": {"/x/client.py": sha256}}))
    assert changed(report.load(one).results, report.load(other).results) == [
        "kernel: 6.12.0 → 7.3.0",
        "seed: 1 → 2",
        "link.queue: nothing → 64kB",
        f"file /x/client.py: {'1' * 12} → {'2' * 12}",
    ]
