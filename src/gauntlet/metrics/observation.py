"""What a flow says of a quantity: its number, only that it is beyond a limit, or that it never came to be.

A transfer that did not finish is not missing: it took longer than it was given. A flow that delivered nothing
has no delay, which is worse than any delay. Whoever drops such flows praises the protocol that fails most, so
every mean, test and chart takes observations, and each state has its rule (docs/decisions/0004):

    measured   the number
    censored   only known to be larger than `value`, the time that the flow was given
    never      no number can exist; it ranks behind every other
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy import stats

from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.steps import Floats


class State(StrEnum):
    """How much is known."""

    MEASURED = "measured"
    CENSORED = "censored"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Observation:
    """One flow's, or one repetition's, word on a quantity."""

    value: float
    """The number; of a censored one the limit that it exceeds; infinity where there never was one."""
    state: State = State.MEASURED


NEVER = Observation(float("inf"), State.NEVER)


def observed(kpi: Kpi, value: float | None, *, completed: bool, given_s: float | None) -> Observation | None:
    """What a flow says of a KPI, from its row in a table; None where the KPI has no meaning for it.

    `completed` is whether the flow did what it was to do, `given_s` how long it had for it (None: not known).
    A flow that did what it was to do and has no value is one that the KPI does not apply to. One that did
    not, and whose value is an average over what arrived, took longer: what it did not bring is not in that.
    It counts with the time that it was given, a share or a rate with the worst that it can be; where there is
    no worst, no number can be.
    """
    if value is not None:
        if completed or not kpi.of_arrived:
            return Observation(float(value))
        return _beyond(kpi, float(value), given_s)
    if completed:
        return None
    if kpi.of_nothing is not None:
        return Observation(kpi.of_nothing)
    return Observation(given_s, State.CENSORED) if kpi.censored and given_s else NEVER


def _beyond(kpi: Kpi, value: float, given_s: float | None) -> Observation:
    """What is known where the value is over what a failed flow brought: at best the worst there is."""
    if kpi.higher_is_better:
        return Observation(kpi.least)
    if math.isfinite(kpi.most):
        return Observation(kpi.most, State.CENSORED)
    is_time = kpi.name.endswith("_s")
    return Observation(max(given_s, value), State.CENSORED) if is_time and given_s else NEVER


def averaged(observations: Sequence[Observation]) -> Observation:
    """The mean of several flows with the same work: as little known as the least known of them."""
    if any(it.state == State.NEVER for it in observations):
        return NEVER
    state = State.CENSORED if any(it.state == State.CENSORED for it in observations) else State.MEASURED
    return Observation(sum(it.value for it in observations) / len(observations), state)


def common_limit(observations: Iterable[Observation]) -> float | None:
    """The smallest limit that any of them was given up at; None when none was."""
    return min((it.value for it in observations if it.state == State.CENSORED), default=None)


def restricted(observations: Iterable[Observation], limit: float | None) -> Floats:
    """Their numbers up to a common limit, `min(value, limit)`, whose mean is the restricted mean (Royston and
    Parmar, BMC Medical Research Methodology 13, 2013). Below the limit nothing is censored, so it needs no
    model. What never came to be is left out; who averages says so.
    """
    known = np.array([it.value for it in observations if it.state != State.NEVER], dtype=float)
    return known if limit is None else np.minimum(known, limit)


def scores(
    groups: Mapping[str, Mapping[int, Observation]], higher_is_better: bool
) -> dict[str, dict[int, float]]:
    """Numbers by which repetitions of several protocols can be compared, whatever is known of them; lower and
    higher stay what they were.

    Restricted at their common limit; where something never came to be, the ranks of all observations of all
    groups, that at the worse end (Conover and Iman, The American Statistician 35, 1981).
    """
    limit = common_limit(it for group in groups.values() for it in group.values())
    worst = float("-inf") if higher_is_better else float("inf")

    def number(it: Observation) -> float:
        if it.state == State.NEVER:
            return worst
        return it.value if limit is None else min(it.value, limit)

    plain = {name: {key: number(it) for key, it in group.items()} for name, group in groups.items()}
    every = [value for group in plain.values() for value in group.values()]
    if worst not in every:
        return plain
    ranks = iter(stats.rankdata(every).tolist())
    return {name: {key: next(ranks) for key in group} for name, group in plain.items()}


@dataclass(frozen=True)
class Finished:
    """Which share was over by when: one minus the survival function."""

    times: Floats
    share: Floats
    """By each of the times; it ends below 1 where some did not finish."""
    median: float | None
    """The time by which half was over; None when half never was."""


def finished(observations: Sequence[Observation]) -> Finished:
    """The Kaplan-Meier estimate over repetitions of how much is over by when."""
    sample = _sample(observations)
    function = stats.ecdf(sample).cdf
    over = np.searchsorted(function.probabilities, 0.5 - 1e-12)
    median = float(function.quantiles[over]) if over < function.quantiles.size else None
    return Finished(function.quantiles, function.probabilities, median)


@dataclass(frozen=True)
class Partly:
    """How many came to their end of several that did not all."""

    ended: int
    of: int
    median: float | None
    """The time by which half of all had; None when half never had."""


def partly(observations: Sequence[Observation]) -> Partly | None:
    """Of times until something is over: how many were over and by when half was; None where all were."""
    ended = sum(it.state == State.MEASURED for it in observations)
    if ended == len(observations):
        return None
    return Partly(ended, len(observations), finished(observations).median if ended else None)


def log_rank(one: Sequence[Observation], other: Sequence[Observation]) -> float:
    """p-value of the log-rank test that two groups without common stretches are over equally soon."""
    return float(stats.logrank(_sample(one), _sample(other)).pvalue)


def _sample(observations: Sequence[Observation]) -> stats.CensoredData:
    """As SciPy takes them. What never came to be is censored behind all that is known."""
    known = [it.value for it in observations if np.isfinite(it.value)]
    behind = max(known, default=1.0)
    values = [it.value if np.isfinite(it.value) else behind for it in observations]
    return stats.CensoredData.right_censored(values, [it.state != State.MEASURED for it in observations])
