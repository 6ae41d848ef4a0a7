"""What became of each message of a trial."""

from collections.abc import Sequence
from dataclasses import dataclass

from gauntlet.evidence.course import Course, Event


@dataclass(frozen=True)
class Fate:
    """What became of one message that was sent."""

    number: int
    """From 0, as it stands in the message."""
    sent_s: float
    fates: tuple[str, ...]
    """`once` alone, or what went wrong: repeated, missing, out of order, changed, foreign, late. Refused ones
    are told too: what came is one thing, what the application made of it another."""
    accepted_s: float | None
    """When the application first acted on it as it was sent; None: never."""
    wrong_accepted_s: float | None
    """When it first acted on a changed or foreign one with its number; None: never."""
    by: str | None
    """Who was told first from its sending on, if something went wrong: application or transport."""
    signalled_s: float | None
    """When."""


def fates(course: Course) -> list[Fate]:
    """Every message that was sent, in the order of numbers."""
    return [_fate(course, number) for number in sorted(course.sent_ns)]


def _fate(course: Course, number: int) -> Fate:
    sent_ns = course.sent_ns[number]
    bearing = [event for event in course.events if event.event == "message" and event.number == number]
    came = [event for event in bearing if event.genuine]
    wrong = [event for event in bearing if not event.genuine]
    found = []
    if not came:
        found.append("missing")
    if len(came) > 1:
        found.append("repeated")
    if came:
        place = course.events.index(came[0])
        above = (
            event.number for event in course.events[:place] if event.genuine and event.number is not None
        )
        if any(other > number for other in above):
            found.append("out of order")
        if came[0].t_ns - sent_ns > course.bound_ns:
            found.append("late")
    if any(event.verdict != "foreign" for event in wrong):
        found.append("changed")
    if any(event.verdict == "foreign" for event in bearing):
        found.append("foreign")
    signal = course.first_signal(sent_ns) if found else None
    return Fate(
        number,
        sent_ns / 1e9,
        tuple(found) or ("once",),
        _accepted_s(came),
        _accepted_s(wrong),
        signal.by if signal else None,
        signal.t_ns / 1e9 if signal else None,
    )


def _accepted_s(events: Sequence[Event]) -> float | None:
    """When the application acted on the first of them that it took; None: on none."""
    return next((event.t_ns / 1e9 for event in events if event.accepted), None)
