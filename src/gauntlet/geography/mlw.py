"""MLW, modified link weights: GeoDivRP's second heuristic for paths that keep a distance.

From the same publication as `iwpsp`, and a reading of it as well: the first path is the shortest one; for
each further one links weigh the more the closer they are to the paths that are there, and it is the shortest
path by these weights. One search a path, and no second try.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gauntlet.geography import one_by_one
from gauntlet.geography.network import Network, Path
from gauntlet.geography.wanted import Wanted

PENALTY = 100.0
"""By how much of its length a link weighs more where it touches a path; it falls evenly to nothing at the
distance that is wanted.
"""


def paths(network: Network, source: str, target: str, wanted: Wanted) -> list[Path]:
    """As many of the wanted paths as the heuristic finds, the shortest first; none where no path leads."""

    def by_weights(away_km: NDArray[np.float64]) -> Iterator[Path]:
        close = np.clip(1.0 - away_km / wanted.apart_km, 0.0, 1.0) if wanted.apart_km > 0 else away_km == 0.0
        path = network.shortest(source, target, weights=network.lengths_km * (1.0 + PENALTY * close))
        assert path is not None
        yield path

    return one_by_one.paths(network, source, target, wanted, by_weights)
