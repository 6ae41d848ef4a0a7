"""The trials beside the cells of `gauntlet assess`: in short, a line for each act, and whole, one for what
came to the same.
"""

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gauntlet.defences.compare import FORGED, NOT_TRIED
from gauntlet.defences.data import Defences, Protocol, Threat
from gauntlet.defences.terminal import DISCLAIMER
from gauntlet.evidence.verdict import INVALID, SIGNALLED
from gauntlet.experiment.threats import NONE
from gauntlet.metrics.numbers import number
from gauntlet.studies.tried import REPAIRED, Cell, Cells, Outcome, by_act, whose

ORDER = """\
Threats stand in the order of Table 4 of AB4Rail D3.5 (repetition, deletion,
insertion, re-sequencing, corruption, delay, masquerade), sessions without one
last; below each act what came of it most often stands first.
"""
LEGEND = """\
no, yes    without, with the application's check of number, age and silence
signalled  detected and signalled, and by whom first
trials     how many came to this
not        how many more came to it and are not among these: nothing was drawn
counted    in them and each is alike to one of these to the nanosecond, so it
           says nothing more
after      until it was told, from the threat's first act; the middle of them
in time    in which share it was told before the application acted on a wrong
           message, and before it had been without a message for longer than
           it allows (interval and bound); – the summary has no count of it
before     whether it acted on a wrong message before anybody was told
harms      what it suffered, told or not
stopped    in how many of them a session ended with messages left to be sent
again      after how many of these the application had a fresh message over a
           further session, from the threat's first act: the middle of the
           times, and the longest"""
IN_SHORT = """\
without, with  the application's check of number, age and silence
i              in some, form or identities told the application, which checks
               them always; the transport had let the message through
!              in some, the application had acted on a wrong message before
               anybody was told
{only}Where none of N went unnoticed, at most 3/N do (95 %). How many the marked ones
are, verdicts and times: --trials."""
ONLY = """\
only late,     all that nobody noticed is that a message came late, or never;
only missing   what the row's threat would do did not reach the application
"""


def in_short(of: Defences, protocols: Sequence[Protocol], cells: Cells) -> RenderableType:
    """In how many trials nobody noticed, by protocol and threat."""
    if not any((protocol.id, threat.id) in cells for protocol in protocols for threat in of.threats):
        return Text(f"By trial: {NOT_TRIED}.", style="dim")
    beside = (cells.get((protocol.id, threat.id), ()) for protocol in protocols for threat in of.threats)
    lesser = any(cell.only for those in beside for _, _, shown in by_act(those) for cell in shown)
    legend = IN_SHORT.format(only=ONLY if lesser else "")
    return Group(*_in_short(of, protocols, cells), Text(legend, style="dim"))


def _in_short(of: Defences, protocols: Iterable[Protocol], cells: Cells) -> Iterator[RenderableType]:
    """A table for all, so that columns stand below each other."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("By trial", overflow="fold")
    for name in ("without", "with"):
        table.add_column(name)
    yield Text("Trials that nobody noticed", style="bold")
    for protocol in protocols:
        table.add_row(Text(protocol.name, style="bold"))
        rows = [row for threat in of.threats for row in _of_threat(threat, protocol, cells)]
        for row in rows or [(NOT_TRIED,)]:
            table.add_row(f"  {row[0]}", *row[1:])
    yield table


def _of_threat(threat: Threat, protocol: Protocol, cells: Cells) -> Iterator[tuple[str, ...]]:
    """The rows of a threat's acts, and one that says so where trials have it in the sender's place alone."""
    yield from (rows := list(_rows(threat.name, cells.get((protocol.id, threat.id), ()), protocol)))
    if rows and protocol.not_forged and threat.id in FORGED:
        yield f"{threat.name} on the way", NOT_TRIED


def _rows(threat: str, cells: Iterable[Cell], protocol: Protocol) -> Iterator[tuple[str, ...]]:
    """A row for each act of a threat; where several experiments have it, each says which it is."""
    acts = list(by_act(cells))
    for place, (act, experiment, those) in enumerate(acts):
        named = f"  {whose(act) or threat}" if place else f"{threat} {whose(act)}".strip()
        named += _not_repaired(act, protocol)
        several = sum(act == other for other, *_ in acts) > 1
        said = {cell.freshness: _of(cell) for cell in those}
        yield f"{named} ({experiment})" if several else named, said.get(False, ""), said.get(True, "")


def _not_repaired(act: str, protocol: Protocol) -> str:
    """What the act leaves as it is of the protocol's own codes, in words; mostly nothing."""
    left = protocol.not_repaired if act == REPAIRED else ""
    return f", not {left}" if left else ""


def _of(cell: Cell) -> str:
    marks = ("i" if cell.told_by_form else "") + ("!" if cell.accepted_before else "")
    only = "\nonly " + "\nor ".join(cell.only) if cell.only else ""
    return f"{cell.unnoticed:,} of {cell.trials:,}" + (f" {marks}" if marks else "") + only


def whole(of: Defences, protocols: Iterable[Protocol], cells: Cells) -> RenderableType:
    """The trials of each protocol by threat, those without one last."""
    return Group(*_whole(of, protocols, cells))


def _whole(of: Defences, protocols: Iterable[Protocol], cells: Cells) -> Iterator[RenderableType]:
    threats = [*(it.id for it in of.threats), NONE]
    yield Text(f"{ORDER}{LEGEND}\n", style="dim")
    for protocol in protocols:
        yield Text(f"{protocol.name}: what trials came to", style="bold")
        those = [cell for threat in threats for cell in _in_order(cells.get((protocol.id, threat), ()))]
        told = _table(those, protocol) if those else Text(f"{NOT_TRIED}.")
        yield Padding(told, (0, 0, 1, 0))
        if those and protocol.not_forged:
            named = " and ".join(it.name.lower() for it in of.threats if it.id in FORGED)
            yield Padding(Text(f"{NOT_TRIED} on the way: {named}: {protocol.not_forged}."), (0, 0, 1, 0))
    yield Text(DISCLAIMER, style="dim")


def _in_order(cells: Sequence[Cell]) -> list[Cell]:
    """By act and experiment, so that what differs in the freshness check alone stands together."""
    acts = [cell.act for cell in cells]
    return sorted(cells, key=lambda it: (acts.index(it.act), it.experiment))


def _table(cells: Iterable[Cell], protocol: Protocol) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("", overflow="fold")
    for name in ("trials", "after", "in time"):
        table.add_column(name, justify="right")
    table.add_column("before")
    table.add_column("harms", overflow="fold")
    heading = ""
    for cell in cells:
        if heading != (heading := _heading(cell, protocol)):
            table.add_row(heading)
        checked = "yes" if cell.freshness else "no"
        for outcome in cell.outcomes:
            came, *figures = _outcome(outcome)
            table.add_row(f"  {checked:5}{came}", *figures)
            if outcome.copies:
                table.add_row("         not counted", f"{outcome.copies:,}")
            for row in _stops(outcome):
                table.add_row(*row)
            checked = ""
        if cell.invalid:
            table.add_row(f"  {checked:5}{INVALID}", f"{cell.invalid:,}")
    return table


def _heading(cell: Cell, protocol: Protocol) -> str:
    """The act, where it was played, and what it leaves as it is."""
    act = "no threat" if cell.act == NONE else cell.act
    return f"{act} ({cell.experiment}){_not_repaired(cell.act, protocol)}"


def _stops(it: Outcome) -> Iterator[tuple[str, ...]]:
    """What stopped, and for how long; nothing where nothing did."""
    if not it.stopped:
        return
    yield "         stopped", f"{it.stopped:,}"
    times = (it.recovered_after_s, it.recovered_within_s)
    middle, longest = ("" if time_s is None else f"{time_s:.2f} s" for time_s in times)
    yield "         again", f"{it.recovered or 0:,}", middle, "", "", longest and f"within {longest}"


def _outcome(it: Outcome) -> Iterator[str]:
    yield f"signalled by {it.by}" if it.verdict == SIGNALLED else it.verdict
    yield f"{it.trials:,}"
    yield "" if it.told_after_s is None else f"{it.told_after_s:.2f} s"
    yield "" if it.by is None else "–" if it.told_in_time is None else f"{number(100 * it.told_in_time)} %"
    yield "yes" if it.accepted_before else ""
    yield ", ".join(it.harms)
