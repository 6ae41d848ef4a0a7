"""unnoticed: trials are counted, not repetitions."""

from pathlib import Path
from typing import Any

import pytest

from gauntlet.errors import NotMeasured, UserError
from gauntlet.studies.decide import Decision, Verdict
from gauntlet.studies.rules import rule
from gauntlet.studies.rules.counted import interval
from tests.studies import factory
from tests.studies.counted import row, summary


def decide(tmp_path: Path, *rows: dict[str, Any], **keys: Any) -> Decision:
    of = {"protocol": "sctp", "threat": "deletion", "freshness": False}
    made = rule({"kind": "unnoticed", "experiment": "threats", "of": of, **keys})
    return made.decide(factory.context(summary(*rows), tmp_path))


@pytest.mark.parametrize(
    ("trials", "verdict"), [(1000, Verdict.REPRODUCED), (299, Verdict.REPRODUCED), (290, Verdict.UNDECIDED)]
)
def test_none_of_n_bounds_the_share_at_three_over_n(tmp_path: Path, trials: int, verdict: Verdict) -> None:
    found = decide(tmp_path, row("prevented", trials), at_most=0.01)
    assert (found.verdict, found.value, found.n) == (verdict, 0.0, trials)
    assert found.high == pytest.approx(3 / trials, rel=0.02)


def test_what_was_signalled_is_noticed_and_invalid_trials_say_nothing(tmp_path: Path) -> None:
    rows = row("detected and signalled", 300, harms="missing"), row("invalid", 700)
    found = decide(tmp_path, *rows, at_most=0.01)
    assert (found.verdict, found.n) == (Verdict.REPRODUCED, 300)
    assert "700 invalid" in found.reason


def test_copies_of_a_trial_count_once(tmp_path: Path) -> None:
    found = decide(tmp_path, row("prevented", 1000, distinct=3), at_most=0.01)
    assert (found.verdict, found.n) == (Verdict.UNDECIDED, 3)
    assert "left out: 997 copies of another trial (alike to the nanosecond" in found.reason
    found = decide(tmp_path, row("prevented", 4, distinct=3), at_most=0.01)
    assert "left out: 1 copy of another trial" in found.reason


def test_a_summary_that_does_not_say_which_are_copies_is_not_used(tmp_path: Path) -> None:
    old = {key: value for key, value in row("prevented", 1000).items() if key != "distinct"}
    with pytest.raises(NotMeasured, match="counted by an older version"):
        decide(tmp_path, old, at_most=0.01)


@pytest.mark.parametrize("verdict", ["silently dropped", "delivered late unnoticed", "undetected"])
def test_each_way_not_to_notice_counts(tmp_path: Path, verdict: str) -> None:
    found = decide(tmp_path, row(verdict, 100), row("prevented", 900), at_most=0.01)
    assert (found.verdict, found.value) == (Verdict.NOT_REPRODUCED, 0.1)


def test_a_reading_by_harm_counts_that_harm_alone(tmp_path: Path) -> None:
    late = row("delivered late unnoticed", 1000, harms="late")
    assert decide(tmp_path, late, at_most=0.01).verdict == Verdict.NOT_REPRODUCED
    assert decide(tmp_path, late, at_most=0.01, harms=["missing"]).verdict == Verdict.REPRODUCED
    both = row("delivered late unnoticed", 1000, harms="late, missing")
    assert decide(tmp_path, both, at_most=0.01, harms=["missing"]).verdict == Verdict.NOT_REPRODUCED


def test_only_the_selection_is_read(tmp_path: Path) -> None:
    others = row("undetected", 50, protocol="udp"), row("undetected", 50, freshness=True)
    assert decide(tmp_path, row("prevented", 400), *others, at_most=0.01).value == 0.0
    with pytest.raises(NotMeasured, match="No trial of threats with protocol = sctp"):
        decide(tmp_path, *others, at_most=0.01)


def test_a_factor_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="tcp"):
        decide(tmp_path, row("prevented", 1), of={"protocol": "tcp"}, at_most=0.01)


def test_the_exact_interval_is_that_of_tables() -> None:
    """Clopper and Pearson for 5 of 100 at 95 %."""
    assert interval(5, 100, 0.05) == pytest.approx((0.01643, 0.11284), abs=1e-5)
    assert interval(100, 100, 0.05) == (pytest.approx(0.9705, abs=1e-4), 1.0)


@pytest.mark.parametrize(
    ("by", "before", "value"),
    [("application", False, 1.0), ("transport", True, 1.0), ("transport", False, 0.0)],
)
def test_a_transport_notices_what_it_tells_before_the_application_acts(
    tmp_path: Path, by: str, before: bool, value: float
) -> None:
    told = {**row("detected and signalled", 400), "by": by, "accepted_before": before}
    assert decide(tmp_path, told, at_most=0.01).value == 0.0
    found = decide(tmp_path, told, at_most=0.01, noticed_by="transport")
    assert found.value == value
    assert found.verdict == (Verdict.NOT_REPRODUCED if value else Verdict.REPRODUCED)


def test_what_the_application_refused_was_let_through_whichever_harm_is_asked(tmp_path: Path) -> None:
    """It refused the changed message by its form, so it suffered no change: the message is missing."""
    refused = {**row("detected and signalled", 400, harms="missing"), "by": "application"}
    asked = {"harms": ["changed"], "at_most": 0.01}
    assert decide(tmp_path, refused, **asked).value == 0.0
    assert decide(tmp_path, refused, **asked, noticed_by="transport").value == 1.0
    told = {**refused, "by": "transport"}
    assert decide(tmp_path, told, **asked, noticed_by="transport").value == 0.0
