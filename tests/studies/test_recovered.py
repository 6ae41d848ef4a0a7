"""recovered: stops are counted, and after how many of them a fresh message came again."""

from pathlib import Path
from typing import Any

import pytest

from gauntlet.errors import NotMeasured
from gauntlet.studies.decide import Decision, Verdict
from gauntlet.studies.rules import rule
from tests.studies import factory
from tests.studies.counted import row, summary


def stops(stopped: int, recovered: int, **changes: Any) -> dict[str, Any]:
    return {**row("detected and signalled", 1050), "stopped": stopped, "recovered": recovered, **changes}


def decide(tmp_path: Path, *rows: dict[str, Any], **keys: Any) -> Decision:
    of = {"protocol": "sctp", "threat": "deletion"}
    made = rule({"kind": "recovered", "experiment": "threats", "of": of, "at_least": 0.99, **keys})
    return made.decide(factory.context(summary(*rows), tmp_path))


@pytest.mark.parametrize(
    ("stopped", "recovered", "verdict"),
    [
        (1050, 1050, Verdict.REPRODUCED),
        (299, 299, Verdict.REPRODUCED),
        (298, 298, Verdict.UNDECIDED),
        (1050, 1045, Verdict.UNDECIDED),
        (1050, 1029, Verdict.NOT_REPRODUCED),
        (1050, 0, Verdict.NOT_REPRODUCED),
    ],
)
def test_a_share_of_stops_decides(tmp_path: Path, stopped: int, recovered: int, verdict: Verdict) -> None:
    """299 are the fewest that show 99 %: 0.05^(1/299) > 0.99."""
    found = decide(tmp_path, stops(stopped, recovered))
    assert (found.verdict, found.n, found.value) == (verdict, stopped, recovered / stopped)
    assert found.reason == f"{recovered} of {stopped} stops"


def test_trials_without_a_stop_and_other_cells_do_not_count(tmp_path: Path) -> None:
    others = stops(0, 0, verdict="prevented"), stops(400, 0, protocol="udp")
    invalid = stops(0, 0, verdict="invalid", trials=25, distinct=0)
    found = decide(tmp_path, stops(300, 300), stops(100, 100, harms="missing"), *others, invalid)
    assert (found.verdict, found.n) == (Verdict.REPRODUCED, 400)
    assert "left out: 25 invalid trials" in found.reason


def test_where_nothing_stopped_or_nothing_is_opened_again_nothing_is_known(tmp_path: Path) -> None:
    with pytest.raises(NotMeasured, match="No stop of threats with protocol = sctp"):
        decide(tmp_path, stops(0, 0))
    with pytest.raises(NotMeasured, match="open no further session"):
        decide(tmp_path, row("prevented", 400))
