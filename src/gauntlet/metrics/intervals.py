"""Means over repetitions with a confidence interval. The repetition is the unit: packets of one run are not
independent, so a thousand times more packets make no interval narrower.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from gauntlet.metrics.ecdf import ALPHA
from gauntlet.metrics.steps import Floats

BOOTSTRAP_FROM = 8
"""Repetitions from which the bootstrap is used. Its percentile interval cannot leave the range of the values
and is too narrow for few of them (Hesterberg, The American Statistician 69, 2015, section 3.2); below,
Student's t is used, which is wide for few values, as it should be.
"""

RESAMPLES = 4000
"""Bootstrap resamples: the ends of a 95 % interval then vary by about 1 % of its width from seed to seed."""

_SEED = 20261121
"""Resampling is part of the result and must repeat: one fixed seed, never the clock."""


@dataclass(frozen=True)
class Mean:
    """A mean over `n` repetitions and the interval of its true value; no interval for one repetition."""

    value: float
    low: float | None
    high: float | None
    n: int
    method: str
    """`bootstrap`, `t`, `subsets`, `none`, or `deterministic`: chance had no part in it, so it is one
    observation however often it was repeated.
    """

    def within(self, least: float, most: float) -> "Mean":
        """The same with its interval cut off at the ends of what the quantity can be."""
        if self.low is None or self.high is None:
            return self
        return replace(self, low=max(self.low, least), high=min(self.high, most))


DETERMINISTIC = "deterministic"


def the_same(value: float) -> Mean:
    """A value that every repetition gave because nothing was drawn: one observation, no interval."""
    return Mean(value, None, None, 1, DETERMINISTIC)


def mean(values: Sequence[float] | Floats, alpha: float = ALPHA) -> Mean:
    """The mean of one value a repetition with its 1 - alpha interval.

    From eight repetitions on a bootstrap by repetition (percentiles widened for small n: Hesterberg 2015,
    section 3.3), for two to seven Student's t, for one none. Raises ValueError for no value.
    """
    data = np.asarray(values, dtype=float)
    if data.size == 0:
        raise ValueError("a mean needs at least one repetition")
    centre = float(data.mean())
    if data.size == 1:
        return Mean(centre, None, None, 1, "none")
    if data.size < BOOTSTRAP_FROM:
        half = float(stdtrit(data.size - 1, 1 - alpha / 2)) * float(data.std(ddof=1)) / np.sqrt(data.size)
        return Mean(centre, centre - half, centre + half, int(data.size), "t")
    low, high = bootstrap_interval(data, alpha)
    return Mean(centre, low, high, int(data.size), "bootstrap")


def typical_mean(values: Sequence[float] | Floats, alpha: float = ALPHA) -> Mean:
    """The mean of one value a repetition with an interval that never leaves the range of the values.

    From eight repetitions on as `mean`. Below, the means of all subsets of the repetitions: where values lie
    symmetrically about the true mean, it falls between any two neighbours of the ordered subset means with
    the same chance (Hartigan, Using subsample values as typical values, Journal of the American Statistical
    Association 64, 1969; the same flips of signs as `gauntlet.metrics.compare` tests with). With fewer than
    six repetitions even the whole range holds it with less than 95 %: 94, 88, 75 and 50 % of five to two.
    Raises ValueError for no value.
    """
    data = np.asarray(values, dtype=float)
    if not 2 <= data.size < BOOTSTRAP_FROM:
        return mean(data, alpha)
    subsets = (np.arange(1, 2**data.size)[:, None] >> np.arange(data.size)) & 1
    means = np.sort(subsets @ data / subsets.sum(axis=1))
    outside = max(int(alpha / 2 * 2**data.size), 1) - 1
    low, high = float(means[outside]), float(means[means.size - 1 - outside])
    return Mean(float(data.mean()), low, high, int(data.size), "subsets")


def bootstrap_interval(data: Floats, alpha: float = ALPHA, seed: int = _SEED) -> tuple[float, float]:
    """The bootstrap percentile interval of the mean, widened to the level that Student's t would need."""
    count = data.size
    means = data[_resampled(count, seed)].mean(axis=1)
    # The t quantile, in units of the bootstrap's own standard error, read as a normal quantile (large df of
    # t).
    quantile = float(stdtrit(count - 1, alpha / 2)) * np.sqrt(count / (count - 1))
    tail = float(stdtr(1e9, quantile))
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


@lru_cache(maxsize=8)
def _resampled(count: int, seed: int) -> npt.NDArray[np.int64]:
    """Which values each resample (row) has: the same for all means over so many values, so it is drawn
    once.
    """
    return np.random.default_rng(seed).integers(0, count, (RESAMPLES, count))
