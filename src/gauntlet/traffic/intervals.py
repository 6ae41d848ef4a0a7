"""Intervals of scores by the bootstrap over clusters: what stands together is drawn together."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gauntlet.traffic.scores import confusion
from gauntlet.traffic.sequences import Floats, Ints

RESAMPLES = 1000
_SHARE = 0.95
_AT_ONCE = 100
"""Resamples whose matrices are in memory together."""

Score = Callable[[npt.NDArray[Any]], Floats]
"""Of confusion matrices (resamples x classes x classes)."""


def by_cluster(
    score: Score, true: Ints, said: Ints, clusters: Ints, *, classes: int, seed: int
) -> tuple[float, float]:
    """The 95 % percentile interval of a score when clusters (such as the session of each visit) are drawn
    with replacement, as many as there are.
    """
    names, members = np.unique(clusters, return_inverse=True)
    each = np.zeros((len(names), classes * classes))
    for cluster in range(len(names)):
        own = members == cluster
        each[cluster] = confusion(true[own], said[own], classes).ravel()
    dice = np.random.default_rng(seed)
    drawn = dice.multinomial(len(names), np.full(len(names), 1 / len(names)), RESAMPLES)
    found = [
        score((drawn[begin : begin + _AT_ONCE] @ each).reshape(-1, classes, classes))
        for begin in range(0, RESAMPLES, _AT_ONCE)
    ]
    return _ends(np.concatenate(found))


def by_site(each: Floats, seed: int) -> tuple[float, float]:
    """The 95 % percentile interval of a mean over sites, each with one value, when sites are drawn."""
    drawn = np.random.default_rng(seed).integers(len(each), size=(RESAMPLES, len(each)))
    return _ends(each[drawn].mean(axis=1))


def _ends(found: Floats) -> tuple[float, float]:
    low, high = np.quantile(found, [(1 - _SHARE) / 2, (1 + _SHARE) / 2])
    return float(low), float(high)
