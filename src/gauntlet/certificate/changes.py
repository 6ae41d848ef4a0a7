"""Changes that a plan asks for, of links or of routes, against those that a run made: all of them, as asked,
and in time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gauntlet.certificate import tolerance
from gauntlet.certificate.answers import Findings, plural, seconds, span

Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Words:
    """What is said of changes."""

    check: str
    """The check's name."""
    link: str | None
    """What it is of; None: the whole run."""
    named: Callable[[Entry], str]
    """What an entry of the plan changes: "client>server"."""
    wrong: Callable[[Entry, Entry], str | None]
    """In what the entry of the plan and the one made in its place differ: "set ..."; None: in nothing."""
    too_many: str
    """That the run made more than the plan has."""
    passed: Callable[[int], str]
    """That all is as planned, by the largest lateness in nanoseconds."""


def check_changes(
    words: Words, planned: Sequence[Entry], made: Sequence[Entry], end_ns: int, findings: Findings
) -> list[int]:
    """When the changes were made, in nanoseconds of a run that ended at `end_ns`; adds one finding."""
    instants, failures, latest_ns = [], [], 0
    for number, entry in enumerate(planned):
        planned_ns = round(entry["at_s"] * 1e9)
        change = f"The change of {words.named(entry)}"
        if number >= len(made):
            if planned_ns < end_ns - tolerance.current().timeline_ns:
                failures.append(f"{change} planned at {seconds(planned_ns)} was never made.")
            break
        made_ns = round(made[number]["at_s"] * 1e9)
        late_ns = made_ns - planned_ns
        if planned_ns > 0:
            latest_ns = max(latest_ns, late_ns, key=abs)
        wrong = words.wrong(entry, made[number])
        if wrong is not None:
            failures.append(f"{change} at {seconds(planned_ns)} {wrong}.")
        elif (
            planned_ns > 0 and not -tolerance.current().time_ns <= late_ns <= tolerance.current().timeline_ns
        ):
            how = f"{span(abs(late_ns))} {'later' if late_ns > 0 else 'earlier'} than planned"
            failures.append(f"{change} at {seconds(planned_ns)} was made {how}.")
        instants.append(made_ns)
    if len(made) > len(planned):
        failures.append(words.too_many)
    failure = None
    if failures:
        failure = failures[0] + (f" ({plural(len(failures) - 1, 'more fault')})" if failures[1:] else "")
    findings.add(
        words.check,
        words.link,
        failure,
        words.passed(latest_ns),
        measured={"changes": len(made), "largest_lateness_s": latest_ns / 1e9},
        expected={"changes": len(planned), "largest_lateness_s": tolerance.current().timeline_ns / 1e9},
    )
    return instants
