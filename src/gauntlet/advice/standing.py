"""How one transport stands to one need under one condition: the value, the limit, how far it is from it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from gauntlet.advice import lateness
from gauntlet.advice.classes import Need
from gauntlet.metrics.intervals import DETERMINISTIC, Mean
from gauntlet.metrics.kpi import Kpi

NEAR = 1.1
"""A value beyond its limit by no more than this factor is a near miss. It is also the strictest `of_best` of
the studies' classes: what is "about the best" elsewhere is about the limit here.
"""

FAR = 10.0
"""From so many times the limit on (or a tenth of it, where more is better) a failure is called tenfold."""


class Grade(StrEnum):
    """How well a need is served, best first."""

    SERVES = "serves"
    """The whole 95 % interval keeps the limit."""
    NARROWLY = "serves by the mean"
    """The mean keeps the limit; its interval reaches beyond it, or there is none."""
    IN_PART = "kept in part"
    """Of what is asked of flows: some of them kept it, not all."""
    NEAR_MISS = "near miss"
    """The mean is beyond the limit by a tenth of it at most."""
    UNSURE = "misses by the mean"
    """The mean is further beyond the limit, but its interval reaches it."""
    FAILS = "fails"
    TENFOLD = "tenfold failure"
    NOTHING = "nothing arrives"
    """In some repetition nothing arrived, or not all of it."""
    UNMEASURED = "not measured"

    @property
    def rank(self) -> int:
        """0 for the best."""
        return list(Grade).index(self)

    @property
    def serving(self) -> bool:
        """Whether the limit is kept: by the mean, and what is asked of flows by each of them."""
        return self in (Grade.SERVES, Grade.NARROWLY)


@dataclass(frozen=True)
class Tail:
    """What the slowest messages say, means over repetitions."""

    quantiles_s: Mapping[float, Mean] = field(default_factory=dict)
    """Level -> delay of the messages that arrived, the channel's own included; where something is asked of
    flows of all that were due.
    """
    missed: Mean | None = None
    """Share of the messages sent that were not there by the need's limit, lost ones included."""
    missed_between: tuple[float, float] | None = None
    """What that share is at least and at most: results keep quantiles, and it is read between two of them."""


@dataclass(frozen=True)
class Standing:
    """A transport and a need under one condition."""

    protocol: str
    need: Need
    kpi: Kpi
    grade: Grade
    mean: Mean | None
    """What was measured, in SI units, without the channel's own delay where the need takes it off; None where
    nothing is known.
    """
    limit: float
    """What the need allows here, in the same unit; NaN where nothing is known."""
    times: float
    """How far it is from the limit: below 1 it is kept, 2 is twice the limit (or half of it, where more is
    better); infinite where nothing arrived or nothing is known. Of the share, where `by_missed`.
    """
    completed: tuple[int, int] = (0, 0)
    """How many flows did what they were to do, and of how many."""
    tail: Tail | None = None
    beyond: Mean | None = None
    """By how much the limit is exceeded, in the KPI's unit, below 0 when it is kept."""
    by_missed: bool = False
    """Whether the grade is that of the share of messages that were late or lost: the value keeps its limit,
    and the share has the worse grade.
    """
    kept: tuple[int, int] | None = None
    """Of what is asked of flows: how many kept it, and of how many; they decide. None elsewhere."""
    level: float | None = None
    """Of a need against the best: the share within which the best and at least one more are, this one among
    them, so that neither is called better; None where it is told apart.
    """

    @property
    def unkept(self) -> float:
        """The share of the flows that did not keep what is asked of them; 0 where nothing is."""
        return 0.0 if self.kept is None else 1 - self.kept[0] / self.kept[1]

    @property
    def margin(self) -> float:
        """What is left to the limit as a share of it; below 0 beyond it."""
        if not self.kpi.higher_is_better:
            return 1 - self.times
        return 1 / self.times - 1 if self.times > 0 else math.inf

    @property
    def paired(self) -> Mean | None:
        """What is left to a limit against the best, in the KPI's unit, by the differences in each repetition:
        what the grade goes by. None where there are no pairs, or nothing was drawn.
        """
        it = self.beyond
        if self.need.of_best is None or it is None or it.low is None or it.high is None:
            return None
        if self.mean is None or self.mean.method == DETERMINISTIC:
            return None
        return replace(it, value=-it.value, low=-it.high, high=-it.low)

    @property
    def missed(self) -> Mean | None:
        """Share of the messages that were late or lost; None where it is not known."""
        return None if self.tail is None else self.tail.missed

    @property
    def missed_between(self) -> tuple[float, float] | None:
        """What that share is at least and at most; None where it is not known."""
        return None if self.tail is None else self.tail.missed_between


def stands(
    protocol: str,
    need: Need,
    kpi: Kpi,
    mean: Mean | None,
    limit: float,
    *,
    beyond: Mean | None = None,
    completed: tuple[int, int] = (0, 0),
    tail: Tail | None = None,
    kept: tuple[int, int] | None = None,
) -> Standing:
    """Hold a mean against a limit; None: in some repetition nothing came to be.

    `beyond` is by how much the limit is exceeded (in the KPI's unit, below 0 when it is kept), with its
    interval; of a limit against the best it is paired by repetition. Where the mean keeps its limit, the
    share of messages that were late or lost is held likewise against what the need lets be
    (`gauntlet.advice.lateness`), and the worse grade counts. With `kept`, as of `Standing`, the flows decide,
    and where none kept what is asked of it the mean says by how much.
    """
    times = _times(kpi, math.nan if mean is None else mean.value, limit)
    if mean is None or (kpi.higher_is_better and mean.value == 0):
        grade, beyond = Grade.NOTHING, None
    else:
        grade = _grade(mean, times, beyond)
    found = Standing(protocol, need, kpi, grade, mean, limit, times, completed, tail, beyond)
    if kept is not None:
        return replace(found, grade=_by_flows(grade, kept), kept=kept)
    allowed, missed = lateness.may_miss(need), found.missed
    if not grade.serving or allowed is None or missed is None:
        return found
    of_missed = lateness.times(missed.value, allowed)
    by_missed = _grade(missed, of_missed, less(missed, allowed))
    if by_missed.rank <= grade.rank:
        return found
    return replace(found, grade=by_missed, times=of_missed, by_missed=True)


def _by_flows(by_mean: Grade, kept: tuple[int, int]) -> Grade:
    """The rule of what is asked of flows: each of them has to keep it, in every repetition."""
    did, judged = kept
    if did:
        return Grade.SERVES if did == judged else Grade.IN_PART
    if by_mean == Grade.UNSURE:
        return Grade.FAILS
    # A mean within the limit that no flow kept is one of flows that failed.
    return Grade.NOTHING if by_mean.serving else by_mean


def less(mean: Mean, by: float) -> Mean:
    """A mean and its interval, so much smaller."""
    low, high = (None if it is None else it - by for it in (mean.low, mean.high))
    return replace(mean, value=mean.value - by, low=low, high=high)


def unmeasured(protocol: str, need: Need, kpi: Kpi) -> Standing:
    """Of what was not run, or not with a result that counts."""
    return Standing(protocol, need, kpi, Grade.UNMEASURED, None, math.nan, math.inf)


def _times(kpi: Kpi, value: float, limit: float) -> float:
    above, below = (limit, value) if kpi.higher_is_better else (value, limit)
    if math.isnan(value):
        return math.inf
    if above <= 0:
        return 0.0
    return above / below if below > 0 else math.inf


def _grade(mean: Mean, times: float, beyond: Mean | None) -> Grade:
    exact = mean.method == DETERMINISTIC
    low, high = (None, None) if beyond is None else (beyond.low, beyond.high)
    if times <= 1:
        return Grade.SERVES if exact or (high is not None and high <= 0) else Grade.NARROWLY
    if times <= NEAR:
        return Grade.NEAR_MISS
    if not exact and low is not None and low <= 0:
        return Grade.UNSURE
    return Grade.TENFOLD if times >= FAR else Grade.FAILS
