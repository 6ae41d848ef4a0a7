"""Which threats the messages of a session met where nobody attacked, and what became of each."""

from collections.abc import Iterator
from dataclasses import dataclass

from gauntlet.evidence.course import BY_APPLICATION, Course, Event
from gauntlet.evidence.fates import fates
from gauntlet.evidence.verdict import DROPPED, LATE, SIGNALLED, UNDETECTED

THREATS = (
    "repetition", "deletion", "insertion", "re-sequencing", "corruption", "delay", "masquerade",
)  # fmt: skip
"""As EN 50159 names them, in the order of D3.5's Table 4."""
_FATES = {
    "repeated": "repetition",
    "missing": "deletion",
    "out of order": "re-sequencing",
    "late": "delay",
}
_UNREADABLE = ("malformed", "other-kind")


@dataclass(frozen=True)
class Met:
    """A threat that a message met, as its receiver saw it."""

    threat: str
    number: int | None
    """The message's, from 0; null where what came bears none."""
    verdict: str
    """What became of it: detected and signalled, silently dropped, delivered late unnoticed, undetected."""
    by: str | None = None
    """Who told of it: application or transport."""


def met(course: Course) -> list[Met]:
    """The threats that messages of a session met, each once a message.

    Of what was sent: a message that came twice, never, behind a later one, older than the bound. Of what
    nobody sent so: insertion where it bears another's identities, masquerade where it bears the sender's and
    a number that was never sent, else corruption; a bit that turns over in a number or an identity may look
    like either of the first two.
    """
    found = [
        _of_sent(course, threat, fate.number)
        for fate in fates(course)
        for name, threat in _FATES.items()
        if name in fate.fates
    ]
    return [*found, *_of_others(course)]


def _of_sent(course: Course, threat: str, number: int) -> Met:
    came = [
        event
        for event in course.events
        if event.event == "message" and event.number == number and event.genuine
    ]
    if threat == "deletion":
        told = _gap(course, number) or _told(course, course.sent_ns[number], None)
        return Met(threat, number, SIGNALLED, told.by) if told else Met(threat, number, DROPPED)
    if threat == "repetition":
        acted_twice = sum(event.accepted for event in came) > 1
        return (
            Met(threat, number, UNDETECTED) if acted_twice else Met(threat, number, SIGNALLED, BY_APPLICATION)
        )
    if not came[0].accepted:
        return Met(threat, number, SIGNALLED, BY_APPLICATION)
    # Who is told after the application has acted on the message is told too late.
    if told := _told(course, course.sent_ns[number], came[0]):
        return Met(threat, number, SIGNALLED, told.by)
    return Met(threat, number, LATE if threat == "delay" else UNDETECTED)


def _gap(course: Course, number: int) -> Event | None:
    """The message with which the application noticed that this one is missing."""
    last = -1
    for event in course.events:
        if not event.accepted or event.number is None:
            continue
        if event.verdict == "gap" and last < number < event.number:
            return event
        last = max(last, event.number)
    return None


def _told(course: Course, sent_ns: int, before: Event | None) -> Event | None:
    """Who was told of a message before an event: a transport since it was sent, or the application by a
    silence that lasted until the message was overdue."""
    overdue_ns = sent_ns + course.bound_ns
    silence = None
    for event in course.events:
        if silence is not None and event.t_ns >= overdue_ns:
            return silence
        if event is before:
            return None
        if event.event == "session" and event.t_ns >= sent_ns:
            return event
        if event.event == "timeout":
            silence = event
        elif event.accepted:
            silence = None
    return silence


def _of_others(course: Course) -> Iterator[Met]:
    for event in course.events:
        if event.event != "message" or event.genuine is not False:
            continue
        if event.verdict == "foreign":
            threat = "insertion"
        elif event.number in course.sent_ns or event.number is None or event.verdict in _UNREADABLE:
            threat = "corruption"
        else:
            threat = "masquerade"
        if event.accepted:
            yield Met(threat, event.number, UNDETECTED)
        else:
            yield Met(threat, event.number, SIGNALLED, BY_APPLICATION)
