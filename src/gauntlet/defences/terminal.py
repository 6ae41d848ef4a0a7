"""Assessments for a terminal: one protocol cell by cell, all of them as a table."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gauntlet.defences import compare
from gauntlet.defences.compare import NOT_TRIED, Cell, Verdict
from gauntlet.defences.data import Defences, Has, Meets, Protocol
from gauntlet.evidence.heads import BROKEN

MEETS = {Meets.ATTACK: "✓", Meets.FAULTS: "◐", Meets.PARTLY: "(✓)", Meets.NO: "✗"}
HAS = {Has.YES: "✓", Has.PARTLY: "(✓)", Has.NO: "✗"}
WORDS = {
    Meets.ATTACK: "also against an attacker on the path without keys",
    Meets.FAULTS: "against faults only",
    Meets.PARTLY: "in part",
    Meets.NO: "no",
}
STARS = {Verdict.FAULTS_ONLY: " °", Verdict.DIFFERS: " *"}
NOT_FORGED = "†"
LEGEND = "\n".join(f"{MEETS[it]:3} {WORDS[it]}" for it in Meets)
DISCLAIMER = (
    "Ticks are by specification, trials change none. No tick makes a safety case: no safety integrity "
    "level is claimed."
)


def one(of: Defences, protocol: Protocol, trials: RenderableType) -> RenderableType:
    """A protocol: its threats, what trials of them came to, then its defences."""
    return Group(*_one(of, protocol, trials))


def _one(of: Defences, protocol: Protocol, trials: RenderableType) -> Iterator[RenderableType]:
    yield Text(f"{protocol.name}: the threats of EN 50159", style="bold")
    for cell, threat in zip(compare.threats(of, protocol), of.threats, strict=True):
        meets = Meets(cell.answer)
        rests = compare.by_table_4(of, protocol, threat)
        named = ", ".join(it.name.lower() for it in of.defences if it.id in rests) or "none"
        way = f"{NOT_FORGED} {NOT_TRIED} on the way: {cell.not_forged}" if cell.not_forged else ""
        more = "; ".join(filter(None, (f"defences by Table 4: {named}", way)))
        yield _cell(MEETS[meets], threat.name, f"{WORDS[meets]}: {cell.why}", cell, more)
    yield Text()
    yield trials
    yield Text(f"\n{protocol.name}: the defences", style="bold")
    for cell, defence in zip(compare.defences(of, protocol), of.defences, strict=True):
        has = Has(cell.answer)
        yield _cell(HAS[has], defence.name, f"{has}: {cell.why}", cell, "")
    yield Text(f"\n{DISCLAIMER}", style="dim")


def _cell(mark: str, name: str, words: str, cell: Cell, more: str) -> RenderableType:
    line = Table.grid(padding=(0, 1, 0, 0))
    line.add_column(width=3, justify="right")
    line.add_column()
    beside = [f"[{cell.source}]", more, _d35(cell)]
    told = Text.assemble((name, "bold"), f": {words}\n", ("; ".join(filter(None, beside)), "dim"))
    line.add_row(Text(mark), told)
    return line


def _d35(cell: Cell) -> str:
    """What D3.5 has in this cell."""
    if cell.in_short is None:
        return ""
    where = f"D3.5, Table {cell.table}, line {cell.line}"
    said = "empty" if not cell.in_short else "ticked" if cell.table == 7 else f"in short: {cell.in_short}"
    return f"{where}, {said}: {cell.verdict or 'says nothing'}"


def everything(of: Defences, trials: RenderableType) -> RenderableType:
    """All protocols: threats, what trials came to, and where D3.5's Tables 5, 7 and 8 say something else."""
    return Group(*_everything(of, trials))


def matrix(of: Defences) -> Table:
    """Every protocol and threat, with what D3.5's Table 7 has beside it as a star."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("")
    for threat in of.threats:
        table.add_column(BROKEN.get(threat.id, threat.name), overflow="fold")
    for protocol in of.protocols:
        cells = compare.threats(of, protocol)
        table.add_row(protocol.name, *(MEETS[Meets(it.answer)] + _star(it) for it in cells))
    return table


def _star(cell: Cell) -> str:
    star = STARS.get(cell.verdict, "") if cell.verdict else ""
    return f"{star or ' '}{NOT_FORGED}" if cell.not_forged else star


def _everything(of: Defences, trials: RenderableType) -> Iterator[RenderableType]:
    yield matrix(of)
    yield Text(
        f"{LEGEND}\n"
        "°   ticked in D3.5's Table 7, which does not separate faults from attackers: it\n"
        "    holds against faults\n"
        "*   D3.5's Table 7 says something else\n"
        f"{NOT_FORGED}   no trial has it on the way, for the node forges no packet of it that gets\n"
        "    far enough; of one protocol the command says why.\n",
        style="dim",
    )
    yield trials
    differing = [
        it
        for protocol in of.protocols
        for it in (*compare.threats(of, protocol), *compare.defences(of, protocol))
        if it.verdict in STARS
    ]
    for number, verdict, words in (
        (7, Verdict.DIFFERS, "differ"),
        (7, Verdict.FAULTS_ONLY, "are ticked and hold against faults only"),
        (5, Verdict.DIFFERS, "differ"),
    ):
        those = [it for it in differing if (it.table, it.verdict) == (number, verdict)]
        yield Text(f"\nD3.5's Table {number}: {len(those)} cells {words}", style="bold")
        for it in those:
            answer = WORDS[Meets(it.answer)] if number == 7 else it.answer
            yield Padding(
                Text(f"{it.protocol.name}, {it.row} (line {it.line}): {answer}: {it.why}."), (0, 0, 0, 2)
            )
    yield from _table_8(of)
    yield Text(f"\n{DISCLAIMER}", style="dim")


def _table_8(of: Defences) -> Iterator[RenderableType]:
    every = list(compare.robustness(of))
    events = [it for it in every if it.judged]
    weak = [it for it in events if not it.agrees]
    yield Text(
        f"\nD3.5's Table 8: of {len(events)} cells {len(weak)} name a protocol that does not hold",
        style="bold",
    )
    left_out, all_weak = len(every) - len(events), sum(not it.agrees for it in every)
    inside = dict.fromkeys(it.hazard.name.lower() for it in every if not it.judged)
    yield Padding(
        Text(
            "Where nobody wants the event, faults are enough to hold against; else it must be an attack. "
            f"{left_out} cells are not judged, since what goes wrong inside an end no protocol sees: "
            f"{', '.join(inside)}. With these it is {all_weak} of {len(every)}."
        ),
        (0, 0, 0, 2),
    )
    for cell in weak:
        lost = [name for name in cell.ticked if name not in cell.holds]
        where = f"{cell.hazard.name}, {cell.threat} (line {cell.hazard.lines[1]})"
        yield Padding(Text(f"{where}: not {', '.join(lost)}."), (0, 0, 0, 2))
