"""Empirical distributions with a confidence band that knows that packets are not independent.

The band is that of Dvoretzky, Kiefer and Wolfowitz with Massart's constant (Annals of Probability 18, 1990):
for n independent samples the whole true distribution lies within sqrt(ln(2/alpha) / (2 n)) of the empirical
one with probability at least 1 - alpha.

Messages of one run, or its windows, are far from independent, so n is not their number. The distribution
shown is the mean of the repetitions' distributions, each with equal weight, and n is the *effective* sample
size found from how much the repetitions differ (`effective_samples`). It is never less than the number of
repetitions, for which the band holds whatever happens inside a run.

A repetition in which nothing arrived has no values, but it is one of the repetitions: its share stays 0
throughout, so the mean distribution ends below 1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri

from gauntlet.metrics.steps import Floats

ALPHA = 0.05
"""Error probability of every band and interval: 95 % confidence, the custom of the field."""

_UNDERESTIMATED = 0.7
"""The variance between few repetitions is itself uncertain; its upper limit at this confidence is
used. By simulation (tests) bands then cover with at least 95 % from three repetitions on."""

_DECILES = np.arange(0.1, 0.95, 0.1)


@dataclass(frozen=True)
class Cdf:
    """Distribution of a quantity with its band: `probability[k]` is the share of values <= `values[k]`."""

    values: Floats
    probability: Floats
    low: Floats
    high: Floats
    repetitions: int
    samples: int
    """Values that went in, over all repetitions."""
    effective_samples: float
    """The n of the band."""


def dkw_half_width(samples: float, alpha: float = ALPHA) -> float:
    """Half the height of the band for n independent samples."""
    return math.sqrt(math.log(2 / alpha) / (2 * samples))


def ecdf(
    repetitions: Sequence[Floats], alpha: float = ALPHA, points: int = 200, nothing: int = 0
) -> Cdf | None:
    """The mean of the repetitions' empirical distributions at up to `points` of the pooled values' quantiles;
    `nothing` is how many further repetitions there are in which nothing came to be.

    None when no repetition has a value. The quantiles are spaced evenly in probability, so a curve of 200
    points is never further than 0.5 % from the full one.
    """
    samples = [np.sort(values) for values in repetitions if values.size]
    if not samples:
        return None
    pooled = np.sort(np.concatenate(samples))
    levels = np.linspace(0, 1, min(points, pooled.size))
    values = np.unique(np.quantile(pooled, levels, method="inverted_cdf"))
    each = _with_nothing(np.stack([shares_at_most(values, sample) for sample in samples]), nothing)
    effective = effective_samples(samples) if not nothing else _effective(each, pooled.size)
    return _banded(values, each, pooled.size, effective, alpha)


def ecdf_of_quantiles(
    levels: Floats,
    quantiles: Sequence[Floats],
    counts: Sequence[int],
    alpha: float = ALPHA,
    points: int = 200,
    *,
    nothing: int = 0,
) -> Cdf | None:
    """As `ecdf`, from stored quantiles of each repetition (row k: the values at `levels`) and its sample
    count.

    Within a repetition the distribution between two stored levels is interpolated. The effective sample size
    is taken from the repetitions alone, because quantiles do not show how values follow each other.
    """
    if not quantiles:
        return None
    pooled = np.quantile(np.concatenate(list(quantiles)), np.linspace(0, 1, points))
    values = np.unique(pooled)
    each = np.stack([np.interp(values, row, levels, left=0.0, right=1.0) for row in quantiles])
    each = _with_nothing(each, nothing)
    deciles = np.interp(_DECILES, levels, np.mean(np.stack(quantiles), axis=0))
    shares = np.stack([np.interp(deciles, row, levels, left=0.0, right=1.0) for row in quantiles])
    total = int(sum(counts))
    return _banded(values, each, total, _effective(_with_nothing(shares, nothing), total), alpha)


def mixed_quantiles(levels: Floats, quantiles: Sequence[Floats]) -> Floats:
    """The quantiles at `levels` of several samples taken together, each with equal weight, from the quantiles
    of each (row k: the values at `levels`); linear between two levels.
    """
    if len(quantiles) == 1:
        return quantiles[0]
    values = np.unique(np.concatenate(list(quantiles)))
    shares = np.mean([np.interp(values, row, levels, left=0.0, right=1.0) for row in quantiles], axis=0)
    mixed: Floats = np.interp(levels, shares, values)
    return mixed


def shares_at_most(values: Floats, sorted_sample: Floats) -> Floats:
    """The share of a sorted sample that is at most each value."""
    shares: Floats = np.searchsorted(sorted_sample, values, side="right") / sorted_sample.size
    return shares


def effective_samples(repetitions: Sequence[Floats]) -> float:
    """How many independent samples the repetitions are worth for their mean distribution.

    At each decile of the pooled values, the variance of the repetitions' shares below it is compared with
    that of independent values; the worst decile counts (the design effect of cluster sampling: Kish, Survey
    Sampling, 1965, section 5.4). With fewer than three repetitions nothing can be said about how they differ,
    and their number is the answer. The result lies between the number of repetitions and the number of
    values.
    """
    samples = [np.sort(values) for values in repetitions if values.size]
    pooled = np.concatenate(samples)
    deciles = np.quantile(pooled, _DECILES)
    return _effective(np.stack([shares_at_most(deciles, sample) for sample in samples]), pooled.size)


def _with_nothing(shares: Floats, nothing: int) -> Floats:
    """The repetitions' shares (rows) with those of repetitions in which nothing came to be."""
    return np.vstack([shares, np.zeros((nothing, shares.shape[1]))]) if nothing else shares


def _effective(shares: Floats, total: int) -> float:
    """From each repetition's share below each decile (rows: repetitions) and the number of values."""
    count = shares.shape[0]
    if count < 3:
        return float(count)
    mean = shares.mean(axis=0)
    inside = (mean > 0) & (mean < 1)
    between = shares.var(axis=0, ddof=1)[inside] / count
    spread_at_most = (count - 1) / float(chdtri(count - 1, _UNDERESTIMATED))
    worst = float(np.max(between / (mean * (1 - mean))[inside], initial=0.0)) * spread_at_most
    return float(max(1 / max(worst, 1 / total), count))


def _banded(values: Floats, each: Floats, samples: int, effective: float, alpha: float) -> Cdf:
    probability = each.mean(axis=0)
    half = dkw_half_width(effective, alpha)
    return Cdf(
        values=values,
        probability=probability,
        low=np.maximum(probability - half, 0.0),
        high=np.minimum(probability + half, 1.0),
        repetitions=each.shape[0],
        samples=samples,
        effective_samples=effective,
    )
