"""Every threat that a message can meet has a course whose answer is known, and so has what became of it."""

from collections.abc import Iterable
from typing import Any

import pytest

from gauntlet.evidence import THREATS, Met, met
from gauntlet.evidence import verdict as words
from gauntlet.evidence.course import Course, Event

S = 1_000_000_000
BOUND_NS = S // 2
APPLICATION, TRANSPORT = "application", "transport"


def _came(number: int | None, at_s: float, verdict: str = "accepted", genuine: bool = True) -> Event:
    """A message that was sent at the second of its number, and can be read at an instant."""
    stamp_ns = None if number is None else number * S
    return Event("message", round(at_s * S), verdict, number, stamp_ns, genuine)


def _told(event: str, at_s: float) -> Event:
    return Event(event, round(at_s * S), "timeout" if event == "timeout" else "reset")


GOOD = {number: _came(number, number + 0.1) for number in range(1, 6)}


def _met(*instead: Event, without: Iterable[int] = (3,)) -> list[Met]:
    """Messages 1 to 5, one a second, of which these come otherwise."""
    rest = [event for number, event in GOOD.items() if number not in without]
    events = sorted([*rest, *instead], key=lambda event: event.t_ns)
    return met(Course({number: number * S for number in GOOD}, events, BOUND_NS, None))


KNOWN: dict[str, tuple[list[Event], list[Met]]] = {
    "in time": ([GOOD[3]], []),
    "a copy that is acted on": (
        [GOOD[3], _came(3, 3.4)],
        [Met("repetition", 3, words.UNDETECTED)],
    ),
    "a copy that is refused": (
        [GOOD[3], _came(3, 3.4, "repeated")],
        [Met("repetition", 3, words.SIGNALLED, APPLICATION)],
    ),
    "missing without a word": ([], [Met("deletion", 3, words.DROPPED)]),
    "missing, and a transport tells": (
        [_told("session", 3.2)],
        [Met("deletion", 3, words.SIGNALLED, TRANSPORT)],
    ),
    "a transport that told before is of something else": (
        [_told("session", 2.5)],
        [Met("deletion", 3, words.DROPPED)],
    ),
    "missing, and silence tells": (
        [_told("timeout", 3.6)],
        [Met("deletion", 3, words.SIGNALLED, APPLICATION)],
    ),
    "a copy that comes after the bound, of what came in time": (
        [GOOD[3], _came(3, 3.7, "repeated")],
        [Met("repetition", 3, words.SIGNALLED, APPLICATION)],
    ),
    "behind the next one, unnoticed and late": (
        [_came(3, 4.2)],
        [Met("re-sequencing", 3, words.UNDETECTED), Met("delay", 3, words.LATE)],
    ),
    "behind the next one, refused": (
        [_came(3, 4.2, "out-of-order")],
        [
            Met("re-sequencing", 3, words.SIGNALLED, APPLICATION),
            Met("delay", 3, words.SIGNALLED, APPLICATION),
        ],
    ),
    "late, and acted on": ([_came(3, 3.7)], [Met("delay", 3, words.LATE)]),
    "late, and refused": (
        [_came(3, 3.7, "late")],
        [Met("delay", 3, words.SIGNALLED, APPLICATION)],
    ),
    "late, and a transport tells before it is acted on": (
        [_told("session", 3.6), _came(3, 3.7)],
        [Met("delay", 3, words.SIGNALLED, TRANSPORT)],
    ),
    "late, and a transport tells when it is too late": (
        [_came(3, 3.7), _told("session", 3.8)],
        [Met("delay", 3, words.LATE)],
    ),
    "changed, and acted on": (
        [GOOD[3], _came(3, 3.2, genuine=False)],
        [Met("corruption", 3, words.UNDETECTED)],
    ),
    "cannot be read": (
        [GOOD[3], _came(None, 3.2, "malformed", genuine=False)],
        [Met("corruption", None, words.SIGNALLED, APPLICATION)],
    ),
    "of a kind that never comes this way, with a number that was never sent": (
        [GOOD[3], _came(6, 3.2, "other-kind", genuine=False)],
        [Met("corruption", 6, words.SIGNALLED, APPLICATION)],
    ),
    "from somebody else": (
        [GOOD[3], _came(6, 3.2, "foreign", genuine=False)],
        [Met("insertion", 6, words.SIGNALLED, APPLICATION)],
    ),
    "in the sender's name, never sent": (
        [GOOD[3], _came(6, 3.2, genuine=False)],
        [Met("masquerade", 6, words.UNDETECTED)],
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_course_has_the_threats_that_its_messages_met(name: str) -> None:
    events, expected = KNOWN[name]
    assert _met(*events) == expected


def test_all_seven_threats_are_tried() -> None:
    assert {it.threat for _, found in KNOWN.values() for it in found} == set(THREATS)


def test_a_gap_tells_of_what_it_skips_and_of_nothing_else() -> None:
    skipped = _met(_came(4, 4.1, "gap"), without=(2, 3, 4))
    assert skipped == [Met("deletion", number, words.SIGNALLED, APPLICATION) for number in (2, 3)]
    behind = _met(_came(4, 4.1, "gap"), without=(3, 4, 5))
    assert behind[1] == Met("deletion", 5, words.DROPPED)


def test_a_silence_that_lasts_tells_of_what_is_lost_in_it() -> None:
    """The timer ran out before the last message was sent, and nothing has come since."""
    silent: list[Any] = _met(_told("timeout", 4.6), without=(4, 5))
    assert silent == [Met("deletion", number, words.SIGNALLED, APPLICATION) for number in (4, 5)]
    ended = _met(_told("timeout", 2.6), without=(2, 4))
    assert ended == [Met("deletion", 2, words.SIGNALLED, APPLICATION), Met("deletion", 4, words.DROPPED)]
