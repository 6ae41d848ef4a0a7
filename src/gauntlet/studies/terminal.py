"""What the results say of a study's claims, for a terminal: counts, then one line a claim."""

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gauntlet.metrics.numbers import counted
from gauntlet.studies.decide import Verdict
from gauntlet.studies.model import Study
from gauntlet.studies.reproduce import Judged, counts
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
    measured = max(len(it.decision.measured) for it in judged)
    claim = min(max(len(it.claim.id) for it in judged), max(width - measured - 24, 16))
    shown.add_column("", no_wrap=True)
    shown.add_column("claim", no_wrap=True, overflow="ellipsis", max_width=claim)
    shown.add_column("measured", no_wrap=True, justify="right")
    shown.add_column("n", no_wrap=True, justify="right")
    alike = any(it.decision.deterministic for it in judged)
    printed = max(width - claim - measured - (26 if alike else 11), 7)
    shown.add_column("printed", no_wrap=True, overflow="ellipsis", max_width=printed)
    for it in judged:
        mark, colour = MARKS[it.decision.verdict]
        n = "1 (deterministic)" if it.decision.deterministic else str(it.decision.n or "")
        shown.add_row(
            Text(mark, style=colour), Text(it.claim.id), Text(it.decision.measured), n, Text(it.claim.printed)
        )
    return shown


def tally(judged: Sequence[Judged]) -> Text:
    """How many claims have each verdict, in one line."""
    text = Text(f"{counted(len(judged), 'claim')}: ")
    for place, (verdict, count) in enumerate(counts(judged).items()):
        mark, colour = MARKS[verdict]
        text.append(", " if place else "").append(f"{mark} {count} {verdict}", style=colour)
    return text


def trust(summary: Summary) -> Text:
    """How many runs there are and how many of them count."""
    parts = summary.manifest().values()
    runs, trusted = summary.runs, sum(int(part["trusted"]) for part in parts)
    failed = sum(len(part["failed"]) for part in parts)
    if trusted == runs:
        return Text(f"All {counted(runs, 'run')} are trusted.", style="green")
    rest = [f"{runs - trusted - failed} not trusted"] + ([f"{failed} failed"] if failed else [])
    return Text(f"{trusted} of {counted(runs, 'run')} are trusted; {', '.join(rest)}.", style="bold red")


def summary_of(study: Study, judged: Sequence[Judged], summary: Summary, width: int) -> RenderableType:
    """What `gauntlet reproduce` prints at the end."""
    return Group(
        Text(study.title, style="bold"),
        Padding(table(judged, width), (1, 0)),
        tally(judged),
        trust(summary),
    )
