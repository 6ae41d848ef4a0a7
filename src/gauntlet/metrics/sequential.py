"""Repetitions until a mean is known closely enough, without being fooled by having looked so often.

Who looks after every repetition and stops at the first narrow interval stops where values happen to lie
together, and such an interval holds the true mean less often than it says. Here the numbers of repetitions at
which it is looked are fixed beforehand, each half as many again as the one before. The interval of the k-th
look is Student's t with the share 1 / (k (k + 1)) of the error rate; these shares are 1 together, so all
looks go wrong no more often than one would, however many there are and wherever it stops.

Each mean is held to the whole error rate by itself: of 20 means one may lie outside its interval.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import stdtrit

from gauntlet.metrics.ecdf import ALPHA
from gauntlet.metrics.steps import Floats


def looks(first: int, most: int) -> Iterator[tuple[int, int]]:
    """At how many repetitions it is looked: (look, repetitions), from look 1 with `first` repetitions on; the
    last one has `most`.
    """
    look, count = 1, min(first, most)
    while count < most:
        yield look, count
        look, count = look + 1, (3 * count + 1) // 2
    yield look, most


def half_width(values: Sequence[float] | Floats, look: int, alpha: float = ALPHA) -> float:
    """Half the interval of the mean of one value a repetition at the so many-th look; without end for fewer
    than two values.
    """
    data = np.asarray(values, dtype=float)
    if data.size < 2:
        return math.inf
    spent = alpha / (look * (look + 1))
    return float(stdtrit(data.size - 1, 1 - spent / 2)) * float(data.std(ddof=1)) / math.sqrt(data.size)


def closeness(values: Sequence[float] | Floats, look: int, alpha: float = ALPHA) -> float:
    """The half width as a share of the mean: 0 where all values are equal, without end where the mean is 0
    and they are not.
    """
    half, centre = half_width(values, look, alpha), abs(float(np.mean(values)))
    if half == 0:
        return 0.0
    return half / centre if centre > 0 else math.inf
