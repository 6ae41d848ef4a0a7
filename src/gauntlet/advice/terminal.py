"""Advice for a terminal: a sentence a class of service, every cell behind it, and what settings change."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gauntlet.advice import words
from gauntlet.advice.grid import Candidate, Cell, Grid
from gauntlet.advice.settings import overview, sentences
from gauntlet.advice.shown import MOST
from gauntlet.advice.use import Advice
from gauntlet.metrics.numbers import listed


def uses(advice: Advice) -> RenderableType | None:
    """What to use for each class, and what settings change; None when there is nothing to say of either."""
    if not any((advice.classes, advice.settings, advice.silent, advice.above)):
        return None
    shown = Table.grid(padding=(0, 2, 0, 0))
    shown.add_column(style="bold", max_width=22)
    shown.add_column()
    for grid in advice.classes:
        told = Text(words.answer(grid))
        if grid.service.whose:
            told.append(f"\nAsked: {words.bounds(grid)}.", style="dim")
        shown.add_row(Text(grid.service.name), told)
    if advice.above:
        shown.add_row(Text("[load]"), Text(advice.above))
    for sentence in advice.silent:
        shown.add_row(Text("No advice"), Text(sentence))
    for title, those in sentences(advice.settings):
        said = overview(those) if len(those) > MOST else [f"{it.whose}: {it.words}." for it in those]
        shown.add_row(Text("Setting"), Text.assemble((f"{title}.\n", "bold"), "\n".join(said)))
    for name, where in advice.elsewhere.items():
        shown.add_row(Text("Setting"), Text(f"Not varied in these results: {name}. {where}"))
    if advice.unvaried:
        shown.add_row(Text("Setting"), Text(f"Not varied in these results: {listed(list(advice.unvaried))}."))
    return Group(Text("What should I use?", style="bold"), Padding(shown, (0, 0, 1, 0)))


def in_short(grid: Grid) -> RenderableType:
    """The answer for a class, and the transports behind it, each where it does worst: those that serve under
    every condition, or the one that comes nearest.
    """
    overall = grid.overall()
    shown = [it for it in overall if it.grade.serving] or list(overall[:1])
    return Group(
        Text(words.answer(grid)),
        *(_line(it, words.condition(grid.where(it))) for it in shown if it.deciding.mean is not None),
    )


def cells(grid: Grid) -> RenderableType:
    """Every condition of a class with every transport, best first: how far from which need, and what was
    measured.
    """
    return Group(*_cells(grid))


def _cells(grid: Grid) -> Iterator[RenderableType]:
    queues = len({cell.queue for cell in grid.cells}) > 1
    for cell in grid.cells:
        yield Text(_heading(cell, queues=queues), style="bold")
        for it in cell.candidates:
            yield _line(it)


def _heading(cell: Cell, *, queues: bool) -> str:
    partly = f" ({cell.judged} of {cell.of} needs measured)" if cell.judged < cell.of else ""
    other = "" if cell.own else ", for comparison"
    return f"{words.condition(cell, queue=queues) or 'All runs'}{other}{partly}"


def legend(grids: Sequence[Grid]) -> RenderableType:
    """What the signs of these classes mean, a line each, and how their numbers are to be read."""
    signs = [(words.MARKS[grade], said) for grade, said in words.legend(grids)]
    rules = [words.CONDITION_RULE, *words.rules(grids)]
    return Group(
        *(_marked(mark, Text(f"{said}.", style="dim")) for mark, said in signs),
        *(Text(rule, style="dim") for rule in rules),
    )


def _line(candidate: Candidate, where: str = "") -> RenderableType:
    """A transport: its grade, how far it is from the need that decides, and the numbers."""
    decides = candidate.deciding
    said = [words.distance(decides)]
    if decides.mean is not None:
        said.append(f"{decides.need.words}: {words.decided(decides)}")
    said += [words.slowest(candidate, missed=not decides.by_missed), words.unfinished(candidate)]
    told = Text.assemble(
        (words.label(candidate.protocol), "bold"),
        f"{f' at {where}' if where else ''}: {'; '.join(filter(None, said))}.",
    )
    return _marked(words.MARKS[candidate.grade], told)


def _marked(mark: str, told: Text) -> RenderableType:
    """Words behind a sign, in a column of their own."""
    line = Table.grid(padding=(0, 1, 0, 0))
    line.add_column(width=4, justify="right")
    line.add_column()
    line.add_row(Text(mark), told)
    return line
