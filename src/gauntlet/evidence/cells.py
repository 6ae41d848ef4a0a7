"""What the trials of a cell show together, and how far so many trials can be believed."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from gauntlet.evidence.trials import Trial
from gauntlet.evidence.verdict import INVALID, NOT_NOTICED
from gauntlet.experiment import threats

FEWEST = 4
"""Trials from which the bound 3/N says anything: with fewer it is 1."""


@dataclass
class Cell:
    """Trials that are alike but for the repetition."""

    factors: Mapping[str, Any]
    """Protocol, threat, freshness and whatever else is varied."""
    verdicts: Counter[str] = field(default_factory=Counter)
    """How many trials came to each verdict, invalid ones too."""
    delays_s: list[float] = field(default_factory=list)
    """From the threat's first act to the first signal, of trials that were signalled."""
    accepted_before: int = 0
    """Trials in which the application acted on a wrong message before anybody was told."""
    by: Counter[str] = field(default_factory=Counter)
    """Who was told first, in how many trials."""
    distinct: int = 0
    """How many of the valid trials are no copies of another: those that are alike to the nanosecond, with
    nothing in them known to be drawn, are one.
    """

    reopens: bool = False
    """Whether senders open a further session where one has broken: only then are the next two told."""
    stops: int = 0
    """Trials in which a session ended once the threat had acted."""
    recoveries_s: list[float] = field(default_factory=list)
    """Of these, from the threat's first act until the application had a fresh message again; those in which
    it never had are not among them."""

    @property
    def control(self) -> bool:
        """Whether nothing was to happen: the runs without a threat."""
        return bool(self.factors.get("threat") == threats.NONE)

    @property
    def trials(self) -> int:
        """How many of them say something."""
        return sum(self.verdicts.values()) - self.verdicts[INVALID]

    @property
    def copies(self) -> bool:
        """Whether all of several trials are copies of one: chance had no part."""
        return self.trials > 1 and self.distinct == 1

    @property
    def not_noticed(self) -> int:
        """In how many nobody noticed what happened to the application."""
        return sum(self.verdicts[verdict] for verdict in NOT_NOTICED)

    @property
    def bound(self) -> float | None:
        """Where none went unnoticed in N distinct trials: 3/N, above which the chance of one lies with at
        most 5 % (the rule of three: (1 - p)^N = 0.05). With three or fewer it is 1, which says nothing. None
        where some did, without a trial, of the control, and where all trials are copies of one.
        """
        if self.trials == 0 or self.not_noticed > 0 or self.control or self.copies:
            return None
        return min(1.0, 3 / self.distinct)

    @property
    def median_delay_s(self) -> float | None:
        """The middle of the detection delays."""
        return median(self.delays_s) if self.delays_s else None

    @property
    def median_recovery_s(self) -> float | None:
        """The middle of the recovery times."""
        return median(self.recoveries_s) if self.recoveries_s else None


def place(trial: Trial) -> dict[str, Any]:
    """The factors of the cell that a trial belongs to: its own but for the repetition, threat and flow."""
    factors = {name: value for name, value in trial.factors.items() if name != "repetition"}
    factors["threat"] = trial.threat
    flow = trial.run.spec["flows"][trial.flow]
    one = trial.run.plan["flows"][trial.flow]["id"] if flow.get("session") is None else flow["app"]
    factors["flow"] = flow.get("name") or one
    return factors


class Cells:
    """Trials, put together by cell as they come; none of them is kept."""

    def __init__(self) -> None:
        self._found: dict[tuple[tuple[str, Any], ...], Cell] = {}
        self._seen: dict[tuple[tuple[str, Any], ...], set[int]] = {}

    def __iter__(self) -> Iterator[Cell]:
        """The cells in the order in which they first came."""
        return iter(self._found.values())

    def add(self, trial: Trial) -> Cell:
        """Count a trial; returns its cell."""
        factors = place(trial)
        key = tuple(sorted(factors.items()))
        cell = self._found.setdefault(key, Cell(factors))
        verdict = trial.verdict
        if verdict.verdict != INVALID:
            cell.distinct += is_new(trial.identity, self._seen.setdefault(key, set()))
        cell.verdicts[verdict.verdict] += 1
        if verdict.delay_s is not None:
            cell.delays_s.append(verdict.delay_s)
        if verdict.by is not None:
            cell.by[verdict.by] += 1
        cell.accepted_before += verdict.accepted_before
        if trial.reopens:
            cell.reopens = True
            cell.stops += trial.stop is not None
            cell.recoveries_s += [] if trial.recovery_s is None else [trial.recovery_s]
        return cell


def cells(trials: Iterable[Trial]) -> list[Cell]:
    """The trials by cell, in the order in which cells first come."""
    found = Cells()
    for trial in trials:
        found.add(trial)
    return list(found)


def is_new(identity: Hashable, seen: set[int]) -> bool:
    """Whether a trial is none of those that were seen, by its identity, and note it. One without an identity
    is always new. Only hashes are kept: of a study there are many.
    """
    if identity is None:
        return True
    known = hash(identity) in seen
    seen.add(hash(identity))
    return not known
