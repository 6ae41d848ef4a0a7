"""Every verdict has a course whose answer is known, and a protocol that is weak on purpose is found out."""

from collections.abc import Iterable
from typing import Any

import pytest

from gauntlet.evidence import verdict as words
from gauntlet.evidence.course import Course, Event
from gauntlet.evidence.fates import fates
from gauntlet.evidence.verdict import judged

S = 1_000_000_000
BOUND_NS = S // 2
ACTED_NS = 3 * S


def _came(number: int, at_s: float, verdict: str = "accepted", **more: Any) -> Event:
    """A message that was sent at the second of its number, and can be read at an instant."""
    return Event("message", round(at_s * S), verdict, number, number * S, **{"genuine": True, **more})


def _course(*events: Event, sent: Iterable[int] = range(1, 6), acted_ns: int | None = ACTED_NS) -> Course:
    """Messages 1 to 5, one a second; the threat acts at message 3."""
    return Course({number: number * S for number in sent}, events, BOUND_NS, acted_ns)


GOOD = [_came(number, number + 0.1) for number in range(1, 6)]
CHANGED = _came(3, 3.1, genuine=False)
BROKEN = Event("session", round(3.4 * S), "reset: the other side broke the connection off")


def _with(*changed: Event | None) -> list[Event]:
    """The good course with message 3 replaced, in order."""
    rest = [event for event in GOOD if event.number != 3]
    return sorted([*rest, *(event for event in changed if event)], key=lambda event: event.t_ns)


KNOWN = {
    "everything came once and in time": (GOOD, words.PREVENTED, ()),
    "without freshness a copy is acted on": (_with(GOOD[2], _came(3, 3.6)), words.UNDETECTED, ("repeated",)),
    "with freshness a copy is refused": (_with(GOOD[2], _came(3, 3.6, "repeated")), words.SIGNALLED, ()),
    "without freshness nobody misses it": (_with(), words.DROPPED, ("missing",)),
    "with freshness the gap tells": (
        [event if event.number != 4 else _came(4, 4.1, "gap") for event in _with()],
        words.SIGNALLED,
        ("missing",),
    ),
    "without freshness its age tells nobody": (_with(_came(3, 3.9)), words.LATE, ("late",)),
    "with freshness its age tells": (_with(_came(3, 3.9, "late")), words.SIGNALLED, ("missing",)),
    "silence tells": (_with(Event("timeout", round(3.6 * S), "timeout")), words.SIGNALLED, ("missing",)),
    "without freshness the order tells nobody": (
        _with(_came(3, 4.2)),
        words.UNDETECTED,
        ("out of order", "late"),
    ),
    "one is late and another missing": (
        [*GOOD[:2], _came(3, 3.9), GOOD[4]],
        words.LATE,
        ("late", "missing"),
    ),
    "another content is acted on": (_with(CHANGED), words.UNDETECTED, ("changed", "missing")),
    "a foreign sender is refused": (
        _with(GOOD[2], _came(3, 3.2, "foreign", genuine=False)),
        words.SIGNALLED,
        (),
    ),
    "the session breaks": ([*GOOD[:2], BROKEN], words.SIGNALLED, ("missing",)),
    "the limit of the laboratory is no signal": (
        [*GOOD[:2], Event("limit", 99 * S, "time is up")],
        words.DROPPED,
        ("missing",),
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_course_has_its_verdict(name: str) -> None:
    events, verdict, harms = KNOWN[name]
    found = judged(_course(*events))
    assert (found.verdict, found.harms) == (verdict, harms)


def test_a_threat_that_did_not_act_says_nothing() -> None:
    assert judged(_course(*GOOD, acted_ns=None)).verdict == words.INVALID


def test_a_run_without_a_threat_shows_whether_anything_else_goes_wrong() -> None:
    assert judged(_course(*GOOD), threat=False).verdict == words.UNDISTURBED
    assert judged(_course(*_with()), threat=False).verdict == words.DISTURBED
    alarm = _with(GOOD[2], Event("timeout", 4 * S, "timeout"))
    assert judged(_course(*alarm), threat=False).verdict == words.DISTURBED


def test_detection_counts_from_the_act_and_tells_who_and_what() -> None:
    found = judged(_course(*GOOD[:2], BROKEN))
    assert (found.by, found.delay_s) == ("transport", pytest.approx(0.4))
    assert found.signal == BROKEN.verdict
    found = judged(_course(*_with(GOOD[2], _came(3, 3.6, "repeated"))))
    assert (found.by, found.signal, found.delay_s) == ("application", "repeated", pytest.approx(0.6))
    assert not found.accepted_before


def test_what_was_acted_on_before_anybody_was_told_is_told() -> None:
    forged = _came(3, 3.05, genuine=False)
    found = judged(_course(*_with(forged, _came(3, 3.1, "repeated"))))
    assert (found.verdict, found.accepted_before) == (words.SIGNALLED, True)


def test_what_was_told_before_the_threat_acted_is_no_detection() -> None:
    early = Event("timeout", 2 * S, "timeout")
    found = judged(_course(*sorted([early, *_with(GOOD[2], _came(3, 3.6))], key=lambda event: event.t_ns)))
    assert found.verdict == words.UNDETECTED


def test_each_message_has_its_fate() -> None:
    events = [
        _came(1, 1.1),
        _came(2, 2.9),
        _came(3, 3.1, genuine=False),
        _came(3, 3.2, "foreign", genuine=False),
        _came(5, 5.1, "gap"),
        _came(4, 5.2, "out-of-order"),
        _came(5, 5.3, "repeated"),
    ]
    found = {fate.number: fate for fate in fates(_course(*events))}
    assert {number: fate.fates for number, fate in found.items()} == {
        1: ("once",),
        2: ("late",),
        3: ("missing", "changed", "foreign"),
        4: ("out of order", "late"),
        5: ("repeated",),
    }
    assert (found[1].by, found[1].signalled_s) == (None, None)
    assert (found[3].by, found[3].signalled_s) == ("application", 3.2)
    assert found[4].accepted_s is None and found[2].accepted_s == 2.9
    # A changed one was acted on in its place.
    assert found[3].accepted_s is None and found[3].wrong_accepted_s == 3.1
    assert found[2].wrong_accepted_s is None
