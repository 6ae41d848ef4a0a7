"""What the trials of the study en50159 came to, for the cells of `gauntlet assess`."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gauntlet.defences.data import Defences, Protocol
from gauntlet.errors import NotMeasured
from gauntlet.evidence.course import BY_APPLICATION
from gauntlet.evidence.verdict import INVALID, NOT_NOTICED
from gauntlet.experiment.threats import NONE
from gauntlet.metrics.numbers import number
from gauntlet.studies import folders
from gauntlet.studies.rules.counted import interval
from gauntlet.studies.summary import MANIFEST, Summary
from gauntlet.studies.trialled import RECOVERY

STUDY = "en50159"
REPAIRED = "corruption-repaired"
"""The act that makes the checksum below a protocol right again."""
_ACTS = {
    "corruption": ("corruption", "corruption-two-bits", REPAIRED),
    "delay": ("delay", "delay-short"),
    "insertion": ("insertion", "insertion-unseen"),
    "masquerade": ("masquerade", "masquerade-unseen"),
    "repetition": ("repetition", "repetition-afterwards"),
}
"""By threat: the acts of the study's experiments where there are several."""
_LESSER = frozenset({"late", "missing"})
"""What the application may suffer of a threat that a transport meets: a wrong message is dropped, a lost one
sent again."""
_MEANT = {"delay": "late", "deletion": "missing"}
"""By threat: which of these it brings itself."""
_AS_SENDER = "-as-sender"
_WORDS = {
    "-two-bits": "of two bits",
    "-afterwards": "once the session was over",
    "-repaired": "with the checksum made right",
    "-short": "of 1 s",
    "-unseen": "by who does not see the path",
    _AS_SENDER: "by who acts in the sender's place",
}
"""By the end of an act's name."""


@dataclass(frozen=True)
class Outcome:
    """What trials of a cell came to, that are alike in it."""

    verdict: str
    trials: int
    """How many, copies of another left out (`copies`)."""
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
    stopped: int | None = None
    """In how many of them a session ended once the threat had acted (`gauntlet.evidence.course.Stop`); None
    where no sender opens a further one."""
    recovered: int | None = None
    """After how many of these stops the application had a fresh message again."""
    recovered_after_s: float | None = None
    """The middle of the times until then, from the threat's first act."""
    recovered_within_s: float | None = None
    """The longest of them."""
    copies: int = 0
    """How many more there are that are alike to one of them to the nanosecond, with nothing drawn in them."""


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
    def only(self) -> tuple[str, ...]:
        """What the application suffered and nobody noticed, where that was only late or missing and not what
        the row's threat does; else nothing."""
        came = {harm for it in self.outcomes if it.verdict in NOT_NOTICED for harm in it.harms}
        meant = _MEANT.get(self.act.partition("-")[0])
        return tuple(sorted(came)) if came <= _LESSER and meant not in came else ()

    @property
    def most_unnoticed(self) -> float | None:
        """Where none went unnoticed, in which share one may (95 %)."""
        return None if self.unnoticed or self.act == NONE else interval(0, self.trials, 0.05)[1]

    @property
    def told_by_form(self) -> int:
        """In how many, without the freshness check, the application was told first: by form or identities,
        which it always checks."""
        told = [it.trials for it in self.outcomes if it.by == BY_APPLICATION]
        return 0 if self.freshness else sum(told)

    @property
    def reopens(self) -> bool:
        """Whether the sender opens a further session once one has broken."""
        return any(it.stopped is not None for it in self.outcomes)

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
    told = {key: "; ".join(_told(those)) for key, those in of.items() if key[1] != NONE}
    return {key: words for key, words in told.items() if words}


def whose(act: str) -> str:
    """What tells an act from others that are the same threat, for people; empty of the plain one."""
    return next((words for end, words in _WORDS.items() if act.endswith(end)), "")


def by_act(those: Iterable[Cell]) -> Iterator[tuple[str, str, list[Cell]]]:
    """Cells that differ in the freshness check alone: act, experiment, and the one without it first. Where a
    broken session is followed by another one a message that is missing is another message, so such cells are
    not among them.
    """
    found: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in those:
        if not cell.reopens:
            found[cell.act, cell.experiment].append(cell)
    acts = list(dict.fromkeys(act for act, _ in found))
    for act, experiment in sorted(found, key=lambda it: acts.index(it[0])):
        yield act, experiment, sorted(found[act, experiment], key=lambda it: it.freshness)


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
        **{name: row.get(name) for name in RECOVERY},
        copies=row["trials"] - row["distinct"],
    )


def _told(those: Iterable[Cell]) -> Iterator[str]:
    """A sentence for each act: with the freshness check and without in one where both came to the same."""
    before = None
    for act, _, cells in by_act(those):
        which = "in another experiment" if act == before else ""
        came = [(cell, _counted(cell)) for cell in cells]
        before = act
        if len({words for _, words in came}) == 1 < len(came):
            said = [f"{came[0][1]} with freshness check and without"]
        else:
            said = [
                f"{words} {'with' if cell.freshness else 'without'} freshness check" for cell, words in came
            ]
        form = sum(cell.told_by_form for cell in cells)
        told = [f"without it form or identities told the application in {form:,}"] if form else []
        yield " ".join(filter(None, (which, whose(act), "; ".join([*said, *told]))))


def _counted(cell: Cell) -> str:
    most = cell.most_unnoticed
    bound = "" if most is None else f" (at most {number(100 * most)} %)"
    only = f", only {' or '.join(cell.only)}" if cell.only else ""
    acted = cell.accepted_before
    before = f", acted on before anybody was told in {acted:,}" if acted else ""
    end = "," if only or before else ""
    return f"{cell.unnoticed:,} of {cell.trials:,} trials unnoticed{bound}{only}{before}{end}"
