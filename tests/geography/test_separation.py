"""Distances of paths: by the definition, on a street grid, and as what keeps a path off links."""

import math
from itertools import combinations, pairwise, product

import numpy as np
import pytest

from gauntlet.geography import sphere
from gauntlet.geography.network import Network, Path
from gauntlet.geography.separation import Separation

from .made import all_paths, drawn, network

DEGREE_KM = math.radians(1) * sphere.EARTH_RADIUS_KM

LADDER = network(
    {"s": (0, 0), "a": (1, 1), "b": (1, 3), "c": (-2, 1), "d": (-2, 3), "t": (0, 4)},
    [("s", "a"), ("a", "b"), ("b", "t"), ("s", "c"), ("c", "d"), ("d", "t"), ("a", "c"), ("s", "t")],
)


def by_definition_km(of: Network, first: Path, second: Path) -> float:
    """Least distance of a node of either from a link of the other, without the ends."""

    def one_way(nodes: Path, links: Path) -> float:
        found = [math.inf]
        for node, (start, end) in product(nodes[1:-1], pairwise(links)):
            vectors = [of.nodes[name].vector[None] for name in (node, start, end)]
            found.append(float(sphere.to_arcs_km(*vectors)[0, 0]))
        return min(found)

    return 0.0 if first == second else min(one_way(first, second), one_way(second, first))


def test_two_ways_round_are_as_far_apart_as_their_nodes_from_the_others_links() -> None:
    separation = Separation(LADDER, "s", "t")
    north, south, straight = ("s", "a", "b", "t"), ("s", "c", "d", "t"), ("s", "t")
    assert separation.km(north, straight) == pytest.approx(DEGREE_KM, rel=1e-3)
    assert separation.km(south, straight) == pytest.approx(2 * DEGREE_KM, rel=1e-3)
    # From a, at (1, 1), to the link from s at (0, 0) to c at (-2, 1).
    assert separation.km(north, south) == pytest.approx(math.sqrt(2) * DEGREE_KM, rel=1e-2)
    assert separation.least_km([north, south, straight]) == separation.km(north, straight)
    assert separation.least_km([north]) == math.inf


def test_paths_with_a_node_in_common_are_not_apart() -> None:
    separation = Separation(LADDER, "s", "t")
    assert separation.km(("s", "a", "b", "t"), ("s", "c", "a", "b", "t")) == 0
    assert separation.km(("s", "t"), ("s", "t")) == 0
    assert separation.km(("s", "a", "b", "t"), ("s", "a", "b", "t")) == 0


@pytest.mark.parametrize("seed", range(12))
def test_distances_are_those_of_the_definition(seed: int) -> None:
    made = drawn(seed, nodes=6, share=0.4)
    separation = Separation(made, "n0", "n3")
    paths = list(all_paths(made, "n0", "n3"))
    for first, second in combinations(paths, 2):
        km = separation.km(first, second)
        assert km == pytest.approx(by_definition_km(made, first, second))
        assert km == separation.km(second, first)


@pytest.mark.parametrize("seed", range(6))
def test_paths_are_as_far_apart_as_the_closest_of_their_links(seed: int) -> None:
    made = drawn(seed, nodes=6, share=0.4)
    separation = Separation(made, "n0", "n3")
    between_km = separation.between_links_km()
    assert np.array_equal(between_km, between_km.T)
    for first, second in combinations(all_paths(made, "n0", "n3"), 2):
        one, other = made.links_of(first), made.links_of(second)
        assert between_km[np.ix_(one, other)].min() == separation.km(first, second)


def test_a_link_from_end_to_end_is_not_apart_from_itself() -> None:
    assert not np.diag(Separation(LADDER, "s", "t").between_links_km()).any()
