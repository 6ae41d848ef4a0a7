"""k paths that keep a distance: the exact search against all sets, the heuristics against that search."""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import pytest

from gauntlet.errors import UserError
from gauntlet.geography import compared, exact, iwpsp, methods, mlw, packaged
from gauntlet.geography.network import Link, Network, Path
from gauntlet.geography.separation import Separation
from gauntlet.geography.sphere import Place
from gauntlet.geography.wanted import Wanted

from .made import all_paths, best, drawn, keeps, network, within

Heuristic = Callable[[Network, str, str, Wanted], list[Path]]
HEURISTICS: dict[str, Heuristic] = {"iwpsp": iwpsp.paths, "mlw": mlw.paths}

WANTED = [
    Wanted(2, 150.0),
    Wanted(3, 100.0),
    Wanted(2, 300.0, stretch_hops=1),
    Wanted(2, 100.0, skew_s=0.004),
    Wanted(3, 50.0, stretch_hops=2, skew_s=0.01),
    Wanted(1, 500.0),
    Wanted(2, 0.0, stretch_hops=0),
    # So little is asked for that a way with a loop in it would do.
    Wanted(4, 0.0),
]


@pytest.mark.parametrize("wanted", WANTED, ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_the_exact_search_finds_the_least_sum(seed: int, wanted: Wanted) -> None:
    made = drawn(seed, nodes=6, share=0.5)
    found = exact.paths(made, "n0", "n3", wanted)
    least = best(made, "n0", "n3", wanted)
    if least is None:
        assert found == []
    else:
        assert keeps(made, wanted, found)
        assert sum(map(made.length_km, found)) == pytest.approx(least)


@pytest.mark.parametrize(("count", "nodes"), [(2, 6), (3, 5)])
@pytest.mark.parametrize("seed", range(8))
def test_the_farthest_paths_are_as_far_apart_as_any_set(seed: int, count: int, nodes: int) -> None:
    made = drawn(seed, nodes, share=0.5)
    separation = Separation(made, "n0", "n3")
    apart_km, found = exact.farthest_apart(made, "n0", "n3", Wanted(count, 0.0))
    sets = combinations(all_paths(made, "n0", "n3"), count)
    assert apart_km == max(separation.least_km(paths) for paths in sets)
    assert separation.least_km(found) == apart_km
    assert exact.farthest_apart(made, "n0", "n3", Wanted(count, apart_km + 0.1)) == (0.0, [])


@pytest.mark.parametrize("wanted", WANTED, ids=str)
@pytest.mark.parametrize("name", HEURISTICS)
def test_what_a_heuristic_finds_is_as_wanted(name: str, wanted: Wanted) -> None:
    for seed in range(30):
        made = drawn(seed, nodes=6, share=0.5)
        found = HEURISTICS[name](made, "n0", "n3", wanted)
        assert found[0] == made.shortest("n0", "n3")
        if len(found) == wanted.paths:
            assert keeps(made, wanted, found)
            least = sum(map(made.length_km, exact.paths(made, "n0", "n3", wanted)))
            assert sum(map(made.length_km, found)) >= least * (1 - 1e-12)
        else:
            assert keeps(made, Wanted(len(found), wanted.apart_km, wanted.stretch_hops, wanted.skew_s), found)


@pytest.mark.parametrize("name", HEURISTICS)
def test_a_heuristic_finds_most_of_what_there_is(name: str) -> None:
    wanted = Wanted(2, 150.0)
    there = [made for seed in range(40) if exact.paths(made := drawn(seed, 7, 0.4), "n0", "n3", wanted)]
    found = [made for made in there if len(HEURISTICS[name](made, "n0", "n3", wanted)) == 2]
    assert len(there) > 20
    assert len(found) >= 0.8 * len(there)


def test_where_the_shortest_path_is_in_the_way_only_the_exact_search_finds_two() -> None:
    """Both heuristics keep the shortest path, and here no path is apart from it."""
    trap = network(
        {"s": (0, 0), "a": (0.5, 1), "b": (-0.5, 2), "c": (3, 2), "d": (-3, 1), "t": (0, 3)},
        [("s", "a"), ("a", "b"), ("b", "t"), ("s", "d"), ("d", "b"), ("a", "c"), ("c", "t")],
    )
    wanted = Wanted(2, 50.0)
    assert set(exact.paths(trap, "s", "t", wanted)) == {("s", "a", "c", "t"), ("s", "d", "b", "t")}
    for heuristic in HEURISTICS.values():
        assert heuristic(trap, "s", "t", wanted) == [("s", "a", "b", "t")]


def test_a_better_set_is_found_after_a_worse_one_with_the_shortest_path_in_it() -> None:
    """A bound that counts a path too many would cut the better set off."""
    trap = network(
        {"s": (0, 0), "a": (0.5, 1), "b": (-0.5, 2), "c": (3, 2), "d": (-3, 1), "e": (6, 1.5), "t": (0, 3)},
        [
            *[("s", "a"), ("a", "b"), ("b", "t"), ("s", "d"), ("d", "b"), ("a", "c"), ("c", "t")],
            *[("s", "e"), ("e", "t")],
        ],
    )
    wanted = Wanted(2, 50.0)
    north, south, around = ("s", "a", "c", "t"), ("s", "d", "b", "t"), ("s", "e", "t")
    better, worse = ((north, south), (("s", "a", "b", "t"), around))
    sums = [sum(map(trap.length_km, paths)) for paths in (better, worse)]
    assert sums[0] < sums[1] < 3 * min(map(trap.length_km, better))
    assert set(exact.paths(trap, "s", "t", wanted)) == set(better)


def test_a_waypoint_is_reached_without_the_ends_though_the_way_over_them_is_shorter() -> None:
    """From a to z by s and x it is less far than by y, and the link from s to x is too close to m."""
    places: dict[str, tuple[float, float]] = {
        **{"s": (0, 0), "m": (0, 5), "t": (0, 10), "x": (2, 10)},
        **{"a": (3, 0), "y": (6, 0), "z": (6, 10)},
    }
    lengths_km: dict[tuple[str, str], float] = {
        **{("s", "m"): 700, ("m", "t"): 700, ("s", "x"): 1420, ("x", "t"): 300},
        **{("s", "a"): 420, ("a", "y"): 420, ("y", "z"): 9000, ("z", "x"): 560},
    }
    made = with_lengths(places, lengths_km)
    found = iwpsp.paths(made, "s", "t", Wanted(2, 150.0))
    assert found == [("s", "m", "t"), ("s", "a", "y", "z", "x", "t")]


def with_lengths(places: dict[str, tuple[float, float]], lengths_km: dict[tuple[str, str], float]) -> Network:
    nodes = {name: Place(*at) for name, at in places.items()}
    return Network("made", nodes, tuple(Link(ends, km) for ends, km in lengths_km.items()))


def test_waypoints_are_ordered_by_the_whole_length_with_the_first_link() -> None:
    """By a it is 900 km, by b 800; behind the first link by a it is less."""
    made = with_lengths(
        {"s": (0, 0), "m": (0, 3), "t": (0, 6), "a": (4, 3), "b": (-4, 3)},
        {
            **{("s", "m"): 350, ("m", "t"): 350, ("s", "a"): 800, ("a", "t"): 100},
            **{("s", "b"): 300, ("b", "t"): 500},
        },
    )
    assert iwpsp.paths(made, "s", "t", Wanted(2, 200.0)) == [("s", "m", "t"), ("s", "b", "t")]


def test_a_link_from_end_to_end_is_a_path_though_it_is_not_the_shortest() -> None:
    made = with_lengths(
        {"s": (0, 0), "m": (4, 3), "t": (0, 6)}, {("s", "m"): 600, ("m", "t"): 600, ("s", "t"): 2000}
    )
    assert iwpsp.paths(made, "s", "t", Wanted(2, 200.0)) == [("s", "m", "t"), ("s", "t")]


def test_weights_keep_off_the_first_path_where_no_distance_is_wanted() -> None:
    made = network(
        {"s": (0, 0), "m": (0, 3), "t": (0, 6), "a": (3, 3)},
        [("s", "m"), ("m", "t"), ("s", "a"), ("a", "t")],
    )
    assert mlw.paths(made, "s", "t", Wanted(2, 0.0)) == [("s", "m", "t"), ("s", "a", "t")]


def test_a_path_may_visit_every_node() -> None:
    chain = network({"a": (0, 0), "b": (0, 1), "c": (0, 2)}, [("a", "b"), ("b", "c")])
    assert exact.paths(chain, "a", "c", Wanted(1, 0.0)) == [("a", "b", "c")]


@pytest.mark.parametrize("wanted", [Wanted(2, 0.0, skew_s=0.002), Wanted(2, 0.0, stretch_hops=1)], ids=str)
def test_the_farthest_paths_keep_stretch_and_skew(wanted: Wanted) -> None:
    """In some of these networks paths that keep neither are farther apart."""
    bound = 0
    for seed in range(12):
        made = drawn(seed, nodes=6, share=0.5)
        separation = Separation(made, "n0", "n3")
        paths = list(all_paths(made, "n0", "n3"))
        shortest = min(paths, key=made.length_km)
        sets = {pair: separation.km(*pair) for pair in combinations(paths, 2)}
        kept = [km for pair, km in sets.items() if within(made, wanted, pair, shortest)]
        apart_km, _ = exact.farthest_apart(made, "n0", "n3", wanted)
        assert apart_km == max(kept, default=0.0)
        bound += apart_km < max(sets.values())
    assert bound > 0


def test_of_two_free_ways_the_weights_take_the_shorter_one_and_not_that_of_fewer_links() -> None:
    made = network(
        {"s": (0, 0), "m": (0, 3), "t": (0, 6), "a": (3, 1), "b": (3, 5), "far": (-25, 3)},
        [("s", "m"), ("m", "t"), ("s", "a"), ("a", "b"), ("b", "t"), ("s", "far"), ("far", "t")],
    )
    assert mlw.paths(made, "s", "t", Wanted(2, 100.0)) == [("s", "m", "t"), ("s", "a", "b", "t")]


def test_one_path_is_infinitely_far_from_no_other() -> None:
    made = drawn(1)
    assert exact.farthest_apart(made, "n0", "n3", Wanted(1, 0.0)) == (
        float("inf"),
        [made.shortest("n0", "n3")],
    )


def test_a_search_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    few = drawn(1, nodes=5, share=0.5)
    monkeypatch.setattr(exact, "MOST_PATHS", len(list(all_paths(few, "n0", "n3"))))
    assert exact.paths(few, "n0", "n3", Wanted(1, 1.0))
    monkeypatch.setattr(exact, "MOST_PATHS", exact.MOST_PATHS - 1)
    with pytest.raises(UserError, match="paths lead from n0 to n3"):
        exact.paths(few, "n0", "n3", Wanted(1, 1.0))
    monkeypatch.setattr(exact, "MOST_PATHS", 20)
    with pytest.raises(UserError, match="More than 20 paths lead from n0 to n3; bound their stretch"):
        exact.paths(drawn(1, nodes=8, share=1.0), "n0", "n3", Wanted(2, 1.0))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"paths": 0}, "0 paths: ask for one"),
        ({"apart_km": -1.0}, "distance of paths is -1"),
        ({"apart_km": float("nan")}, "distance of paths is nan"),
        ({"stretch_hops": -1}, "stretch is -1"),
        ({"skew_s": -0.1}, "skew is -0.1"),
    ],
)
def test_what_no_paths_can_be_is_refused(given: dict[str, float], words: str) -> None:
    with pytest.raises(UserError, match=words):
        Wanted(**{"paths": 2, "apart_km": 1.0, **given})  # type: ignore[arg-type]


@pytest.mark.parametrize("method", methods.METHODS)
def test_the_study_s_two_cities_have_three_paths_by_each_method(method: str) -> None:
    """Oklahoma City and Washington, D.C., over the network that stands in for the study's."""
    made = packaged.load("us-fibre")
    wanted = Wanted(3, 50.0, stretch_hops=7)
    found = methods.find(made, "Oklahoma City", "Washington DC", method, wanted)
    assert len(found) == 3
    assert all(it.path[0] == "Oklahoma City" and it.path[-1] == "Washington DC" for it in found)
    if method != methods.DISJOINT:
        assert min(it.apart_km or 0 for it in found) >= 50


def test_no_way_and_no_set_are_sentences() -> None:
    parts = network({"a": (0, 0), "b": (0, 1), "c": (5, 0), "d": (5, 1)}, [("a", "b"), ("c", "d")])
    with pytest.raises(UserError, match="made: no path leads from a to c"):
        methods.find(parts, "a", "c", "iwpsp", Wanted(1, 0.0))
    with pytest.raises(
        UserError, match=r"made has no 2 paths from a to b that keep 1 km; there are none without"
    ):
        methods.find(parts, "a", "b", "exact", Wanted(2, 1.0))
    assert iwpsp.paths(parts, "a", "c", Wanted(1, 0.0)) == []
    assert mlw.paths(parts, "a", "c", Wanted(1, 0.0)) == []
    assert exact.paths(parts, "a", "c", Wanted(1, 0.0)) == []


@pytest.mark.parametrize("method", ["exact", "farthest"])
def test_which_bound_is_too_tight_is_said(method: str) -> None:
    made = packaged.load("us-fibre")

    def asked(wanted: Wanted) -> str:
        with pytest.raises(UserError) as refused:
            methods.find(made, "Oklahoma City", "Washington DC", method, wanted)
        return str(refused.value)

    within = Wanted(3, 5000.0, stretch_hops=7)
    said = re.search(r"5000 km and the bounds; the farthest within them are ([0-9.]+) km", asked(within))
    assert said is not None
    there = replace(within, apart_km=float(said[1]))
    assert methods.find(made, "Oklahoma City", "Washington DC", method, there)
    assert "the farthest" in asked(replace(within, apart_km=there.apart_km + 0.2))
    assert asked(Wanted(3, 0.001, stretch_hops=0)).endswith("so ask for fewer or loosen stretch.")


def test_a_bound_that_was_not_set_is_not_blamed() -> None:
    with pytest.raises(UserError) as refused:
        methods.find(packaged.load("nobel-eu"), "Paris", "Vienna", "exact", Wanted(5, 50.0))
    assert str(refused.value).endswith(
        "that keep 50 km; there are none without a common node, so ask for fewer."
    )


def test_heuristics_are_counted_where_there_is_something_to_find() -> None:
    made = drawn(3, nodes=7, share=0.3)
    wanted = Wanted(2, 400.0, stretch_hops=3)
    sums = {pair: best(made, *pair, wanted) for pair in combinations(made.nodes, 2)}
    there = {pair: least for pair, least in sums.items() if least is not None}
    assert 0 < len(there) < len(sums)
    for it in compared.compare(made, wanted):
        ways = {pair: HEURISTICS[it.method](made, *pair, wanted) for pair in there}
        above = [
            sum(map(made.length_km, ways[pair])) / least - 1
            for pair, least in there.items()
            if len(ways[pair]) == 2
        ]
        assert (it.pairs, it.there, it.found) == (21, len(there), len(above))
        assert it.longer == pytest.approx(sum(above) / len(above))
    (nothing, _) = compared.compare(made, Wanted(2, 1e5, stretch_hops=3))
    assert (nothing.there, nothing.found, nothing.longer) == (0, 0, None)
