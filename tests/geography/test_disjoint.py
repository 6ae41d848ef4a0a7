"""Node-disjoint paths: the least sum of lengths, held against every set of paths of small networks."""

from itertools import chain, combinations

import networkx as nx
import pytest

from gauntlet.errors import UserError
from gauntlet.geography import disjoint, packaged
from gauntlet.geography.network import Network, Path

from .made import all_paths, drawn, network


def least_km(of: Network, source: str, target: str, count: int) -> float | None:
    """By trying all sets."""

    def apart(paths: tuple[Path, ...]) -> bool:
        inner = list(chain.from_iterable(path[1:-1] for path in paths))
        return len(set(inner)) == len(inner)

    sets = combinations(all_paths(of, source, target), count)
    return min((sum(map(of.length_km, paths)) for paths in sets if apart(paths)), default=None)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("seed", range(20))
def test_no_set_of_disjoint_paths_is_shorter(seed: int, count: int) -> None:
    made = drawn(seed, nodes=7, share=0.35)
    least = least_km(made, "n0", "n3", count)
    if least is None:
        with pytest.raises(UserError, match=f"node-disjoint paths from n0 to n3, not {count}"):
            disjoint.paths(made, "n0", "n3", count)
        return
    found = disjoint.paths(made, "n0", "n3", count)
    assert sum(map(made.length_km, found)) == pytest.approx(least, rel=1e-9)
    inner = list(chain.from_iterable(path[1:-1] for path in found))
    assert len(inner) == len(set(inner))
    assert [made.length_km(path) for path in found] == sorted(map(made.length_km, found))


def test_both_answers_occur() -> None:
    """The test above tries networks that have three such paths and networks that have not."""
    found = {least_km(drawn(seed, nodes=7, share=0.35), "n0", "n3", 3) is None for seed in range(20)}
    assert found == {True, False}


def test_the_shortest_path_is_given_up_where_it_is_in_the_way() -> None:
    """The example that greedy searches fail: the shortest path takes a node of either of the two."""
    trap = network(
        {"s": (0, 0), "a": (0.5, 1), "b": (-0.5, 2), "c": (3, 2), "d": (-3, 1), "t": (0, 3)},
        [("s", "a"), ("a", "b"), ("b", "t"), ("s", "d"), ("d", "b"), ("a", "c"), ("c", "t")],
    )
    assert trap.shortest("s", "t") == ("s", "a", "b", "t")
    assert set(disjoint.paths(trap, "s", "t", 2)) == {("s", "a", "c", "t"), ("s", "d", "b", "t")}


def test_a_link_from_end_to_end_is_one_path() -> None:
    triangle = network({"s": (0, 0), "a": (1, 1), "t": (0, 2)}, [("s", "t"), ("s", "a"), ("a", "t")])
    assert disjoint.paths(triangle, "s", "t", 2) == [("s", "t"), ("s", "a", "t")]
    with pytest.raises(UserError, match="made has 2 node-disjoint paths from s to t, not 3; ask for 2"):
        disjoint.paths(triangle, "s", "t", 3)
    with pytest.raises(UserError, match="0 paths: ask for one"):
        disjoint.paths(triangle, "s", "t", 0)


@pytest.mark.parametrize("name", packaged.NAMES)
def test_packaged_networks_give_as_many_paths_as_there_are(name: str) -> None:
    found = packaged.load(name)
    source, *_, target = found.nodes
    count = len(list(nx.node_disjoint_paths(found.graph, source, target)))
    assert len(disjoint.paths(found, source, target, count)) == count
    with pytest.raises(UserError, match=f"has {count} node-disjoint paths"):
        disjoint.paths(found, source, target, count + 1)
