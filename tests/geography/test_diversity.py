"""Total graph geodiversity: paths one by one as far apart as they can be, and the number from them."""

import math
from itertools import combinations

import pytest

from gauntlet.geography import diversity
from gauntlet.geography.separation import Separation

from .made import all_paths, drawn, network


@pytest.mark.parametrize("seed", range(10))
def test_each_path_is_as_far_from_those_before_it_as_a_path_can_be(seed: int) -> None:
    made = drawn(seed, nodes=6, share=0.5)
    separation = Separation(made, "n0", "n3")
    found = diversity.farthest(made, "n0", "n3", 3)
    assert found[0] == (made.shortest("n0", "n3"), math.inf)
    for place in range(1, len(found)):
        before = [path for path, _ in found[:place]]
        km = {
            path: min(separation.km(path, other) for other in before) for path in all_paths(made, "n0", "n3")
        }
        most = max(km.values())
        assert found[place][1] == pytest.approx(most)
        shortest = min((path for path in km if km[path] == most), key=made.length_km)
        assert found[place][0] == shortest


def test_a_chain_has_none_and_a_ring_has_some() -> None:
    places = {"a": (0.0, 0.0), "b": (0.0, 2.0), "c": (2.0, 2.0), "d": (2.0, 0.0)}
    chain = network(places, [("a", "b"), ("b", "c"), ("c", "d")])
    assert diversity.total(chain) == 0
    ring = network(places, [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
    assert 0 < diversity.total(ring) < 1
    pairs = [diversity.effective(ring, *pair) for pair in combinations(places, 2)]
    assert diversity.total(ring) == pytest.approx(sum(pairs) / 6)
    apart_km = diversity.farthest(ring, "a", "c", 3)[1][1]
    assert diversity.effective(ring, "a", "c") == pytest.approx(1 - math.exp(-apart_km / 100))
    wide = [diversity.effective(ring, *pair, scale_km=1000.0) for pair in combinations(places, 2)]
    assert diversity.total(ring, scale_km=1000.0) == pytest.approx(sum(wide) / 6)
    assert diversity.total(ring, scale_km=1000.0) < diversity.total(ring)
    assert diversity.effective(ring, "a", "c", scale_km=apart_km) == pytest.approx(1 - 1 / math.e)


def test_parts_that_no_path_joins_have_none() -> None:
    parts = network({"a": (0, 0), "b": (0, 1), "c": (5, 0), "d": (5, 1)}, [("a", "b"), ("c", "d")])
    assert diversity.effective(parts, "a", "c") == 0


def test_a_third_path_counts_in_the_total() -> None:
    three = network(
        {"s": (0, 0), "t": (0, 4), "a": (1, 2), "b": (-1, 2), "c": (3, 2)},
        [("s", "a"), ("a", "t"), ("s", "b"), ("b", "t"), ("s", "c"), ("c", "t")],
    )
    pairs = list(combinations(three.nodes, 2))
    for paths in (2, 3):
        each = [diversity.effective(three, *pair, paths=paths, scale_km=500.0) for pair in pairs]
        assert diversity.total(three, paths, 500.0) == pytest.approx(sum(each) / len(pairs))
    assert diversity.total(three, 3, 500.0) > diversity.total(three, 2, 500.0) > 0


def test_half_a_kilometre_farther_is_farther() -> None:
    made = network(
        {"s": (0, 0), "t": (0, 4), "near": (2.0, 2), "far": (2.005, 2)},
        [("s", "t"), ("s", "near"), ("near", "t"), ("s", "far"), ("far", "t")],
    )
    assert diversity.farthest(made, "s", "t", 2)[1][0] == ("s", "far", "t")
