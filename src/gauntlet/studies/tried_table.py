"""The trials beside the cells of `gauntlet assess`, whole: a line for what came to the same."""

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gauntlet.defences.compare import NOT_TRIED
from gauntlet.defences.data import Defences, Protocol
from gauntlet.defences.terminal import DISCLAIMER
from gauntlet.evidence.verdict import INVALID, SIGNALLED
from gauntlet.experiment.threats import NONE
from gauntlet.metrics.numbers import number
from gauntlet.studies.tried import Cell, Cells, Outcome

LEGEND = """\
no, yes    without, with the application's check of number, age and silence
signalled  detected and signalled, and by whom first
trials     how many came to this, copies of another left out
after      until it was told, from the threat's first act; the middle of them
in time    in which share it was told before the application acted on a wrong
           message, and before it had been without a message for longer than
           it allows (interval and bound); – the summary has no count of it
before     whether it acted on a wrong message before anybody was told
harms      what it suffered, told or not"""


def whole(of: Defences, protocols: Iterable[Protocol], cells: Cells) -> RenderableType:
    """The trials of each protocol by threat, those without one last."""
    return Group(*_whole(of, protocols, cells))


def _whole(of: Defences, protocols: Iterable[Protocol], cells: Cells) -> Iterator[RenderableType]:
    threats = [*(it.id for it in of.threats), NONE]
    for protocol in protocols:
        yield Text(f"{protocol.name}: what trials came to", style="bold")
        those = [cell for threat in threats for cell in _in_order(cells.get((protocol.id, threat), ()))]
        told = _table(those) if those else Text(f"{NOT_TRIED}.")
        yield Padding(told, (0, 0, 1, 0))
    yield Text(f"{LEGEND}\n{DISCLAIMER}", style="dim")


def _in_order(cells: Sequence[Cell]) -> list[Cell]:
    """By act and experiment, so that what differs in the freshness check alone stands together."""
    acts = [cell.act for cell in cells]
    return sorted(cells, key=lambda it: (acts.index(it.act), it.experiment))


def _table(cells: Iterable[Cell]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("", overflow="fold")
    for name in ("trials", "after", "in time"):
        table.add_column(name, justify="right")
    table.add_column("before")
    table.add_column("harms", overflow="fold")
    heading = ""
    for cell in cells:
        if heading != (heading := _heading(cell)):
            table.add_row(heading)
        checked = "yes" if cell.freshness else "no"
        for outcome in cell.outcomes:
            came, *figures = _outcome(outcome)
            table.add_row(f"  {checked:5}{came}", *figures)
            checked = ""
        if cell.invalid:
            table.add_row(f"  {checked:5}{INVALID}", f"{cell.invalid:,}")
    return table


def _heading(cell: Cell) -> str:
    """The act, and where it was played."""
    act = "no threat" if cell.act == NONE else cell.act
    return f"{act} ({cell.experiment})"


def _outcome(it: Outcome) -> Iterator[str]:
    yield f"signalled by {it.by}" if it.verdict == SIGNALLED else it.verdict
    yield f"{it.trials:,}"
    yield "" if it.told_after_s is None else f"{it.told_after_s:.2f} s"
    yield "" if it.by is None else "–" if it.told_in_time is None else f"{number(100 * it.told_in_time)} %"
    yield "yes" if it.accepted_before else ""
    yield ", ".join(it.harms)
