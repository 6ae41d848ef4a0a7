"""How much a whole network allows for paths that are apart: total graph geodiversity as one number.

The form is that of J. P. Rohrer, A. Jabbar and J. P. G. Sterbenz, Path diversification for future internet
end-to-end resilience and survivability (Telecommunication Systems 56, 2014): the effective diversity of two
nodes is 1 - exp(-lambda k), k the sum of the least diversities of each path to those taken before it, and the
total is its mean over all pairs of nodes. The diversity of two paths is their distance here (`separation`).
"""

import math
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from gauntlet.geography.network import Network, Path
from gauntlet.geography.separation import Separation

SCALE_KM = 100.0
"""1 / lambda: two paths so far apart have an effective diversity of 1 - 1/e, 0.63."""


def total(network: Network, paths: int = 3, scale_km: float = SCALE_KM) -> float:
    """From 0 (nowhere are two paths apart) to less than 1, for so many paths between each two nodes."""
    pairs = list(combinations(network.nodes, 2))
    return sum(effective(network, *pair, paths, scale_km) for pair in pairs) / len(pairs)


def effective(
    network: Network, source: str, target: str, paths: int = 3, scale_km: float = SCALE_KM
) -> float:
    """Of two nodes; 0 where no two paths between them are apart."""
    apart_km = [km for _, km in farthest(network, source, target, paths)[1:]]
    return -math.expm1(-sum(apart_km) / scale_km)


def farthest(network: Network, source: str, target: str, paths: int) -> list[tuple[Path, float]]:
    """Paths, each with its distance to those before it: the shortest path, then again and again one that is
    as far from those as a path can be, the shortest of such. It ends where none is apart any more.
    """
    first = network.shortest(source, target)
    if first is None:
        return []
    separation = Separation(network, source, target)
    found = [(first, math.inf)]
    away_km = separation.of_links_km(first)
    while len(found) < paths:
        km = _widest(network, source, target, away_km)
        if km <= 0:
            break
        further = network.shortest(source, target, usable=away_km >= km)
        assert further is not None
        found.append((further, km))
        away_km = np.minimum(away_km, separation.of_links_km(further))
    return found


def _widest(network: Network, source: str, target: str, away_km: NDArray[np.float64]) -> float:
    """The greatest distance for which links that keep it lead from end to end: links are put in by falling
    distance until they do.
    """
    root = list(range(len(network.nodes)))

    def top(node: int) -> int:
        while root[node] != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    begin, end = network.place_of[source], network.place_of[target]
    for number in np.argsort(-away_km, kind="stable"):
        one, other = network.ends_of[number]
        root[top(int(one))] = top(int(other))
        if top(begin) == top(end):
            return float(away_km[number])
    return 0.0
