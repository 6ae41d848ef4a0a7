"""The heuristics against the exact search: between all nodes of a network, how often each finds what there
is, and how much longer its paths are.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import Any

from gauntlet.geography import exact, iwpsp, mlw
from gauntlet.geography.network import Network, Path
from gauntlet.geography.wanted import Wanted

Method = Callable[[Network, str, str, Wanted], list[Path]]
"""Finds paths between two nodes."""
HEURISTICS: Mapping[str, Method] = MappingProxyType({"iwpsp": iwpsp.paths, "mlw": mlw.paths})


@dataclass(frozen=True)
class Compared:
    """A heuristic over all pairs of nodes between which there are the wanted paths."""

    method: str
    pairs: int
    """Pairs of nodes."""
    there: int
    """Those between which there are such paths."""
    found: int
    """Those between which the heuristic finds some."""
    longer: float | None
    """By which share the sum of lengths is above the least, on average where it finds some; None: never."""

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "method": self.method,
            "pairs": self.pairs,
            "there": self.there,
            "found": self.found,
            "longer": self.longer,
        }


def compare(network: Network, wanted: Wanted) -> list[Compared]:
    """Each heuristic. Raises UserError where there are too many paths for the exact search."""
    pairs = list(combinations(network.nodes, 2))
    least_km = {}
    for pair in pairs:
        best = exact.paths(network, *pair, wanted)
        if best:
            least_km[pair] = sum(map(network.length_km, best))
    found = []
    for name, heuristic in HEURISTICS.items():
        above = []
        for pair, least in least_km.items():
            paths = heuristic(network, *pair, wanted)
            if len(paths) == wanted.paths:
                above.append(sum(map(network.length_km, paths)) / least - 1)
        longer = sum(above) / len(above) if above else None
        found.append(Compared(name, len(pairs), len(least_km), len(above), longer))
    return found
