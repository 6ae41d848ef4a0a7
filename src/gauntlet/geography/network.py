"""A network on a map: places, the links between them, and the ways along those links."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from gauntlet.errors import UserError
from gauntlet.geography import fibre, sphere
from gauntlet.geography.sphere import Place

Path = tuple[str, ...]
"""A way through a network: the names of its nodes from one end to the other, none of them twice."""


@dataclass(frozen=True)
class Link:
    """A cable between two nodes, drawn as an arc of a great circle."""

    ends: tuple[str, str]
    length_km: float
    """Of the cable, which is longer than the arc."""


@dataclass(frozen=True, eq=False)
class Network:
    """Nodes with places and the links between them, at most one between any two."""

    name: str
    nodes: Mapping[str, Place]
    links: tuple[Link, ...]
    source: str = ""
    """Where it comes from."""
    licence: str = ""
    note: str = ""
    """What else should be known of it."""

    @cached_property
    def graph(self) -> Any:
        """The same for networkx: nodes by name, links with their `number` here and their `length_km`."""
        graph = nx.Graph()
        graph.add_nodes_from(self.nodes)
        for number, link in enumerate(self.links):
            graph.add_edge(*link.ends, number=number, length_km=link.length_km)
        return graph

    @cached_property
    def lengths_km(self) -> NDArray[np.float64]:
        """Of the links' cables."""
        return np.array([link.length_km for link in self.links], dtype=np.float64)

    @cached_property
    def place_of(self) -> Mapping[str, int]:
        """In which row of `to_links_km` a node stands."""
        return {name: row for row, name in enumerate(self.nodes)}

    @cached_property
    def ends_of(self) -> NDArray[np.int64]:
        """The two ends of each link, as rows of `to_links_km`."""
        return np.array([[self.place_of[end] for end in link.ends] for link in self.links], dtype=np.int64)

    @cached_property
    def vectors(self) -> sphere.Vectors:
        """Where the nodes are."""
        return np.array([place.vector for place in self.nodes.values()])

    @cached_property
    def to_links_km(self) -> NDArray[np.float64]:
        """How far each node (a row) is from each link (a column)."""
        starts, ends = self.vectors[self.ends_of[:, 0]], self.vectors[self.ends_of[:, 1]]
        return sphere.to_arcs_km(self.vectors, starts, ends)

    def node(self, named: str) -> str:
        """The name of a node as the network has it, in any case. Raises UserError naming the nearest."""
        folded = {name.casefold(): name for name in self.nodes}
        if named.casefold() in folded:
            return named if named in self.nodes else folded[named.casefold()]
        close = difflib.get_close_matches(named.casefold(), folded, n=1, cutoff=0.5)
        hint = f"did you mean '{folded[close[0]]}'?" if close else f"there are {', '.join(self.nodes)}."
        raise UserError(f"{self.name} has no node '{named}'; {hint}")

    def two(self, source: str, target: str) -> tuple[str, str]:
        """Two different nodes as the network names them."""
        first, second = self.node(source), self.node(target)
        if first == second:
            raise UserError(f"A path leads from one node to another one; both ends are '{first}'.")
        return first, second

    def link_between(self, first: str, second: str) -> int:
        """The number of the link between two nodes that have one."""
        return int(self.graph.edges[first, second]["number"])

    def links_of(self, path: Path) -> list[int]:
        """The numbers of the links along a path."""
        return [self.link_between(first, second) for first, second in pairwise(path)]

    def length_km(self, path: Path) -> float:
        """Of the cables along a path."""
        return float(sum(self.links[number].length_km for number in self.links_of(path)))

    def delay_s(self, path: Path) -> float:
        """One way along a path, through fibre alone."""
        return fibre.delay_s(self.length_km(path))

    def shortest(
        self,
        source: str,
        target: str,
        *,
        weights: Sequence[float] | NDArray[np.float64] | None = None,
        usable: NDArray[np.bool_] | None = None,
        without: frozenset[str] = frozenset(),
    ) -> Path | None:
        """The path of the least length, or of the least sum of other weights of links; None: there is none.

        `usable` says of each link whether a path may take it, `without` names nodes that it must not visit.
        """
        weighed = self.lengths_km if weights is None else weights

        def weight(first: str, second: str, link: Mapping[str, Any]) -> float | None:
            number = link["number"]
            hidden = first in without or second in without or not (usable is None or usable[number])
            return None if hidden else float(weighed[number])

        try:
            return tuple(nx.dijkstra_path(self.graph, source, target, weight))
        except nx.NetworkXNoPath:
            return None
