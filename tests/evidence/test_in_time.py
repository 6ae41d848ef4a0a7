"""A signal is in time before a wrong message is acted on, and while the last good one is not too old."""

import pytest

from gauntlet.evidence.course import Course, Event
from gauntlet.evidence.in_time import told_in_time
from gauntlet.evidence.verdict import judged

S = 1_000_000_000
BOUND_NS = S // 2


def _came(number: int, at_s: float, verdict: str = "accepted", *, genuine: bool = True) -> Event:
    return Event("message", round(at_s * S), verdict, number, number * S, genuine=genuine)


GOOD = [_came(1, 1.1), _came(2, 2.1)]
"""The next one is due at 3.1 s; without one the application's check of silence tells at 3.6 s."""


def _in_time(*events: Event, before: list[Event] = GOOD, acted_s: float = 3.0) -> bool | None:
    course = Course(
        {number: number * S for number in range(1, 5)}, [*before, *events], BOUND_NS, round(acted_s * S)
    )
    return told_in_time(course, judged(course), S)


def _session(at_s: float) -> Event:
    return Event("session", round(at_s * S), "reset")


@pytest.mark.parametrize(
    ("told_s", "in_time"),
    [(3.4, True), (3.6, True), (3.6 + 1e-9, False), (4.4, False)],
    ids=["gap", "with the check of silence", "a nanosecond later", "T_max"],
)
def test_the_check_of_silence_is_the_limit(told_s: float, in_time: bool) -> None:
    event = Event("session", round(told_s * 1e9), "told")
    assert _in_time(event) is in_time


def test_the_check_of_silence_itself_is_in_time() -> None:
    assert _in_time(Event("timeout", 2_100_000_000 + S + BOUND_NS, "timeout")) is True


def test_what_goes_on_to_come_keeps_the_application_fresh() -> None:
    """A copy that is refused three seconds later harmed nobody meanwhile."""
    later = [_came(3, 3.1), _came(4, 4.1), _came(3, 4.6, "repeated")]
    assert _in_time(*later) is True


def test_after_a_wrong_message_was_acted_on_no_signal_is_in_time() -> None:
    forged = _came(3, 3.05, genuine=False)
    assert _in_time(forged, _came(3, 3.1, "repeated")) is False
    late = _came(3, 3.55)
    assert _in_time(late, _session(3.6)) is False


def test_a_first_message_is_awaited_as_long_as_it_may_be_old() -> None:
    assert _in_time(_session(3.5), before=[]) is True
    assert _in_time(_session(3.6), before=[]) is False


def test_where_nobody_was_told_there_is_no_time() -> None:
    assert _in_time(_came(3, 3.1), _came(4, 4.1)) is None
    assert _in_time(_came(4, 4.1)) is None
