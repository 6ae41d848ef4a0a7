"""How far paths between the same two ends are apart on the map.

The distance of two paths is the least one between a node of either and a link of the other, the ends left out
(they belong to both): what GeoDivRP calls d. It is therefore the least one of any two of their links, and to
keep a path d from another one is to keep off some links.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gauntlet.geography.network import Network, Path


class Separation:
    """Distances between the ways from one node of a network to another one."""

    def __init__(self, network: Network, source: str, target: str) -> None:
        self._network = network
        ends = [network.place_of[source], network.place_of[target]]
        self._is_end = np.zeros(len(network.nodes), dtype=np.bool_)
        self._is_end[ends] = True

    def of_links_km(self, path: Path) -> NDArray[np.float64]:
        """How far each link of the network is from a path; 0 where they have a node that is no end."""
        network = self._network
        own = network.links_of(path)
        to_path = np.where(self._is_end, np.inf, network.to_links_km[:, own].min(axis=1))
        found = to_path[network.ends_of].min(axis=1)
        inner = [network.place_of[node] for node in path[1:-1]]
        if inner:
            found = np.minimum(found, network.to_links_km[inner].min(axis=0))
        # A link from end to end has no node that would say so.
        found[own] = 0.0
        return np.asarray(found)

    def km(self, first: Path, second: Path) -> float:
        """Between two paths."""
        return float(self.of_links_km(first)[self._network.links_of(second)].min())

    def least_km(self, paths: Sequence[Path]) -> float:
        """Between the two closest of several paths; infinite where there is one at most."""
        pairs = ((first, second) for place, first in enumerate(paths) for second in paths[:place])
        return min((self.km(first, second) for first, second in pairs), default=float("inf"))

    def between_links_km(self) -> NDArray[np.float64]:
        """How far each link is from each other one, as if both were of different paths; 0 from itself."""
        network = self._network
        found = np.full((len(network.links), len(network.links)), np.inf)
        for end in network.ends_of.T:
            to_others = np.where(self._is_end[end][:, None], np.inf, network.to_links_km[end])
            found = np.minimum(found, np.minimum(to_others, to_others.T))
        np.fill_diagonal(found, 0.0)
        return found
