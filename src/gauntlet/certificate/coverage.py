"""Was everything checked that the plan asked of the links? For each impairment of each link direction, the
answer of the checks that judge it; and what was missing where there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gauntlet.certificate.answers import Answer, Check, Findings, joint_answer
from gauntlet.certificate.asked import AskedLink, State

JUDGED_BY: dict[str, tuple[str, ...]] = {
    "rate": ("rate", "pace"),
    "queue limit": ("queue", "drops"),
    "queue discipline": ("order", "drops", "marks", "control"),
    "delay": ("delay",),
    "jitter": ("delay", "jitter"),
    "reorder": ("delay", "order", "jitter"),
    "loss": ("loss", "conservation"),
    "burst loss": ("loss", "bursts", "conservation"),
    "duplicate": ("duplication",),
    "corrupt": ("corruption", "origin"),
    "packet limit": ("queue",),
    "outage": ("outage", "loss"),
    "scripted drops": ("script",),
    "in-path rules": ("seen", "emitted", "rules", "conditions"),
}
"""Checks that judge an impairment; all of those that were made count."""


@dataclass(frozen=True)
class Gap:
    """Why checks of a link direction were not made, in words for the end of a sentence; `missing` as in
    `Check`."""

    why: str
    missing: str | None


def planned_impairments(asked: AskedLink) -> list[str]:
    """What the plan asks of a link direction, by the names of `JUDGED_BY`."""
    states = asked.states
    if asked.kind == "tbf":
        limited = asked.queue is None or asked.queue["kind"] != "cake" or "memory_bytes" in asked.queue
        return [
            *["rate"] * any(state.rate_bps is not None for state in states),
            *["queue limit"] * limited,
            *["queue discipline"] * (asked.queue is not None),
        ]
    found = {
        "delay": any(state.delay_s for state in states),
        "jitter": any(state.jitter_s for state in states),
        "reorder": any(state.reorder for state in states),
        "loss": any(state.loss and state.gilbert_elliott is None for state in states),
        "burst loss": any(state.gilbert_elliott is not None for state in states),
        "duplicate": any(state.duplicate for state in states),
        "corrupt": any(state.corrupt for state in states),
        "packet limit": any(state.limit_packets != State.limit_packets for state in states),
        "outage": any(not state.up for state in states),
    }
    return [name for name, there in found.items() if there]


def answers(
    planned: Mapping[str, Sequence[str]], gaps: Mapping[str, Gap], findings: Findings
) -> list[dict[str, Any]]:
    """The certificate's `impairments`: one entry for each impairment of each link direction.

    `planned`: impairments by link; `gaps`: links of which checks were not made.
    """
    entries = []
    for link, names in planned.items():
        of_link = [check for check in findings.checks if check.link == link]
        for name in names:
            judging = [check for check in of_link if check.name in JUDGED_BY[name]]
            entry = _answer(judging, gaps.get(link), needed=_NEEDED.get(name, JUDGED_BY[name][0]))
            entries.append({"link": link, "impairment": name, **entry})
    return entries


def tell_gaps(entries: Sequence[Mapping[str, Any]], gaps: Mapping[str, Gap], findings: Findings) -> None:
    """Make a check `coverage` that was not made of every gap that another record would have closed."""
    for link, gap in gaps.items():
        names = [entry["impairment"] for entry in entries if entry["link"] == link and entry["missing"]]
        if gap.missing is not None and names:
            findings.not_checked(
                "coverage",
                link,
                f"What was asked of {link} ({', '.join(names)}) was not checked: {gap.why}.",
                missing=gap.missing,
            )


_NEEDED = {"rate": "pace", "queue limit": "drops", "jitter": "jitter", "burst loss": "bursts"}
"""The check without which an impairment is not judged, where it is not the first of `JUDGED_BY`."""


def _answer(judging: Sequence[Check], gap: Gap | None, *, needed: str) -> dict[str, Any]:
    """What the checks that were made say together; without the needed one, what was missing for it."""
    answer, missing, why = joint_answer(judging), None, None
    unmade = [check for check in judging if check.answer is Answer.NOT_CHECKED]
    if answer is not Answer.CONTRADICTED:
        made = any(check.name == needed for check in judging)
        if gap is not None and (not made or gap.missing is None):
            answer, why, missing = Answer.NOT_CHECKED, gap.why, gap.missing
        elif unmade:
            answer, why, missing = Answer.NOT_CHECKED, unmade[0].sentence, unmade[0].missing
        elif not made:
            answer, why, missing = Answer.NOT_CHECKED, f"no check {needed} was made", f"the check {needed}"
    names = list(dict.fromkeys(check.name for check in judging))
    return {"answer": str(answer), "checks": names, "why": why, "missing": missing}
