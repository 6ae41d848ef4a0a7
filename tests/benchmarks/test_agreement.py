"""When two grounds agree: the tolerances, and what is made of runs that lose packets."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import agreement
from agreement import CASES, TOLERANCES, Case, Tolerance, compare
from gauntlet.errors import RunError
from gauntlet.experiment.plan_schema import Plan

SETUP, THROUGHPUT = "set-up [s]", "throughput [bit/s]"


def case(*compared: str, loss: float = 0.0) -> Case:
    return Case("made up", {}, compared, loss)


def judged(of: Case, virtual: Sequence[Mapping[str, float]], real: Sequence[Mapping[str, float]]) -> bool:
    (row,) = compare(of, virtual, real)
    return row.agrees


@pytest.mark.parametrize(
    ("virtual", "real", "agrees"),
    [
        (0.04, 0.0429, True),
        (0.04, 0.0431, False),
        (0.1, 0.1049, True),
        (0.1, 0.1051, False),
        (0.1, 0.0951, True),
    ],
)
def test_a_figure_may_be_off_by_a_share_or_by_the_least(virtual: float, real: float, agrees: bool) -> None:
    assert Tolerance(0.05, 0.003).allows(virtual, real) == agrees


def test_medians_are_compared_so_that_one_late_run_decides_nothing() -> None:
    virtual = [{THROUGHPUT: 1e6}] * 3
    assert judged(case(THROUGHPUT), virtual, [{THROUGHPUT: it} for it in (0.2e6, 0.99e6, 0.98e6)])
    assert not judged(case(THROUGHPUT), virtual, [{THROUGHPUT: it} for it in (0.2e6, 0.3e6, 0.98e6)])


def test_a_message_that_is_missing_is_no_agreement() -> None:
    counts = case("received messages")
    assert judged(counts, [{"received messages": 313.0}], [{"received messages": 313.0}])
    assert not judged(counts, [{"received messages": 313.0}], [{"received messages": 312.0}])


def test_either_ground_must_lose_as_much_as_was_asked() -> None:
    # Four standard deviations of 5 % of 1,000 messages: 27.6.
    def runs(received: float) -> list[dict[str, float]]:
        return [{"messages": 1000.0, "received messages": received}]

    lossy = case("loss ratio", loss=0.05)
    assert judged(lossy, runs(925.0), runs(975.0))
    assert not judged(lossy, runs(950.0), runs(920.0))
    assert not judged(lossy, runs(980.0), runs(950.0))


def test_every_figure_that_a_case_compares_has_a_tolerance() -> None:
    for of in CASES:
        assert [what for what in of.compared if what not in TOLERANCES] == (["loss ratio"] if of.loss else [])


def test_every_case_is_a_plan() -> None:
    for of in CASES:
        Plan.model_validate({"format": "gauntlet-plan", "version": 1, "runs": [of.run(1)]})


class Refusing:
    """An engine that plays nothing."""

    exact = False

    def refusals(self, runs: Sequence[Mapping[str, Any]]) -> list[str | None]:
        return ["the rate of link x needs the module sch_tbf", *[None for _ in runs[1:]]]


def test_what_cannot_be_played_is_said_before_anything_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("agreement.engines.installed", lambda _ground: Refusing())
    monkeypatch.setattr("sys.argv", ["agreement.py", "--out", str(tmp_path / "it.json")])
    with pytest.raises(RunError, match=r"tcp-cubic, 1 MB cannot be played here: the rate .* sch_tbf\."):
        agreement.main()
