"""What a stop costs: from the threat's act until a further session brings the application a fresh message."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from gauntlet.evidence import cells
from gauntlet.evidence import verdict as words
from gauntlet.evidence.course import Course, Event, Stop
from gauntlet.evidence.trials import Trial
from gauntlet.evidence.verdict import judged
from gauntlet.results.reader import Results
from gauntlet.studies import trialled as of_study
from gauntlet.studies.trialled import RECOVERY, trialled

S = 1_000_000_000


def _at(at_s: float, event: str, verdict: str) -> Event:
    return Event(event, round(at_s * S), verdict)


def _came(number: int, sent_s: float, at_s: float, verdict: str = "accepted", genuine: bool = True) -> Event:
    return Event("message", round(at_s * S), verdict, number, round(sent_s * S), genuine)


BROKEN = [
    _came(1, 1, 1.1),
    _at(2.1, "session", "TLS: a record could not be decrypted"),
    _at(2.2, "session", "the other side ended"),
    _at(2.2, "ended", "session 1"),
    _at(3.4, "reopened", "session 2"),
]
"""The threat acts at 2 s, on message 2."""


def _course(*more: Event, events: list[Event] = BROKEN, acted_ns: int | None = 2 * S) -> Course:
    return Course({1: S, 2: 2 * S, 3: 34 * S // 10}, [*events, *more], S // 2, acted_ns)


def test_it_is_the_first_fresh_message_over_the_further_session_that_counts() -> None:
    fresh = _came(3, 3.4, 3.5, "gap")
    assert _course(fresh).first_stop(2 * S) == Stop(22 * S // 10, 35 * S // 10)
    assert judged(_course(fresh)).verdict == words.SIGNALLED


@pytest.mark.parametrize(
    "other",
    [
        _came(1, 1, 3.5),
        _came(3, 2.9, 3.5),
        _came(3, 3.4, 3.5, "late"),
        _came(3, 3.4, 3.5, genuine=False),
    ],
    ids=["had before", "older than the bound", "refused", "not as it was sent"],
)
def test_what_is_not_fresh_ends_no_stop(other: Event) -> None:
    assert _course(other).first_stop(2 * S) == Stop(22 * S // 10, None)


def test_a_message_that_comes_before_the_further_session_is_of_the_one_that_ended() -> None:
    events = [*BROKEN[:4], _came(2, 2, 2.3), BROKEN[4]]
    assert _course(events=events).first_stop(2 * S) == Stop(22 * S // 10, None)


def test_a_session_that_goes_on_is_no_stop() -> None:
    going_on = [_came(1, 1, 1.1), _came(2, 2, 2.4), _came(3, 3.4, 3.5)]
    assert _course(events=going_on).first_stop(2 * S) is None
    # What was over before the threat acted is none of its work.
    assert _course(_came(3, 3.4, 3.5)).first_stop(3 * S) is None


class _Known(Trial):
    """A trial whose course is given."""

    def __init__(self, course: Course, *, threat: str = "changed", trusted: bool = True) -> None:
        plan = {"id": "f0", "app_params": {"interval_s": 1.0, "reopen_after_s": 1.0}}
        run = SimpleNamespace(
            trusted=trusted,
            ok=True,
            id="run",
            factors={"protocol": "tls-cubic", "repetition": 1},
            spec={"flows": [{"app": "safety"}], "link": {"threat": threat}},
            plan={"flows": [plan]},
        )
        super().__init__(cast(Any, run), 0)
        self.__dict__["course"] = course

    @property
    def identity(self) -> None:
        return None


def _trials() -> list[Trial]:
    return [
        _Known(_course(_came(3, 3.4, 3.5))),
        _Known(_course(_came(3, 3.4, 3.7))),
        _Known(_course()),
        _Known(_course(events=[_came(1, 1, 1.1), _came(2, 2, 2.4), _came(3, 3.4, 3.5)])),
        _Known(_course(_came(3, 3.4, 3.6)), trusted=False),
    ]


def test_a_cell_counts_stops_and_how_long_they_were() -> None:
    (cell,) = cells(_trials())
    assert (cell.reopens, cell.trials, cell.stops, cell.recoveries_s) == (True, 4, 3, [1.5, 1.7])
    assert cell.median_recovery_s == pytest.approx(1.6)


def test_without_a_threat_a_stop_is_a_false_one_and_lasts_from_the_sessions_end() -> None:
    trial = _Known(_course(_came(3, 3.4, 3.5), acted_ns=None), threat="none")
    assert trial.verdict.verdict == words.DISTURBED
    assert trial.recovery_s == pytest.approx(1.3)


def test_a_summary_has_the_times_where_sessions_are_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    played = _trials()
    runs = [trial.run for trial in played]
    by_run = {id(trial.run): trial for trial in played}
    monkeypatch.setattr(of_study, "trials_of", lambda run: [by_run[id(run)]])
    results = cast(Results, SimpleNamespace(runs=lambda: runs))
    table = trialled(results, {"run"})
    assert table is not None
    rows = {(row["verdict"], row["harms"]): row for row in table.to_pylist()}
    signalled = rows[words.SIGNALLED, "missing"]
    assert [signalled[name] for name in RECOVERY] == [3, 2, pytest.approx(1.6), pytest.approx(1.7)]
    others = [row for place, row in rows.items() if place != (words.SIGNALLED, "missing")]
    assert all([row[name] for name in RECOVERY] == [0, 0, None, None] for row in others)
    for run in runs:
        del run.plan["flows"][0]["app_params"]["reopen_after_s"]
    without = trialled(results, {"run"})
    assert without is not None and not set(RECOVERY) & set(without.column_names)
