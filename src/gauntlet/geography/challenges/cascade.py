"""Overload that spreads: nodes fail, ways go round them, and whoever then carries too much fails next.

The model of A. E. Motter and Y.-C. Lai, Cascade-based attacks on complex networks (Physical Review E 66,
065102, 2002): a node's load is the number of shortest paths through it, one between each two nodes, its own
among them; it stands up to (1 + tolerance) times its load in the whole network.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx

from gauntlet.errors import UserError
from gauntlet.geography.challenges.outages import Outages, outages
from gauntlet.geography.network import Network

_ROUNDING = 1e-9
"""Loads are sums of parts of paths: a share below which they are the same."""


@dataclass(frozen=True)
class Cascade:
    """Nodes that fail at first, and those that fail after them, round by round; all come back at the end.

    Raises UserError for what is no cascade.
    """

    first: Sequence[str]
    tolerance: float
    """What a node can carry beyond its load: 0.2 is a fifth."""
    from_s: float
    round_s: float
    """From one round of failures to the next."""
    to_s: float

    def __post_init__(self) -> None:
        if not self.first:
            raise UserError("A cascade needs a node that fails first.")
        if not self.tolerance >= 0:
            raise UserError(f"The tolerance is {self.tolerance:g}; give 0 or more.")
        if not (0 <= self.from_s < self.to_s and self.round_s > 0):
            raise UserError(
                f"A cascade from {self.from_s:g} s to {self.to_s:g} s with rounds of {self.round_s:g} s: let "
                "it begin at 0 or later and end after that, and let rounds take more than 0 s."
            )

    def rounds(self, network: Network) -> list[list[str]]:
        """Which nodes fail in each round, from the first to the one after which the rest stands."""
        graph = network.graph.copy()
        stands = {name: (1 + self.tolerance) * load for name, load in _loads(graph).items()}
        found = [sorted({network.node(name) for name in self.first})]
        while found[-1]:
            graph.remove_nodes_from(found[-1])
            loads = _loads(graph)
            found.append([name for name in graph if loads[name] > stands[name] * (1 + _ROUNDING)])
        return found[:-1]

    def outages(self, network: Network) -> Outages:
        """When nodes and links are down."""
        starts_s = {
            name: self.from_s + number * self.round_s
            for number, names in enumerate(self.rounds(network))
            for name in names
        }
        return outages(
            network,
            {name: ((start_s, self.to_s),) for name, start_s in starts_s.items() if start_s < self.to_s},
        )


def _loads(graph: nx.Graph) -> dict[str, float]:
    """Shortest paths by length through each node, those that begin or end there with them."""
    return dict(nx.betweenness_centrality(graph, normalized=False, weight="length_km", endpoints=True))
