"""Node-disjoint paths of the least total length, by successive shortest paths.

J. W. Suurballe, Disjoint paths in a network, Networks 4(2), 1974; in the form of R. Bhandari, Survivable
Networks (1999): each node is an entrance and an exit with one arc between them, arcs that a path has taken
are turned round, and shortest paths may go back over them. Lengths are whole millimetres, so that sums are
exact and no circle of arcs is negative by rounding.
"""

from itertools import pairwise
from typing import Any

import networkx as nx

from gauntlet.errors import UserError
from gauntlet.geography.network import Network, Path

_IN, _OUT = "in", "out"


def paths(network: Network, source: str, target: str, count: int) -> list[Path]:
    """So many paths without a common node besides the ends, the shortest first.

    Raises UserError where there are fewer.
    """
    if count < 1:
        raise UserError(f"{count} paths: ask for one at least.")
    residual = _split(network)
    begin, end = (source, _OUT), (target, _IN)
    used: set[tuple[Any, Any]] = set()
    for number in range(count):
        try:
            way = nx.bellman_ford_path(residual, begin, end, weight="length_mm")
        except nx.NetworkXNoPath:
            raise UserError(
                f"{network.name} has {number} node-disjoint paths from {source} to {target}, not {count}; "
                f"ask for {number}."
            ) from None
        for arc in pairwise(way):
            length_mm = residual.edges[arc]["length_mm"]
            residual.remove_edge(*arc)
            if arc[::-1] in used:
                used.remove(arc[::-1])
            else:
                used.add(arc)
            residual.add_edge(*arc[::-1], length_mm=-length_mm)
    after = {first: second for first, second in used if first != begin}
    firsts = [second for first, second in used if first == begin]
    found = [_walked(source, first, target, after) for first in firsts]
    return sorted(found, key=lambda path: (network.length_km(path), path))


def _split(network: Network) -> Any:
    arcs = nx.DiGraph()
    for node in network.nodes:
        arcs.add_edge((node, _IN), (node, _OUT), length_mm=0)
    for link in network.links:
        for first, second in (link.ends, link.ends[::-1]):
            arcs.add_edge((first, _OUT), (second, _IN), length_mm=round(link.length_km * 1e6))
    return arcs


def _walked(source: str, first: Any, target: str, after: dict[Any, Any]) -> Path:
    path, at = [source], first
    while at != (target, _IN):
        path.append(at[0])
        at = after[after[at]]
    return (*path, target)
