"""What the trials of the study en50159 came to, for the cells of `gauntlet assess`."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from gauntlet.defences.data import Defences, Protocol
from gauntlet.errors import NotMeasured
from gauntlet.evidence.verdict import INVALID, NOT_NOTICED
from gauntlet.experiment.threats import NONE
from gauntlet.metrics.numbers import number
from gauntlet.studies import folders
from gauntlet.studies.rules.unnoticed import interval
from gauntlet.studies.summary import MANIFEST, Summary

STUDY = "en50159"
_ACTS = {
    "corruption": ("corruption", "corruption-two-bits", "corruption-repaired"),
    "delay": ("delay", "delay-short"),
    "insertion": ("insertion", "insertion-unseen"),
    "masquerade": ("masquerade", "masquerade-unseen"),
    "repetition": ("repetition", "repetition-afterwards"),
}
"""By threat: the acts of the study's experiments where there are several."""
_AS_SENDER = "-as-sender"
_WORDS = {
    "-two-bits": "of two bits ",
    "-afterwards": "once the session was over ",
    "-repaired": "with the checksum of TCP, UDP or SCTP made right ",
    "-short": "of 1 s ",
    "-unseen": "by who does not see the path ",
    _AS_SENDER: "by who acts in the sender's place ",
}
"""By the end of an act's name."""


@dataclass(frozen=True)
class Outcome:
    """What trials of a cell came to, that are alike in it."""

    verdict: str
    trials: int
    """How many, copies of another left out."""
    harms: tuple[str, ...]
    by: str | None
    """Who was told first."""
    accepted_before: bool
    """Whether the application acted on a wrong message before anybody was told."""
    told_after_s: float | None
    """The middle of the times from the threat's first act to the first signal."""
    told_in_time: float | None
    """In which share of them that was in time (`gauntlet.evidence.in_time`); None where nobody was told, and
    of a summary that was written before this was counted.
    """


@dataclass(frozen=True)
class Cell:
    """The valid trials of one experiment with a protocol, an act and freshness check or none."""

    experiment: str
    act: str
    freshness: bool
    outcomes: tuple[Outcome, ...]
    """The most frequent first."""
    invalid: int
    """How many trials said nothing."""

    @property
    def trials(self) -> int:
        """How many trials say something, copies left out."""
        return sum(it.trials for it in self.outcomes)

    @property
    def unnoticed(self) -> int:
        """In how many nobody noticed what happened to the application."""
        return sum(it.trials for it in self.outcomes if it.verdict in NOT_NOTICED)

    @property
    def most_unnoticed(self) -> float | None:
        """Where none went unnoticed, in which share one may (95 %)."""
        return None if self.unnoticed or self.act == NONE else interval(0, self.trials, 0.05)[1]

    @property
    def accepted_before(self) -> int:
        """In how many the application acted on a wrong message before anybody was told."""
        return sum(it.trials for it in self.outcomes if it.accepted_before)


Cells = Mapping[tuple[str, str], Sequence[Cell]]
"""By protocol and threat, their ids; the control stands under `gauntlet.experiment.threats.NONE`."""


def acts_of(threat: str) -> tuple[str, ...]:
    """The acts of the study's experiments that are a threat, by its id."""
    return (*_ACTS.get(threat, (threat,)), threat + _AS_SENDER)


def cells(of: Defences, summary: Path | None = None) -> Cells:
    """The trials beside each cell, those of each experiment for themselves: one registered seed draws all of
    them, so trials of one may be those of another again. Without a summary nothing.
    """
    home = folders.known().get(STUDY)
    folder = summary or (home / "summary" if home else None)
    if folder is None or not (folder / MANIFEST).exists():
        return {}
    found = Summary.load(folder)
    played = {name: _rows(found, name) for name in found.experiments}
    acts = {NONE: (NONE,), **{threat.id: acts_of(threat.id) for threat in of.threats}}
    beside: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for protocol in of.protocols:
        mine = {name: [row for row in rows if _is_of(row, protocol)] for name, rows in played.items()}
        for threat, those in acts.items():
            for act in those:
                beside[protocol.id, threat] += _cells(mine, act)
    return {key: those for key, those in beside.items() if those}


def tried(of: Cells) -> dict[tuple[str, str], str]:
    """By protocol and threat, their ids: in how many trials nobody noticed."""
    return {key: "; ".join(_told(those)) for key, those in of.items() if key[1] != NONE}


def _rows(summary: Summary, experiment: str) -> list[dict[str, Any]]:
    """Its trials, with whether both ends showed certificates and whether early data were meant."""
    said = {"both_sides": "both-sides" in experiment, "early_data": "0rtt" in experiment}
    try:
        return [{**row, **said} for row in summary.trials(experiment).to_pylist()]
    except NotMeasured:
        return []


def _is_of(row: Mapping[str, Any], protocol: Protocol) -> bool:
    asked = protocol.tried_as, protocol.both_sides, protocol.early_data
    return (row["protocol"], row["both_sides"], row["early_data"]) == asked


def _cells(experiments: Mapping[str, Iterable[Mapping[str, Any]]], act: str) -> Iterator[Cell]:
    """Those of an act that have a valid trial."""
    for freshness in (False, True):
        for name, rows in experiments.items():
            those = [row for row in rows if row["threat"] == act and bool(row["freshness"]) == freshness]
            outcomes = sorted(
                (_outcome(row) for row in those if row["verdict"] != INVALID), key=lambda it: -it.trials
            )
            if outcomes:
                invalid = sum(row["trials"] for row in those if row["verdict"] == INVALID)
                yield Cell(name, act, freshness, tuple(outcomes), invalid)


def _outcome(row: Mapping[str, Any]) -> Outcome:
    early = 0 if row["accepted_before"] else row.get("told_in_time")
    return Outcome(
        verdict=row["verdict"],
        trials=row["distinct"],
        harms=tuple(filter(None, row["harms"].split(", "))),
        by=row["by"] or None,
        accepted_before=row["accepted_before"],
        told_after_s=row["told_after_s"],
        told_in_time=early / row["trials"] if row["by"] and early is not None else None,
    )


def _told(those: Iterable[Cell]) -> Iterator[str]:
    for _, alike in groupby(those, key=lambda it: (it.act, it.freshness)):
        yield "; in another experiment ".join(map(_counted, alike))


def _counted(cell: Cell) -> str:
    most = cell.most_unnoticed
    bound = "" if most is None else f" (at most {number(100 * most)} %)"
    acted = cell.accepted_before
    before = f", acted on before anybody was told in {acted:,}" if acted else ""
    checked = "with" if cell.freshness else "without"
    whose = next((words for end, words in _WORDS.items() if cell.act.endswith(end)), "")
    return (
        f"{whose}{checked} freshness check {cell.unnoticed:,} of {cell.trials:,} trials unnoticed"
        f"{bound}{before}"
    )
