"""What the results say of a study's claims, for a terminal: counts, then one line a claim."""

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gauntlet.advice.terminal import uses
from gauntlet.advice.use import Advice
from gauntlet.metrics.numbers import counted
from gauntlet.studies.decide import Verdict
from gauntlet.studies.explained import explained
from gauntlet.studies.judging import (
    MEASURED,
    NOT_PLAYED,
    NOT_REGISTERED,
    Judged,
    beside,
    counts,
    measured,
    not_played,
)
from gauntlet.studies.model import Study
from gauntlet.studies.summary import Summary

MARKS: Mapping[Verdict, tuple[str, str]] = {
    Verdict.REPRODUCED: ("✓", "green"),
    Verdict.NOT_REPRODUCED: ("✗", "red"),
    Verdict.UNDECIDED: ("?", "yellow"),
}
"""How each verdict looks."""


def table(judged: Sequence[Judged], width: int) -> RenderableType:
    """The verdicts in `width` letters; what does not fit is cut rather than wrapped."""
    shown = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    marks = [_mark(it) for it in judged]
    mark = max(len(it) for it in marks)
    measured = max(len(it.decision.measured) for it in judged)
    longest = max(len(it.claim.id) for it in judged)
    claim = min(longest, max(width - measured - mark - 23, 16))
    # The word stands where it costs no claim a part of its name; an exact number has no interval in any case.
    exact = "1 (deterministic)" if width - measured - mark - 33 >= longest else "1"
    shown.add_column("", no_wrap=True, justify="center", min_width=mark)
    shown.add_column("claim", no_wrap=True, overflow="ellipsis", max_width=claim)
    shown.add_column("measured", no_wrap=True, justify="right")
    shown.add_column("n", no_wrap=True, justify="right")
    n = max(len(exact) if it.decision.deterministic else len(str(it.decision.n or "")) for it in judged)
    printed = max(width - mark - claim - measured - n - 8, 7)
    shown.add_column("printed", no_wrap=True, overflow="ellipsis", max_width=printed)
    for it, verdict in zip(judged, marks, strict=True):
        repetitions = exact if it.decision.deterministic else str(it.decision.n or "")
        shown.add_row(
            verdict, Text(it.claim.id), Text(it.decision.measured), repetitions, Text(it.claim.printed)
        )
    return shown


def _mark(judged: Judged) -> Text:
    """The mark of the verdict, in brackets where the claim is not counted."""
    mark, colour = MARKS[judged.decision.verdict]
    return Text(mark if judged.group == MEASURED else f"({mark})", style=colour)


def key(judged: Sequence[Judged]) -> Text:
    """What the signs of the table are, in one line of eighty letters."""
    signs = [Text(f"{mark} {verdict}", style=colour) for verdict, (mark, colour) in MARKS.items()]
    bracketed = any(it.group != MEASURED for it in judged)
    return (
        Text(", ").join([*signs, Text("( ) not counted")] if bracketed else signs).append("; [95 % interval]")
    )


def tally(judged: Sequence[Judged]) -> Text:
    """How many measured claims have each verdict, and how many others there are."""
    those, others = measured(judged), beside(judged)
    text = Text(f"{counted(len(those), 'measured claim' if others else 'claim')}: ")
    for place, (verdict, count) in enumerate(counts(those).items()):
        mark, colour = MARKS[verdict]
        text.append(", " if place else "").append(f"{mark} {count} {verdict}", style=colour)
    bracketed = any(it.group not in (MEASURED, NOT_PLAYED) for it in judged)
    return text.append(f"\nNot counted{' (in brackets)' if bracketed else ''}: {others}." if others else "")


def departures(judged: Sequence[Judged]) -> Text | None:
    """Why claims are not decided as they were registered, the commonest reason first; None when all are."""
    reasons = Counter(it.departure for it in judged if it.group == NOT_REGISTERED)
    if not reasons:
        return None
    said = "; ".join(f"{reason} ({counted(count, 'claim')})" for reason, count in reasons.most_common())
    return Text(f"{NOT_REGISTERED.capitalize()}: {said}.")


def disagreements(study: Study, judged: Sequence[Judged]) -> RenderableType | None:
    """The claims that are not reproduced by what they have in common; None when there are none."""
    found = explained(judged, study.causes)
    if not found:
        return None
    shown = Table.grid(padding=(0, 2, 0, 0))
    shown.add_column(justify="right")
    shown.add_column()
    for it in found:
        ids = ", ".join(one.claim.id if one.group == MEASURED else f"({one.claim.id})" for one in it.claims)
        others = len(it.claims) - it.counted
        beside = f" ({others} of them not counted)" if others else ""
        shown.add_row(Text(str(len(it.claims))), Text.assemble(it.name, beside, (f": {ids}", "dim")))
    return Group(Text("Not reproduced, by cause:", style="bold"), shown)


def trust(summary: Summary) -> Text:
    """How many runs there are and how many of them count."""
    parts = summary.manifest().values()
    runs, trusted = summary.runs, sum(int(part["trusted"]) for part in parts)
    failed = sum(len(part["failed"]) for part in parts)
    if trusted == runs:
        return Text(f"All {counted(runs, 'run')} are trusted.", style="green")
    rest = [f"{runs - trusted - failed} not trusted"] + ([f"{failed} failed"] if failed else [])
    return Text(f"{trusted} of {counted(runs, 'run')} are trusted; {', '.join(rest)}.", style="bold red")


def benches(summary: Summary) -> Text | None:
    """On which machines benches were measured, and how often; None without any."""
    parts = summary.bench_manifest()
    if not parts:
        return None
    machines = dict.fromkeys(str(part["machine"].get("processor") or "unknown") for part in parts.values())
    samples = sum(int(part["samples"]) for part in parts.values())
    return Text(f"{counted(len(parts), 'bench', 'benches')} on {', '.join(machines)}: {samples:,} samples.")


def summary_of(
    study: Study, judged: Sequence[Judged], summary: Summary, width: int, advice: Advice | None = None
) -> RenderableType:
    """What `gauntlet reproduce` prints at the end."""
    lacking, departed = not_played(study, summary), departures(judged)
    played = [it for it in judged if it.group != NOT_PLAYED]
    first, why = uses(advice) if advice else None, disagreements(study, judged)
    here = benches(summary)
    return Group(
        Text(study.title, style="bold"),
        *([Padding(first, (1, 0, 0, 0))] if first else []),
        *([Padding(Group(key(played), table(played, width)), (1, 0))] if played else []),
        tally(judged),
        *([why] if why else []),
        *([departed] if departed else []),
        *([Text(lacking)] if lacking else []),
        *([trust(summary)] if summary.experiments else []),
        *([here] if here else []),
    )
