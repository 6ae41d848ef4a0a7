"""The verdict on one trial: what became of a threat, and how soon somebody knew."""

from dataclasses import dataclass

from gauntlet.evidence.course import Course

PREVENTED = "prevented"
"""The application had every message once, in order, in time and unchanged, and nobody was told anything."""
SIGNALLED = "detected and signalled"
"""The application or an end of the session was told that something is wrong."""
DROPPED = "silently dropped"
"""The application lacks a message, and nobody was told."""
LATE = "delivered late unnoticed"
"""The application acted on a message older than the bound, and nobody was told."""
UNDETECTED = "undetected"
"""The application acted on a message that was changed, made up, repeated or out of order; nobody was told."""
INVALID = "invalid"
"""The threat did not act, or not on the message that was meant: this trial says nothing."""
UNDISTURBED = "undisturbed"
"""Of a run without a threat: all messages came as they should."""
DISTURBED = "disturbed"
"""Of a run without a threat: something else went wrong, or somebody raised a false alarm."""

NOT_NOTICED = (DROPPED, LATE, UNDETECTED)
"""Verdicts that a safety case has to bound."""


@dataclass(frozen=True)
class Verdict:
    """What became of a threat."""

    verdict: str
    harms: tuple[str, ...] = ()
    """What the application suffered (`Course.harms`)."""
    by: str | None = None
    """Who was told first: application or transport."""
    signal: str | None = None
    """What was told."""
    delay_s: float | None = None
    """From the threat's first act to the first signal."""
    accepted_before: bool = False
    """Whether the application acted on a message that was not as it should be before anybody was told."""


def judged(course: Course, *, threat: bool = True) -> Verdict:
    """The verdict on a trial; `threat`: whether one was to act."""
    harms = course.harms
    if not threat:
        clean = not harms and course.first_signal(0) is None
        return Verdict(UNDISTURBED if clean else DISTURBED, tuple(harms))
    if course.acted_ns is None:
        return Verdict(INVALID, tuple(harms))
    signal = course.first_signal(course.acted_ns)
    if signal is not None:
        before = [event for event in course.events if event.t_ns < signal.t_ns or event is signal]
        until = Course({}, before, course.bound_ns, course.acted_ns)
        return Verdict(
            SIGNALLED,
            tuple(harms),
            by=signal.by,
            signal=signal.verdict,
            delay_s=(signal.t_ns - course.acted_ns) / 1e9,
            accepted_before=bool(until.harms),
        )
    if {"changed", "repeated", "out of order"} & set(harms):
        return Verdict(UNDETECTED, tuple(harms))
    if "late" in harms:
        return Verdict(LATE, tuple(harms))
    return Verdict(DROPPED if "missing" in harms else PREVENTED, tuple(harms))
