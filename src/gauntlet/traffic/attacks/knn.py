"""`knn`: the sites of the nearest visits, by the sizes of their first packets as they come. It learns
nothing: what a deep model has to beat before its learning explains anything.
"""

from functools import partial

import numpy as np
from scipy.spatial.distance import cdist

from gauntlet.traffic.attacks.contract import Attack, Classifier
from gauntlet.traffic.sequences import Floats, Ints, Sequences

PACKETS = 300
"""That are compared, at most."""
NEIGHBOURS = 3
_WEIGHTS = 1 + 2.0 ** -np.arange(10, 10 + NEIGHBOURS)
"""A nearer neighbour counts a little more, so that no vote is a tie."""
_AT_ONCE = 256


def _learn(visits: Sequences, classes: Ints, count: int, _seed: int) -> Classifier:
    longest = int(visits.lengths.max(initial=1))
    return partial(_scores, visits.matrix(min(PACKETS, longest)), classes, count)


def _scores(known: Floats, classes: Ints, count: int, visits: Sequences) -> Floats:
    return votes(known, classes, count, visits.matrix(known.shape[1]))


def votes(known: Floats, classes: Ints, count: int, tried: Floats) -> Floats:
    """What the nearest known rows say of each tried one: a column a class, the shares of their votes."""
    near = min(NEIGHBOURS, len(known))
    found: Floats = np.zeros((len(tried), count))
    for begin in range(0, len(tried), _AT_ONCE):
        rows = np.arange(begin, min(begin + _AT_ONCE, len(tried)))
        order = np.argsort(cdist(tried[rows], known, "cityblock"), axis=1, kind="stable")[:, :near]
        for place in range(near):
            np.add.at(found, (rows, classes[order[:, place]]), _WEIGHTS[place])
    found /= _WEIGHTS[:near].sum()
    return found


KNN = Attack("knn", "nearest neighbours on the sizes of packets as they come", _learn)
