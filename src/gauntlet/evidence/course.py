"""What happened in one trial: what was sent, what the receiver made of it, what an end was told, when the
threat acted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ACCEPTED = frozenset({"accepted", "gap"})
"""Verdicts of the application with which it acts on a message (docs/formats/record.md)."""
BY_TRANSPORT, BY_APPLICATION = "transport", "application"
"""Who tells of it."""
NOTICED = frozenset({"message", "timeout", "session"})
"""Events by which somebody may notice something; the laboratory's limit is none of them."""
ENDED, REOPENED = "ended", "reopened"
"""Events of a sender that opens a further session: one was over, and the next one was there."""


@dataclass(frozen=True)
class Event:
    """One row of `safety.arrow`."""

    event: str
    t_ns: int
    verdict: str
    number: int | None = None
    stamp_ns: int | None = None
    genuine: bool | None = None

    @property
    def accepted(self) -> bool:
        """Whether the application acted on it."""
        return self.event == "message" and self.verdict in ACCEPTED

    @property
    def signal(self) -> bool:
        """Whether somebody was told that something is wrong: the application by its own checks, or an end by
        its transport."""
        return self.event in NOTICED and not (self.event == "message" and self.verdict == "accepted")

    @property
    def by(self) -> str:
        """Who told."""
        return BY_TRANSPORT if self.event == "session" else BY_APPLICATION


@dataclass(frozen=True)
class Stop:
    """A session that was over when its sender had messages left. One that breaks later stops nothing."""

    ended_ns: int
    """When its sender gave it up."""
    recovered_ns: int | None
    """When the application had the first fresh message over a further session: as it was sent, within the
    bound and not had before. None: it never did."""


@dataclass(frozen=True)
class Course:
    """One trial from its beginning to its end."""

    sent_ns: Mapping[int, int]
    """By number, from 0: when each message was sent."""
    events: Sequence[Event]
    """In the order in which they happened."""
    bound_ns: int
    """The age from which on a message is late."""
    acted_ns: int | None
    """When the threat acted first; None: it did not."""

    @property
    def harms(self) -> dict[str, list[int]]:
        """What the application acted on although it should not have, or never had: numbers of messages.

        changed: it is not what was sent under its number. repeated: it was accepted before. out of order: one
        behind it was accepted before. late: it was older than the bound. missing: it was sent and never
        accepted.
        """
        found: dict[str, list[int]] = {
            "changed": [], "repeated": [], "out of order": [], "late": [], "missing": [],
        }  # fmt: skip
        had: set[int] = set()
        for event in self.events:
            number = event.number
            if not event.accepted or number is None:
                continue
            if not event.genuine:
                found["changed"].append(number)
                continue
            if number in had:
                found["repeated"].append(number)
                continue
            if had and number < max(had):
                found["out of order"].append(number)
            if event.stamp_ns is not None and event.t_ns - event.stamp_ns > self.bound_ns:
                found["late"].append(number)
            had.add(number)
        found["missing"] = [number for number in self.sent_ns if number not in had]
        return {kind: numbers for kind, numbers in found.items() if numbers}

    def first_stop(self, since_ns: int) -> Stop | None:
        """The first session that was over at an instant or later; None: none was."""
        ended_ns = next((it.t_ns for it in self.events if it.event == ENDED and it.t_ns >= since_ns), None)
        if ended_ns is None:
            return None
        had: set[int | None] = set()
        reopened = False
        for event in self.events:
            reopened |= event.event == REOPENED and event.t_ns >= ended_ns
            if not (event.accepted and event.genuine) or event.number in had:
                continue
            had.add(event.number)
            if reopened and event.stamp_ns is not None and event.t_ns - event.stamp_ns <= self.bound_ns:
                return Stop(ended_ns, event.t_ns)
        return Stop(ended_ns, None)

    def first_signal(self, since_ns: int) -> Event | None:
        """The first signal at an instant or later."""
        return next((event for event in self.events if event.signal and event.t_ns >= since_ns), None)
