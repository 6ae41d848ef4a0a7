"""What D3.5's Tables 5, 7 and 8 say beside what the specifications say, cell by cell."""

from collections.abc import Iterator
from dataclasses import dataclass

from gauntlet.defences.data import Defences, Has, Hazard, Meets, Protocol, Threat

NOT_TRIED = "not tried"
"""Of every cell that no trial was played of."""

LINES_OF_TABLE_7 = 1588
"""Of its first row, Repetition."""


@dataclass(frozen=True)
class Cell:
    """A cell of a table of D3.5 beside what stands in the specifications."""

    table: int
    protocol: Protocol
    row: str
    """The threat or defence, by its id."""
    said: str | None
    """What D3.5 prints; None where its table has no such cell."""
    line: int
    """Of D3.5's text."""
    answer: str
    why: str
    source: str
    agrees: bool | None
    """None where D3.5 has no such cell, or an empty one that says nothing."""
    tried: str = NOT_TRIED


def defences(of: Defences, protocol: Protocol) -> list[Cell]:
    """Table 5: each defence. "Yes" agrees with `yes` only; a cell in words that says less agrees with
    `partly`.
    """
    cells = []
    for defence in of.defences:
        it = protocol.has[defence.id]
        said = it.said if protocol.column else None
        agrees = None if not said else _says(said) == (it.answer == Has.YES or _in_words(said, it.answer))
        cells.append(Cell(5, protocol, defence.id, said, defence.line, it.answer, it.why, it.source, agrees))
    return cells


def _says(said: str) -> bool:
    """Whether D3.5's words say that the defence is there."""
    return not said.lower().startswith("no")


def _in_words(said: str, answer: str) -> bool:
    return answer == Has.PARTLY and said.lower().startswith("only")


def threats(of: Defences, protocol: Protocol) -> list[Cell]:
    """Table 7: each threat. D3.5's threats have an attacker, so a tick agrees with `attack` only."""
    cells = []
    for place, threat in enumerate(of.threats):
        it = protocol.meets[threat.id]
        ticked = threat.id in protocol.ticks
        said = ("X" if ticked else "") if protocol.column else None
        agrees = None if said is None else ticked == (it.answer == Meets.ATTACK)
        line = LINES_OF_TABLE_7 + place
        cells.append(Cell(7, protocol, threat.id, said, line, it.answer, it.why, it.source, agrees))
    return cells


def by_table_4(of: Defences, protocol: Protocol, threat: Threat) -> list[str]:
    """The defences that a protocol has of those that Table 4 names against a threat."""
    return [it for it in threat.defences if protocol.has[it].answer != Has.NO]


@dataclass(frozen=True)
class Robustness:
    """A cell of Table 8."""

    hazard: Hazard
    threat: str
    said: tuple[str, ...]
    """Those that D3.5 calls robust: all that its Table 7 ticks."""
    holds: tuple[str, ...]
    """Those of them that hold by specification: against faults where nobody wants the event, else against an
    attack.
    """

    @property
    def agrees(self) -> bool:
        """Whether all hold."""
        return self.said == self.holds


def robustness(of: Defences) -> Iterator[Robustness]:
    """Table 8, each cell that has any protocol."""
    columns = [it for it in of.protocols if it.column]
    for hazard in of.hazards:
        enough = (Meets.ATTACK,) if hazard.intent else (Meets.ATTACK, Meets.FAULTS)
        for threat in hazard.threats:
            ticked = [it for it in columns if threat in it.ticks]
            holding = [it.name for it in ticked if it.meets[threat].answer in enough]
            yield Robustness(hazard, threat, tuple(it.name for it in ticked), tuple(holding))
