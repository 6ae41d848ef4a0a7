"""An attack on the most central nodes: one after another, the most central first."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import networkx as nx

from gauntlet.errors import UserError
from gauntlet.geography.challenges.outages import Outages, outages
from gauntlet.geography.network import Network


def _betweenness(graph: Any) -> dict[str, float]:
    return dict(nx.betweenness_centrality(graph, weight="length_km"))


def _closeness(graph: Any) -> dict[str, float]:
    return dict(nx.closeness_centrality(graph, distance="length_km"))


def _degree(graph: Any) -> dict[str, float]:
    return {name: float(degree) for name, degree in graph.degree()}


MEASURES: Mapping[str, Callable[[Any], dict[str, float]]] = MappingProxyType(
    {"betweenness": _betweenness, "closeness": _closeness, "degree": _degree}
)
"""Centrality of nodes: paths through them, nearness to all others, links; the first two by length."""


@dataclass(frozen=True)
class Attack:
    """So many nodes fall, each so long after the one before it, and come back at the end.

    Raises UserError for what is no attack.
    """

    count: int
    from_s: float
    to_s: float
    every_s: float = 0.0
    """0: all at once."""
    measure: str = "betweenness"
    again: bool = False
    """Whether the attacker looks anew at what is left after each node."""

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            raise UserError(f"The centrality '{self.measure}' is not known; choose {', '.join(MEASURES)}.")
        if self.count < 1:
            raise UserError(f"An attack on {self.count} nodes: give one at least.")
        if not (0 <= self.from_s < self.to_s and self.every_s >= 0):
            raise UserError(
                f"An attack from {self.from_s:g} s to {self.to_s:g} s, every {self.every_s:g} s: let it "
                "begin at 0 or later and end after that, and let nodes fall 0 s or more after one another."
            )

    def targets(self, network: Network) -> list[str]:
        """The nodes in the order in which they fall; of equally central ones the first by name."""
        graph = network.graph.copy()
        central = MEASURES[self.measure](graph)
        found: list[str] = []
        while len(found) < min(self.count, len(network.nodes)):
            # Sums of fractions: what differs in the tenth digit only does not differ.
            most = max(float(f"{value:.9g}") for value in central.values())
            found.append(min(name for name, value in central.items() if float(f"{value:.9g}") == most))
            graph.remove_node(found[-1])
            if self.again:
                central = MEASURES[self.measure](graph)
            else:
                del central[found[-1]]
        return found

    def outages(self, network: Network) -> Outages:
        """When nodes and links are down."""
        starts_s = {
            name: self.from_s + number * self.every_s for number, name in enumerate(self.targets(network))
        }
        return outages(
            network,
            {name: ((start_s, self.to_s),) for name, start_s in starts_s.items() if start_s < self.to_s},
        )
