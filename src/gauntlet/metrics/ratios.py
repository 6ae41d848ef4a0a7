"""Ratios of paired values, averaged so that one side over the other and the other over the one agree.

The arithmetic mean of ratios is above 1 for two sides that do not differ: of 2 and 1/2 it is 1.25 either way
round. So ratios are averaged by their logarithms (the geometric mean: Fleming and Wallace, Communications of
the ACM 29, 1986). A logarithm needs values above zero. Where a side is zero in some repetition the ratio of
the two means is taken instead, with Fieller's interval (Quarterly Journal of Pharmacy and Pharmacology 17,
1944): no repetition is dropped, and who reads it is told.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from gauntlet.metrics.adjusted import adjusted
from gauntlet.metrics.ecdf import ALPHA
from gauntlet.metrics.intervals import Mean
from gauntlet.metrics.steps import Floats


@dataclass(frozen=True)
class Ratio:
    """The mean ratio of two sides, and what zeros there were."""

    mean: Mean | None
    """None when the lower side is zero throughout: then there is no ratio."""
    zeros_above: int
    """Repetitions in which the upper side is zero."""
    zeros_below: int

    @property
    def words(self) -> str:
        """What is to be said of zeros; empty without any."""
        if not self.zeros_above and not self.zeros_below:
            return ""
        parts = [
            f"{side} is 0 in {count}"
            for side, count in (("the first", self.zeros_above), ("the second", self.zeros_below))
            if count
        ]
        how = "ratio of the means" if self.mean is not None else "there is no ratio"
        return f"{' and '.join(parts)} of the repetitions, so {how}"


Covariates = Sequence[tuple[Sequence[float] | Floats, float]]
"""As `gauntlet.metrics.adjusted` takes them."""


def ratio(
    above: Sequence[float],
    below: Sequence[float],
    alpha: float = ALPHA,
    covariates: Callable[[], Covariates] = tuple,
) -> Ratio:
    """Pairs of values, none below zero: geometric mean of `above / below`, or the ratio of their means.

    The geometric mean is adjusted for `covariates` of the logarithm, which are asked for only then.

    Raises ValueError for no pair.
    """
    x, y = np.asarray(above, dtype=float), np.asarray(below, dtype=float)
    zeros = int((x == 0).sum()), int((y == 0).sum())
    if zeros == (0, 0):
        return Ratio(geometric(x / y, alpha, covariates()), 0, 0)
    if not y.any():
        return Ratio(None, *zeros)
    return Ratio(_of_means(x, y, alpha), *zeros)


def geometric(ratios: Sequence[float] | Floats, alpha: float = ALPHA, covariates: Covariates = ()) -> Mean:
    """The geometric mean of values above zero with its interval, from their logarithms."""
    of_logarithms = adjusted(np.log(np.asarray(ratios, dtype=float)), covariates, alpha)
    low, high = (None if it is None else float(np.exp(it)) for it in (of_logarithms.low, of_logarithms.high))
    return Mean(float(np.exp(of_logarithms.value)), low, high, of_logarithms.n, of_logarithms.method)


def _of_means(x: Floats, y: Floats, alpha: float) -> Mean:
    """Fieller's interval; without ends when the lower side cannot be told from zero."""
    count, value = int(x.size), float(x.mean() / y.mean())
    if count < 2:
        return Mean(value, None, None, count, "none")
    reach = float(stdtrit(count - 1, 1 - alpha / 2)) ** 2 / count
    xx, xy, yy = (float(np.cov(one, other)[0, 1]) for one, other in ((x, x), (x, y), (y, y)))
    a, b, c = y.mean() ** 2 - reach * yy, x.mean() * y.mean() - reach * xy, x.mean() ** 2 - reach * xx
    if a <= 0:
        return Mean(value, None, None, count, "Fieller")
    half = float(np.sqrt(max(b * b - a * c, 0.0)))
    return Mean(value, max((b - half) / a, 0.0), (b + half) / a, count, "Fieller")
