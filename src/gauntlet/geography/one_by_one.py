"""Paths found one after another: the shortest, then each that keeps the distance from those before it."""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from gauntlet.geography.network import Network, Path
from gauntlet.geography.separation import Separation
from gauntlet.geography.wanted import Wanted

Candidates = Callable[[NDArray[np.float64]], Iterable[Path]]
"""What a heuristic tries next, by how far each link of the network is from the paths that are there (km)."""


def paths(network: Network, source: str, target: str, wanted: Wanted, candidates: Candidates) -> list[Path]:
    """As many wanted paths as there are candidates for, the shortest first; none where no path leads."""
    shortest = network.shortest(source, target)
    if shortest is None:
        return []
    separation = Separation(network, source, target)
    found = [shortest]
    away_km = separation.of_links_km(shortest)
    while len(found) < wanted.paths:
        further = next(
            (
                path
                for path in candidates(away_km)
                if path not in found
                and wanted.takes(network, shortest, path)
                and away_km[network.links_of(path)].min() >= wanted.apart_km
            ),
            None,
        )
        if further is None:
            break
        found.append(further)
        away_km = np.minimum(away_km, separation.of_links_km(further))
    return found
