"""iWPSP, the iterative waypoint shortest path: GeoDivRP's first heuristic for paths that keep a distance.

Y. Cheng, M. T. Gardner, J. Li, R. May, D. Medhi, J. P. G. Sterbenz, Optimised heuristics for a geodiverse
routing protocol (DRCN 2014). Its idea is public, its listing is not, so this is a reading of it: the first
path is the shortest one; each further one leaves the source by a neighbour and reaches the target by a
neighbour that both keep the distance, and goes from the one to the other by a waypoint that keeps it too, by
shortest paths on either side. Waypoints are tried in the order of the length that they make.
"""

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from gauntlet.geography import one_by_one
from gauntlet.geography.network import Network, Path
from gauntlet.geography.wanted import Wanted

_Tree = tuple[dict[str, float], dict[str, list[str]]]


def paths(network: Network, source: str, target: str, wanted: Wanted) -> list[Path]:
    """As many of the wanted paths as the heuristic finds, the shortest first; none where no path leads."""
    return one_by_one.paths(
        network,
        source,
        target,
        wanted,
        lambda away_km: _by_waypoints(network, source, target, away_km >= wanted.apart_km),
    )


def _by_waypoints(network: Network, source: str, target: str, links_off: NDArray[np.bool_]) -> Iterator[Path]:
    """Ways by a waypoint, the shortest first; before them a link from end to end, which needs none."""
    if target in network.graph[source]:
        yield (source, target)
    inside = nx.restricted_view(network.graph, [source, target], [])
    from_source = _trees(network, source, inside, links_off)
    to_target = _trees(network, target, inside, links_off)
    lengths = sorted(
        (head[0][waypoint] + tail[0][waypoint], waypoint, first, last)
        for first, head in from_source.items()
        for last, tail in to_target.items()
        for waypoint in head[0].keys() & tail[0].keys()
    )
    seen = set()
    for _, waypoint, first, last in lengths:
        there, back = from_source[first][1][waypoint], to_target[last][1][waypoint]
        path = (source, *there, *reversed(back[:-1]), target)
        if path not in seen and len(set(path)) == len(path):
            seen.add(path)
            yield path


def _trees(network: Network, end: str, inside: Any, links_off: NDArray[np.bool_]) -> dict[str, _Tree]:
    """Shortest ways from each neighbour of an end by whose link the distance is kept; their lengths have that
    link in them.
    """
    found = {}
    for neighbour in network.graph[end]:
        number = network.link_between(end, neighbour)
        if links_off[number] and neighbour in inside:
            lengths, ways = nx.single_source_dijkstra(inside, neighbour, weight="length_km")
            first_km = network.links[number].length_km
            found[neighbour] = ({node: first_km + far for node, far in lengths.items()}, ways)
    return found
