"""Which protocol is best under one condition, and which cannot be told apart from it.

All protocols ride the same stretches with the same draws, so they are compared repetition by repetition: what
a stretch does to all of them cancels out.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from gauntlet.metrics.ecdf import ALPHA
from gauntlet.metrics.intervals import BOOTSTRAP_FROM, Mean, mean
from gauntlet.metrics.steps import Floats

EXACT_UP_TO = 12
"""Pairs up to which all sign patterns are tried (4096); beyond, as many random ones with a fixed seed."""

_SEED = 20261121


@dataclass(frozen=True)
class Verdict:
    """How one protocol stands against the best one."""

    name: str
    mean: Mean
    best: bool
    distinguishable: bool | None
    """Whether it is worse than the best beyond chance; None when that could not be tested (fewer than two
    pairs).
    """
    p_value: float | None
    """Of the paired test against the best, adjusted for the number of comparisons (Holm)."""
    difference: Mean | None
    """This one minus the best, paired by repetition; None for the best itself and without pairs."""


def against_best(
    values: Mapping[str, Mapping[int, float]], higher_is_better: bool, alpha: float = ALPHA
) -> dict[str, Verdict]:
    """Compare protocols (name -> repetition -> value) with the one of the best mean.

    The test of each pair is two-sided: below eight pairs Student's paired t, from eight on the sign-flip
    permutation test, which assumes nothing but symmetry. p-values are adjusted by Holm's method, so the
    chance of calling any protocol worse that is not stays below alpha. Protocols without values are left out.
    """
    means = {
        name: mean(list(by_repetition.values())) for name, by_repetition in values.items() if by_repetition
    }
    if not means:
        return {}
    best = (max if higher_is_better else min)(means, key=lambda name: means[name].value)
    differences: dict[str, Floats] = {}
    for name in means:
        shared = sorted(values[name].keys() & values[best].keys())
        if name != best and len(shared) >= 2:
            differences[name] = np.array([values[name][k] - values[best][k] for k in shared])
    adjusted = holm({name: paired_p_value(pairs) for name, pairs in differences.items()})
    return {
        name: Verdict(
            name=name,
            mean=means[name],
            best=name == best,
            distinguishable=adjusted[name] < alpha if name in adjusted else (False if name == best else None),
            p_value=adjusted.get(name),
            difference=mean(differences[name]) if name in differences else None,
        )
        for name in means
    }


def paired_p_value(differences: Floats) -> float:
    """Probability of differences at least this far from zero on average if there were none in truth."""
    if not np.any(differences):
        return 1.0
    if differences.size < BOOTSTRAP_FROM:
        spread = float(differences.std(ddof=1))
        if spread == 0:
            return 0.0
        t = abs(float(differences.mean())) / (spread / np.sqrt(differences.size))
        return float(2 * stdtr(differences.size - 1, -t))
    if differences.size <= EXACT_UP_TO:
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=differences.size)))
    else:
        rng = np.random.default_rng(_SEED)
        signs = rng.choice((1.0, -1.0), (2**EXACT_UP_TO, differences.size))
        signs[0] = 1.0
    sums = np.abs(signs @ differences)
    # A hair of slack: the pattern of the data itself must count as "at least as far" despite rounding.
    return float((sums >= abs(differences.sum()) * (1 - 1e-12)).mean())


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's step-down adjustment (Scandinavian Journal of Statistics 6, 1979)."""
    adjusted: dict[str, float] = {}
    floor = 0.0
    for rank, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        floor = max(floor, min(1.0, p_values[name] * (len(p_values) - rank)))
        adjusted[name] = floor
    return adjusted
