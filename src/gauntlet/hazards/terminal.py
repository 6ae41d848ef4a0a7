"""Hazards for a terminal: what a line does to messages, then what is left of it over each transport."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gauntlet.evidence import THREATS
from gauntlet.evidence.heads import BROKEN
from gauntlet.evidence.verdict import LATE
from gauntlet.hazards.measured import CHECKED, REFERENCE, UNCHECKED, Frequency, Hazard, Row
from gauntlet.metrics.numbers import counted, interval_text, listed, mean_text, number

_SHORT = {LATE: "late unnoticed"}
DISCLAIMER = (
    "Frequencies hold for these lines while the hazard lasts. Nobody attacks here, and no safety integrity "
    "level is claimed."
)


def shown(hazards: Sequence[Hazard]) -> RenderableType:
    """All hazards: a table hazard by threat, then each with its transports."""
    return Group(*_shown(hazards))


def _shown(hazards: Sequence[Hazard]) -> Iterator[RenderableType]:
    if any(hazard.row(REFERENCE) for hazard in hazards):
        yield Text("What hazards do to messages (over UDP, which mends nothing)", style="bold")
        yield _matrix(hazards)
        yield Text("Share of messages, mean of repetitions. –: in none of them.", style="dim")
    for hazard in hazards:
        yield Text("")
        yield from _hazard(hazard)
    yield Text(f"\n{DISCLAIMER}", style="dim")


def _matrix(hazards: Sequence[Hazard]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("", overflow="fold")
    for threat in THREATS:
        table.add_column(BROKEN.get(threat, threat.capitalize()), no_wrap=True, justify="right")
    for hazard in hazards:
        row = hazard.row(REFERENCE)
        if row is not None:
            table.add_row(_name(hazard), *(_short(row.threats[threat]) for threat in THREATS))
    return table


def _name(hazard: Hazard) -> str:
    return ", ".join([hazard.name.removeprefix("hazard-"), *hazard.condition.values()])


def _short(found: Frequency) -> str:
    if found.share is None or found.count == 0:
        return "–"
    return f"{mean_text(found.share, 100)} %"


def _hazard(hazard: Hazard) -> Iterator[RenderableType]:
    condition = "".join(
        f", {name.rpartition('.')[2].replace('_', ' ')} {value}" for name, value in hazard.condition.items()
    )
    yield Text.assemble((f"{hazard.title}{condition}", "bold"), (f" ({hazard.name})", "dim"))
    yield Padding(Text(_extent(hazard.rows), style="dim"), (0, 0, 0, 2))
    for threat in THREATS:
        if any(row.threats[threat].count for row in hazard.rows):
            yield Padding(_threat(hazard, threat), (0, 0, 0, 2))
            yield from _not_met(hazard, threat)
    never = [it for it in THREATS if not any(row.threats[it].count for row in hazard.rows)]
    if never:
        yield Padding(Text(f"Never met: {listed(never)}{_bound(hazard.rows, never[0])}."), (0, 0, 0, 2))
    for row in hazard.rows:
        if row.unsent:
            due = row.unsent + sum(row.messages.values())
            words = (
                f"{row.protocol}: {row.unsent:,} of {due:,} messages were never sent, for want of a session."
            )
            yield Padding(Text(words), (0, 0, 0, 2))
        if row.left_out:
            left = counted(row.left_out, "repetition")
            words = f"{row.protocol}: {left} left out, as copies of others or not to be trusted."
            yield Padding(Text(words), (0, 0, 0, 2))


def _extent(rows: Sequence[Row]) -> str:
    """How much was played."""
    repetitions = sorted({row.repetitions for row in rows})
    sent = sorted({sum(row.messages.values()) for row in rows})
    hourly = {row.per_hour for row in rows}
    per_hour = hourly.pop() if len(hourly) == 1 else None
    return ", ".join(
        [
            f"{_range(repetitions)} repetition{'s' * (repetitions != [1])} a transport",
            f"{_range(sent)} messages",
            *([] if per_hour is None else [f"{number(per_hour)} an hour and session"]),
        ]
    )


def _range(values: Sequence[int]) -> str:
    return f"{values[0]:,}" if len(values) == 1 else f"{values[0]:,} to {values[-1]:,}"


def _threat(hazard: Hazard, threat: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column(threat.capitalize(), width=17, overflow="fold")
    table.add_column("% of messages [95 %]", width=25, no_wrap=True)
    table.add_column("an hour", width=7, justify="right", no_wrap=True)
    receivers = [it for it in (UNCHECKED, CHECKED) if any(row.messages[it] for row in hazard.rows)]
    for words in receivers:
        table.add_column(words)
    for row in hazard.rows:
        found = row.threats[threat]
        if found.count and found.share is not None:
            interval = interval_text(found.share, 100)
            table.add_row(
                row.protocol,
                f"{mean_text(found.share, 100)}{f' [{interval}]' if interval else ''}",
                number(found.per_hour),
                *(_became(found, words) for words in receivers),
            )
    return table


def _became(found: Frequency, receivers: str) -> str:
    told = found.became[receivers].items()
    return "\n".join(f"{count:,} {_SHORT.get(words, words)}" for words, count in told) or "–"


def _not_met(hazard: Hazard, threat: str) -> Iterator[RenderableType]:
    rest = [row for row in hazard.rows if not row.threats[threat].count]
    if not rest:
        return
    line = hazard.row(REFERENCE)
    words = "Prevented by" if line is not None and line.threats[threat].count else "Not met over"
    told = f"{words} {listed([row.protocol for row in rest])}{_bound(rest, threat)}."
    yield Padding(Text(told), (0, 0, 0, 2))


def _bound(rows: Sequence[Row], threat: str) -> str:
    """What so many repetitions without one allow; empty where they allow everything."""
    bounds = [bound for row in rows if (bound := row.threats[threat].bound) is not None]
    worst = max(bounds, default=1.0)
    return f"; at most {number(100 * worst, 0)} % of repetitions bring it (3/N)" if worst < 1 else ""
