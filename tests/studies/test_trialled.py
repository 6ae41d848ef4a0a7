"""The summary counts trials that came to the same in one row, and of these who was told in time."""

from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

from gauntlet.results.reader import Results
from gauntlet.studies.trialled import trialled

S = 1_000_000_000
WAY_NS = S // 50
RULE = {
    "id": "deletion",
    "match": {"message": {"flow": "f0", "number": 3}},
    "do": {"action": "drop"},
}


def _message(number: int) -> dict[str, Any]:
    return {
        "flow": 0, "event": "message", "t_ns": number * S + WAY_NS, "verdict": "accepted", "number": number,
        "stamp_ns": number * S, "genuine": True,
    }  # fmt: skip


def _told(at_s: float) -> dict[str, Any]:
    told = {"event": "session", "t_ns": round(at_s * S), "verdict": "reset"}
    return {**_message(0), **told, "number": None, "stamp_ns": None, "genuine": None}


def _run(name: str, *events: dict[str, Any], trusted: bool = True) -> SimpleNamespace:
    """Messages 0 and 1 come; the third is deleted at 2 s, and what then happens is given."""
    log = [{"node": 0, "t_ns": 2 * S, "event": "matched", "rule": 0}]
    return SimpleNamespace(
        id=name,
        ok=True,
        trusted=trusted,
        factors={"protocol": "sctp", "repetition": 1},
        spec={"link": {"threat": "deletion"}, "flows": [{"app": "safety"}]},
        plan={
            "flows": [{"app_params": {"bound_s": 0.5, "interval_s": 1.0}}],
            "in_path": [{"node": "threat", "rules": [RULE]}],
        },
        record={
            "in_path": [
                {
                    "node": "threat",
                    "rules": [{"id": "deletion", "matched_packets": 1, "unfit_packets": 0}],
                }
            ]
        },
        safety=lambda: pa.Table.from_pylist([_message(0), _message(1), *events]),
        messages=lambda: pa.Table.from_pylist(
            [{"flow": 0, "seq": number, "sent_ns": number * S} for number in range(3)]
        ),
        in_path=lambda _: pa.Table.from_pylist(log),
    )


def _rows(*runs: SimpleNamespace) -> list[dict[str, Any]]:
    results = cast(Results, SimpleNamespace(runs=lambda: runs))
    found = trialled(results, {run.id for run in runs})
    assert found is not None
    return cast(list[dict[str, Any]], found.to_pylist())


def test_of_those_that_were_told_a_row_has_the_middle_time_and_how_many_were_in_time() -> None:
    (row,) = _rows(
        _run("a", _told(2.4)), _run("b", _told(2.52)), _run("c", _told(3.4)), _run("d", _told(3.4))
    )
    assert (row["verdict"], row["by"], row["harms"]) == ("detected and signalled", "transport", "missing")
    assert (row["trials"], row["distinct"]) == (4, 3)
    assert row["told_after_s"] == pytest.approx(0.96)
    # Silence would have been told 1.5 s after message 1 came, at 2.52 s.
    assert row["told_in_time"] == 2


def test_where_nobody_was_told_there_is_nothing_to_be_in_time() -> None:
    silent, untrusted = _rows(_run("a", _message(2) | {"number": 1}), _run("b", _told(2.4), trusted=False))
    assert (silent["verdict"], silent["told_in_time"]) == ("undetected", None)
    assert (untrusted["verdict"], untrusted["distinct"], untrusted["told_in_time"]) == ("invalid", 0, None)
