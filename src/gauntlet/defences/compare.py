"""What D3.5's Tables 5, 7 and 8 say beside what the specifications say, cell by cell."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from gauntlet.defences.data import Defences, Has, Hazard, Meets, Protocol, Threat

NOT_TRIED = "not tried"
"""Of every cell that no trial was played of."""
FORGED = ("insertion", "masquerade")
"""The threats that take a message which the sender did not send."""

LINES_OF_TABLE_7 = 1588
"""Of its first row, Repetition."""


class Verdict(StrEnum):
    """How a cell of D3.5 stands to what the specifications say."""

    AGREES = "agrees"
    FAULTS_ONLY = "faults only"
    """Ticked, and it holds against faults, not against an attacker: D3.5 does not say which it means."""
    DIFFERS = "differs"


@dataclass(frozen=True)
class Cell:
    """A cell of a table of D3.5 beside what stands in the specifications."""

    table: int
    protocol: Protocol
    row: str
    """The threat or defence, by its id."""
    in_short: str | None
    """What D3.5 says, shortened; of Table 7 its X or nothing. None where its table has no such cell."""
    line: int
    """Of D3.5's text."""
    answer: str
    why: str
    source: str
    verdict: Verdict | None
    """None where D3.5 has no such cell, or an empty one that says nothing."""
    tried: str = NOT_TRIED
    not_forged: str = ""
    """Why no trial has it on the way; empty where one has, and where it is no forged message."""


def defences(of: Defences, protocol: Protocol) -> list[Cell]:
    """Table 5: each defence. "Yes" agrees with `yes` only; a cell in words that says less agrees with
    `partly`.
    """
    cells = []
    for defence in of.defences:
        it = protocol.has[defence.id]
        said = it.in_short if protocol.column else None
        verdict = None
        if said:
            same = _says(said) == (it.answer == Has.YES or _in_words(said, it.answer))
            verdict = Verdict.AGREES if same else Verdict.DIFFERS
        cells.append(Cell(5, protocol, defence.id, said, defence.line, it.answer, it.why, it.source, verdict))
    return cells


def _says(said: str) -> bool:
    """Whether D3.5's words say that the defence is there."""
    return not said.lower().startswith("no")


def _in_words(said: str, answer: str) -> bool:
    return answer == Has.PARTLY and said.lower().startswith("only")


Tried = Mapping[tuple[str, str], str]
"""By protocol and threat, their ids: what trials came to, in words."""


def threats(of: Defences, protocol: Protocol, tried: Tried | None = None) -> list[Cell]:
    """Table 7: each threat. A tick there is a countermeasure that is implemented (line 1583), against faults
    or attackers alike.
    """
    cells = []
    for place, threat in enumerate(of.threats):
        it = protocol.meets[threat.id]
        ticked = threat.id in protocol.ticks
        said = ("X" if ticked else "") if protocol.column else None
        verdict = None if said is None else _verdict(ticked, it.answer)
        line = LINES_OF_TABLE_7 + place
        words = (tried or {}).get((protocol.id, threat.id), NOT_TRIED)
        why_not = protocol.not_forged if threat.id in FORGED else ""
        cells.append(
            Cell(7, protocol, threat.id, said, line, it.answer, it.why, it.source, verdict, words, why_not)
        )
    return cells


def _verdict(ticked: bool, answer: str) -> Verdict:
    if ticked and answer == Meets.FAULTS:
        return Verdict.FAULTS_ONLY
    return Verdict.AGREES if ticked == (answer == Meets.ATTACK) else Verdict.DIFFERS


def by_table_4(of: Defences, protocol: Protocol, threat: Threat) -> list[str]:
    """The defences that a protocol has of those that Table 4 names against a threat."""
    return [it for it in threat.defences if protocol.has[it].answer != Has.NO]


@dataclass(frozen=True)
class Robustness:
    """A cell of Table 8."""

    hazard: Hazard
    threat: str
    ticked: tuple[str, ...]
    """Those that D3.5 calls robust: all that its Table 7 ticks."""
    holds: tuple[str, ...]
    """Those of them that hold by specification: against faults where nobody wants the event, else against an
    attack.
    """

    @property
    def judged(self) -> bool:
        """Whether a protocol can be a defence: what goes wrong inside an end it cannot see."""
        return not self.hazard.inside

    @property
    def agrees(self) -> bool:
        """Whether all hold."""
        return self.ticked == self.holds


def robustness(of: Defences) -> Iterator[Robustness]:
    """Table 8, each cell that has any protocol."""
    columns = [it for it in of.protocols if it.column]
    for hazard in of.hazards:
        for threat in hazard.threats:
            ticked = [it for it in columns if threat in it.ticks]
            holding = [
                it.name
                for it in ticked
                if it.meets[threat].answer == Meets.ATTACK
                or (not hazard.intent and it.meets[threat].holds_against_faults)
            ]
            yield Robustness(hazard, threat, tuple(it.name for it in ticked), tuple(holding))
