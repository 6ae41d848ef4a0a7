"""The answer in a terminal: what was asked, a table of the main KPI with best and not-distinguishable marked,
the slowest messages, then the sentences.
"""

import itertools
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gauntlet import report
from gauntlet.advice.terminal import uses
from gauntlet.figures.heat import MARKS, HeatCell, HeatTable
from gauntlet.figures.style import called
from gauntlet.metrics.kpi import Kpi
from gauntlet.report import use
from gauntlet.report.answer import Sentence, further, opening
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.heat import heat_table
from gauntlet.report.tails import DASH, Entry
from gauntlet.report.tails import Table as TailTable
from gauntlet.report.tails import tables as tail_tables
from gauntlet.report.threats import WORDS, Threats, verdicts
from gauntlet.report.trust import trust


def summary(results_folder: Path, classes: Path | None = None) -> RenderableType:
    """What `gauntlet run` and `gauntlet report` print at the end; `classes` as of `report.build`."""
    evaluation = report.load(results_folder)
    with called(evaluation.labels):
        return _summary(evaluation, classes)


def _summary(evaluation: Evaluation, classes: Path | None) -> RenderableType:
    found = trust(evaluation)
    parts: list[RenderableType] = []
    threats = verdicts(evaluation)
    parts += [Text(evaluation.about.question, style="bold")] if evaluation.about.question else []
    parts += [*map(_told, opening(evaluation, threats)), Text("")]
    if first := uses(use.advice(evaluation, classes)):
        parts.append(first)
    if threats is not None:
        parts += _threats(threats)
    parts += [
        _MainKpi(part.by_itself, part.main_kpi) for part in _told_of(evaluation) if part.main_kpi is not None
    ]
    slowest = tail_tables(evaluation.parts)
    parts += map(_Tails, slowest)
    if any(it.dashes for it in slowest):
        parts.append(Text(DASH, style="dim"))
    parts += [Padding(_told(it), (1, 0, 0, 0)) for it in further(evaluation)]
    good = found.trusted == found.planned
    parts.append(Padding(Text(found.in_words, style="green" if good else "bold red"), (1, 0, 0, 0)))
    parts += [Text(f"{run}: {' '.join(reasons)}", style="red") for run, reasons in found.untrusted]
    parts += [
        Text(f"{run}: not checked. {' '.join(reasons)}", style="red") for run, reasons in found.unchecked
    ]
    parts += [Text(f"{run}: {reason}", style="red") for run, reason in found.failed]
    if found.failed_flows:
        parts.append(Text(found.failed_flows, style="bold red"))
        parts += [Text(f"  {count} x {reason}", style="red") for reason, count in found.reasons]
    parts += [Text(warning, style="yellow") for warning in found.warnings]
    if threats is not None and threats.unnoticed:
        parts.append(Padding(Text(threats.unnoticed), (1, 0, 0, 0)))
        parts += _next(evaluation.results.folder)
    return Group(*parts)


def _next(results: Path) -> Iterator[Text]:
    """What who looks for threats asks next, and the command that answers it, uncut."""
    pack = ["build", str(results), "--out", f"{results.name}.zip"]
    for what, words in (("Message by message", ["fates", str(results)]), ("A pack for an assessor", pack)):
        command = shlex.join(["gauntlet", "evidence", *words])
        yield Text(f"{what}: {command}", style="dim", no_wrap=True, overflow="ignore")


def _told_of(evaluation: Evaluation) -> list[Evaluation]:
    """The flows whose main KPI has a table here: not those of safety, nor one protocol of which the table of
    what is asked tells, nor many in the background, which the report has.
    """
    background = [part for part in evaluation.parts if part.background]
    return [
        part
        for part in evaluation.parts
        if not part.of_safety
        and not (part.asked and len(part.styles) == 1)
        and not (part.background and len(background) > 1)
    ]


def _told(sentence: Sentence) -> Text:
    mark = "" if "?" in sentence.question else ":"
    return Text.assemble((f"{sentence.question}{mark} ", "bold"), sentence.text)


def _threats(found: Threats) -> Iterator[RenderableType]:
    """The verdicts, a table a threat."""
    yield Text("Threats", style="bold")
    if found.lacking:
        yield Text(found.lacking, style="yellow")
        return
    for group in found.groups:
        yield Padding(Text(group.threat, style="bold"), (1, 0, 0, 0))
        table = Table.grid(padding=(0, 2, 0, 0))
        for row in group.rows:
            verdict, delay, before, bound = row.values
            said = (
                verdict,
                f"told after {delay}" * bool(delay),
                f"{before} acted on it before" * bool(before),
                f"bound {bound}" * bool(bound),
            )
            table.add_row(f"  {row.protocol}", row.condition, "; ".join(filter(None, said)))
        yield table
    yield Padding(Text(WORDS, style="dim"), (1, 0, 0, 0))


_UNLIMITED = 10_000
"""Letters in a line when a table is asked how wide it wants to be."""


@dataclass(frozen=True)
class _MainKpi:
    """The main KPI over the matrix, in the fullest form that the terminal is wide enough for."""

    evaluation: Evaluation
    kpi: Kpi

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """One row a protocol, else one row a condition, else that without intervals, else one row a cell."""
        heat = heat_table(self.evaluation, self.kpi)
        conditions = [self.evaluation.label(condition) for condition in self.evaluation.conditions]
        interval = self.evaluation.interval
        full, short = f"[ ] {interval}", f"({interval}: the report)"
        forms = (
            (_by_protocol(heat, conditions), full),
            (_by_condition(heat, conditions, intervals=True), full),
            (_by_condition(heat, conditions, intervals=False), short),
        )
        endless = options.update(max_width=_UNLIMITED)
        fitting = (
            form for form in forms if console.measure(form[0], options=endless).maximum <= options.max_width
        )
        table, note = next(fitting, (_by_cell(heat, conditions), full))
        unit = f" in {self.kpi.shown_unit}" if self.kpi.shown_unit else ""
        yield Text(f"{heat.title}{unit}", style="bold")
        yield table
        least = "   ≥ some did not end and count with their limit" if heat.restricted else ""
        counts = {cell.repetitions for *_, cells in heat.rows for cell in cells}
        n = f"n = {min(counts)}" if len(counts) == 1 else f"n = {min(counts)} to {max(counts)}"
        marks = "".join(f"{sign} {words}   " for sign, words in heat.marks)
        if _apart(heat) and marks:
            marks = marks.replace(f"{MARKS['best'][0]} best", f"{MARKS['best'][0]} best of those ranked")
        yield Text(f"{marks}{note}   {n}{least}", style="dim")


@dataclass(frozen=True)
class _Tails:
    """The slowest messages, a row a protocol and condition, in the fullest form that fits."""

    table: TailTable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """With intervals, else without, else with the percentile that is asked alone, else a block a row."""
        yield Text(self.table.title, style="bold")
        endless = options.update(max_width=_UNLIMITED)
        every, brief = [True] * len(self.table.columns), self.table.brief
        for shown, intervals in itertools.product((every, brief), (True, False)):
            form = self._form(shown, intervals=intervals)
            if console.measure(form, options=endless).maximum <= options.max_width:
                yield form
                return
        for protocol, condition, entries in self.table.rows:
            yield Text(f"{protocol}, {condition}", style="bold")
            for name, it in zip(self.table.columns, entries, strict=True):
                yield Text.assemble(f"  {name}: ", _entry(it, interval=True, separator=" "))

    def _form(self, shown: Sequence[bool], *, intervals: bool) -> Table:
        several = self.table.several
        table = _empty("", *[""] * several, *itertools.compress(self.table.columns, shown))
        if several:
            table.columns[1].justify = "left"
        for protocol, condition, entries in self.table.rows:
            told = (_entry(it, interval=intervals) for it in itertools.compress(entries, shown))
            table.add_row(protocol, *[condition] * several, *told)
        return table


def _entry(entry: Entry, *, interval: bool, separator: str = "\n") -> Text:
    text = Text(entry.text, style="red" if entry.bad else "")
    if entry.detail and interval:
        text.append(f"{separator}[{entry.detail}]", style="dim")
    return text


def _apart(heat: HeatTable) -> bool:
    """Whether it has protocols that stand beside the ranking, below those that are ranked."""
    return len({ranked for _, _, ranked, _ in heat.rows}) > 1


def _names(heat: HeatTable, separator: str = " ") -> list[str]:
    """The protocols; what has no star to win says so, lest a star above a better number looks wrong."""
    aside = f"{separator}(not ranked)" * _apart(heat)
    return [name if ranked else f"{name}{aside}" for _, name, ranked, _ in heat.rows]


def _by_protocol(heat: HeatTable, conditions: Sequence[str]) -> Table:
    table = _empty("", *(label.replace(", ", "\n") for label in conditions))
    for name, (*_, cells) in zip(_names(heat), heat.rows, strict=True):
        table.add_row(name, *(_cell(cell) for cell in cells))
    return table


def _by_condition(heat: HeatTable, conditions: Sequence[str], *, intervals: bool) -> Table:
    table = _empty("", *_names(heat, "\n"))
    for place, label in enumerate(conditions):
        table.add_row(label, *(_cell(cells[place], interval=intervals) for _, _, _, cells in heat.rows))
    return table


def _by_cell(heat: HeatTable, conditions: Sequence[str]) -> Table:
    table = Table.grid(padding=(0, 1))
    for place, label in enumerate(conditions):
        table.add_row(Text(label, style="bold"))
        for name, (*_, cells) in zip(_names(heat), heat.rows, strict=True):
            table.add_row(f"  {name}", _cell(cells[place], separator=" "))
    return table


def _empty(*heads: str) -> Table:
    """A table without rows whose columns are as wide as what they hold; the first has names."""
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", padding=(0, 1, 0, 0), pad_edge=False)
    for place, head in enumerate(heads):
        table.add_column(head, justify="right" if place else "left", no_wrap=True)
    return table


def _cell(cell: HeatCell, *, interval: bool = True, separator: str = "\n") -> Text:
    mark = f" {MARKS[cell.mark][0]}" if cell.mark else "  "
    text = Text()
    if cell.done:
        text.append(f"{cell.done}{separator}", style="red")
    text.append(f"{cell.value}{mark}", style="bold" if cell.mark == "best" else "")
    if cell.interval and interval:
        text.append(f"{separator}[{cell.interval}]", style="dim")
    if not cell.trusted:
        text.stylize("red strike")
    if cell.flag:
        text.append(f"{separator}{cell.flag}", style="red")
    return text
