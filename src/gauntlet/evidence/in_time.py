"""Whether somebody was told of a threat while the application could still rely on what it had."""

from gauntlet.evidence.course import Course
from gauntlet.evidence.trials import Trial
from gauntlet.evidence.verdict import SIGNALLED, Verdict


def in_time(trial: Trial) -> bool | None:
    """`told_in_time` of a trial."""
    if trial.verdict.verdict != SIGNALLED:
        return None
    interval_s = trial.run.plan["flows"][trial.flow]["app_params"]["interval_s"]
    return told_in_time(trial.course, trial.verdict, round(interval_s * 1e9))


def told_in_time(course: Course, verdict: Verdict, interval_ns: int) -> bool | None:
    """Whether the first signal came before the application acted on a wrong message, and before it had been
    without an acceptable one for longer than its check of silence allows (interval and bound), whether it
    makes that check or not. Before its first message the bound counts from the threat's act. None where
    nobody was told.
    """
    if verdict.verdict != SIGNALLED or course.acted_ns is None:
        return None
    signal = course.first_signal(course.acted_ns)
    if signal is None or verdict.accepted_before:
        return False
    had_ns = [event.t_ns for event in course.events if event.accepted and event.t_ns < signal.t_ns]
    since_ns = max(had_ns, default=course.acted_ns - interval_ns)
    return bool(signal.t_ns <= since_ns + interval_ns + course.bound_ns)
