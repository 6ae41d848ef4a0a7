"""How much of what an attack is tried on it has as good as seen: near-identical visits among those it learnt
from.
"""

import numpy as np
from scipy.spatial.distance import cdist

from gauntlet.traffic.sequences import Flags, Floats, Ints, Sequences

PACKETS = 300
"""Packets of each visit that are compared."""

NEAR = 0.02
"""The share of bytes in which two visits that count as near-identical differ at most."""

_AT_ONCE = 256


def nearest(learnt: Sequences, tried: Sequences) -> Floats:
    """Of each tried visit the distance to the nearest learnt one: bytes in which they differ, place by place,
    over all bytes of both. 0 is identical, 1 has nothing in common.
    """
    known = learnt.matrix(PACKETS)
    known_bytes = np.abs(known).sum(axis=1)
    found = np.empty(len(tried))
    for begin in range(0, len(tried), _AT_ONCE):
        some = tried.take(np.arange(begin, min(begin + _AT_ONCE, len(tried)))).matrix(PACKETS)
        both = np.abs(some).sum(axis=1)[:, None] + known_bytes
        found[begin : begin + len(some)] = (cdist(some, known, "cityblock") / both).min(axis=1)
    return found


def redundant(visits: Sequences, folds: Ints) -> Flags:
    """Which visits have a near-identical one in another fold."""
    found = np.zeros(len(visits), bool)
    for fold in np.unique(folds):
        own = folds == fold
        found[own] = nearest(visits.take(~own), visits.take(own)) <= NEAR
    return found
