"""Challenges: moments at which nodes and links go down, exact where they can be told, and sampled besides."""

import math
from collections.abc import Callable
from random import Random

import networkx as nx
import pytest

from gauntlet.errors import UserError
from gauntlet.geography import disjoint, packaged, sphere
from gauntlet.geography.challenges import profiles
from gauntlet.geography.challenges.attack import MEASURES, Attack
from gauntlet.geography.challenges.cascade import Cascade
from gauntlet.geography.challenges.circle import Circle, Stage
from gauntlet.geography.challenges.intervals import Intervals, covers
from gauntlet.geography.challenges.outages import Outages, merged, outages
from gauntlet.geography.challenges.storm import Fix, Storm
from gauntlet.geography.compared import HEURISTICS
from gauntlet.geography.network import Network, Path
from gauntlet.geography.sphere import Place
from gauntlet.geography.wanted import Wanted

from .made import drawn, network

DEGREE_KM = math.radians(1) * sphere.EARTH_RADIUS_KM

LINE = network({"a": (0, 0), "b": (0, 2), "c": (0, 5), "d": (0, 9)}, [("a", "b"), ("b", "c"), ("c", "d")])
"""On the equator, so that degrees of longitude are distances."""


def test_a_circle_in_stages_takes_what_it_covers_in_each() -> None:
    circle = Circle(Place(0, 2), (Stage(20, 40, DEGREE_KM), Stage(60, 80, 2.5 * DEGREE_KM)))
    found = circle.outages(LINE)
    assert found.nodes == {"a": ((60, 80),), "b": ((20, 40), (60, 80))}
    both = ((20, 40), (60, 80))
    assert found.links == {("a", "b"): both, ("b", "c"): both}


def test_a_link_is_hit_between_its_nodes() -> None:
    found = Circle(Place(0.5, 7), (Stage(1, 2, DEGREE_KM),)).outages(LINE)
    assert found.nodes == {}
    assert found.links == {("c", "d"): ((1, 2),)}
    assert found.of_path(("d", "c", "b")) == ((1, 2),)
    assert found.of_path(("a", "b")) == ()


def test_a_circle_that_grows_reaches_nodes_one_after_another() -> None:
    found = Circle(Place(0, 0), (Stage(10, 20, 0.0, 10 * DEGREE_KM),)).outages(LINE)
    starts = {name: when[0][0] for name, when in found.nodes.items()}
    assert starts == pytest.approx({"a": 10, "b": 12, "c": 15, "d": 19})
    assert {when[0][1] for when in found.nodes.values()} == {20}
    assert {ends: when[0][0] for ends, when in found.links.items()} == pytest.approx(
        {("a", "b"): 10, ("b", "c"): 12, ("c", "d"): 15}
    )


def test_a_circle_that_shrinks_gives_them_back() -> None:
    found = Circle(Place(0, 0), (Stage(10, 20, 10 * DEGREE_KM, 0.0),)).outages(LINE)
    assert {name: when[0][1] for name, when in found.nodes.items()} == pytest.approx(
        {"a": 20, "b": 18, "c": 15, "d": 11}
    )
    assert {when[0][0] for when in found.nodes.values()} == {10}


def test_a_circle_reaches_its_rim_and_is_drawn_as_large_as_it_gets() -> None:
    assert Stage(0, 1, 5.0).covers(5.0) == (0, 1)
    assert Stage(0, 1, 5.0).covers(5.1) is None
    circle = Circle(Place(0, 0), (Stage(0, 1, 5.0, 9.0), Stage(2, 3, 8.0, 1.0), Stage(4, 5, 7.0)))
    assert [ring.radius_km for ring in circle.rings()] == [9.0, 8.0, 7.0]


def test_a_node_that_is_named_twice_falls_once() -> None:
    assert Cascade(["b", "B"], 9.0, from_s=0, round_s=1, to_s=2).rounds(LINE) == [["b"]]


def test_a_storm_along_the_line_passes_its_nodes() -> None:
    """One degree a second from 5 degrees west, one degree wide on either side."""
    storm = Storm((Fix(0, Place(0, -5), DEGREE_KM), Fix(20, Place(0, 15), DEGREE_KM)))
    found = storm.outages(LINE)
    assert {name: when[0] for name, when in found.nodes.items()} == {
        "a": pytest.approx((4, 6)),
        "b": pytest.approx((6, 8)),
        "c": pytest.approx((9, 11)),
        "d": pytest.approx((13, 15)),
    }
    assert found.links[("c", "d")] == (pytest.approx((9, 15)),)
    assert found.at(5.0) == (["a"], [("a", "b")])
    assert found.at(12.0) == ([], [("c", "d")])


def test_a_storm_half_round_the_earth_reaches_what_lies_behind_its_beginning() -> None:
    """One degree a second from 85 degrees west to 84 east; at its end it is 16 degrees short of the node."""
    behind = network({"x": (0, 100), "y": (0, 110)}, [("x", "y")])
    storm = Storm((Fix(0, Place(0, -85), 27 * DEGREE_KM), Fix(169, Place(0, 84), 1.0)))
    found = storm.outages(behind)
    assert found.nodes == {
        "x": (pytest.approx((158, 169)),),
        "y": (pytest.approx((168, 169)),),
    }
    assert found.links[("x", "y")] == (pytest.approx((158, 169)),)


def test_a_storm_across_a_link_takes_it_and_not_its_nodes() -> None:
    storm = Storm((Fix(0, Place(-5, 7), DEGREE_KM), Fix(10, Place(5, 7), DEGREE_KM)))
    found = storm.outages(LINE)
    assert found.nodes == {}
    assert list(found.links) == [("c", "d")]
    assert found.links[("c", "d")][0] == pytest.approx((4, 6), rel=1e-3)


def test_a_storm_that_stands_still_is_a_circle() -> None:
    here = Place(0, 2)
    stands = Storm((Fix(3, here, 2.5 * DEGREE_KM), Fix(9, here, 1.0)))
    assert stands.outages(LINE) == Circle(here, (Stage(3, 9, 2.5 * DEGREE_KM),)).outages(LINE)


@pytest.mark.parametrize("seed", range(10))
def test_a_storm_takes_what_it_covers_at_each_moment(seed: int) -> None:
    random = Random(seed)
    made = drawn(seed)
    fixes = [
        Fix(10.0 * it, Place(random.uniform(25, 50), random.uniform(-115, -70)), random.uniform(50, 600))
        for it in range(3)
    ]
    found = Storm(fixes).outages(made)
    for moment_s in [random.uniform(0, 20) for _ in range(200)]:
        leg = int(moment_s // 10)
        start, end = fixes[leg].middle.vector, fixes[leg + 1].middle.vector
        turn, share = sphere.angles(start, end), moment_s / 10 - leg
        middle = (math.sin((1 - share) * turn) * start + math.sin(share * turn) * end) / math.sin(turn)
        ends = made.vectors[made.ends_of]
        to_links = sphere.to_arcs_km(middle[None], ends[:, 0], ends[:, 1])[0]
        to_nodes = sphere.EARTH_RADIUS_KM * sphere.angles(made.vectors, middle)
        radius_km = fixes[leg].radius_km
        for name, km in zip(made.nodes, to_nodes, strict=True):
            if abs(km - radius_km) > 1e-6:
                assert covers(found.nodes.get(name, ()), moment_s) == (km < radius_km)
        for link, km in zip(made.links, to_links, strict=True):
            if abs(km - radius_km) > 1e-6:
                assert covers(found.links.get(link.ends, ()), moment_s) == (km < radius_km)


def stepwise(made: Network, first: str, tolerance: float) -> list[set[str]]:
    """Motter and Lai's rounds with loads counted path by path."""

    def loads(graph: nx.Graph) -> dict[str, float]:
        found = dict.fromkeys(graph, 0.0)
        names = list(graph)
        for place, source in enumerate(names):
            for target in names[:place]:
                if nx.has_path(graph, source, target):
                    ways = list(nx.all_shortest_paths(graph, source, target, weight="length_km"))
                    for way in ways:
                        for node in way:
                            found[node] += 1 / len(ways)
        return found

    graph = made.graph.copy()
    most = {name: (1 + tolerance) * load for name, load in loads(graph).items()}
    rounds: list[set[str]] = []
    falling = {first}
    while falling:
        rounds.append(falling)
        graph.remove_nodes_from(falling)
        now = loads(graph)
        falling = {name for name in graph if now[name] > most[name] + 1e-6}
    return rounds


@pytest.mark.parametrize("tolerance", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("seed", range(6))
def test_overload_spreads_as_counted_path_by_path(seed: int, tolerance: float) -> None:
    made = drawn(seed, nodes=10, share=0.2)
    cascade = Cascade(["n0"], tolerance, from_s=20, round_s=5, to_s=33)
    rounds = stepwise(made, "n0", tolerance)
    assert [set(names) for names in cascade.rounds(made)] == rounds
    # Rounds at 20, 25 and 30 s; those after them never come.
    assert cascade.outages(made).nodes == {
        name: ((20 + 5 * number, 33),) for number, names in enumerate(rounds[:3]) for name in names
    }


def test_overload_spreads_in_some_networks_and_not_in_others() -> None:
    counts = [len(stepwise(drawn(seed, nodes=10, share=0.2), "n0", 0.3)) for seed in range(6)]
    assert min(counts) < max(counts)


STAR = network(
    {"hub": (0, 0), "x": (1, 0), "y": (0, 1), "z": (-1, 0), "far": (0, 3), "end": (0, 4)},
    [("hub", "x"), ("hub", "y"), ("hub", "z"), ("y", "far"), ("far", "end")],
)


@pytest.mark.parametrize(
    ("measure", "again", "targets"),
    [
        ("degree", False, ["hub", "far", "y"]),
        ("degree", True, ["hub", "far", "end"]),
        ("betweenness", False, ["hub", "y", "far"]),
        ("closeness", False, ["hub", "y", "far"]),
    ],
)
def test_the_most_central_nodes_fall_first(measure: str, again: bool, targets: list[str]) -> None:
    attack = Attack(3, from_s=10, to_s=30, every_s=8, measure=measure, again=again)
    assert attack.targets(STAR) == targets
    found = attack.outages(STAR)
    assert found.nodes == {name: ((10 + 8 * place, 30),) for place, name in enumerate(targets)}
    assert found.links[("hub", "x")] == ((10, 30),)


def test_centrality_is_of_lengths_and_not_of_links() -> None:
    """From a to d the way by c, e and f is shorter than that by b, which has fewer links."""
    places = {
        "a": (0.0, 0.0),
        "b": (20.0, 2.0),
        "c": (0.0, 1.0),
        "e": (0.0, 2.0),
        "f": (0.0, 3.0),
        "d": (0.0, 4.0),
    }
    made = network(
        places, [("a", "b"), ("b", "d"), ("a", "c"), ("c", "e"), ("e", "f"), ("f", "d"), ("b", "e")]
    )
    for measure in ("betweenness", "closeness"):
        assert Attack(1, from_s=0, to_s=1, measure=measure).targets(made) == ["e"]
    # By links alone b is as central, and comes first by its name.
    assert nx.closeness_centrality(made.graph)["b"] == nx.closeness_centrality(made.graph)["e"]
    by_links = nx.betweenness_centrality(made.graph)
    assert by_links["b"] == pytest.approx(by_links["e"])


def test_a_node_that_would_fall_when_all_come_back_does_not() -> None:
    found = Attack(3, from_s=10, to_s=30, every_s=10, measure="degree").outages(STAR)
    assert found.nodes == {"hub": ((10, 30),), "far": ((20, 30),)}


def test_more_targets_than_nodes_are_all_nodes() -> None:
    assert sorted(Attack(99, from_s=0, to_s=1).targets(STAR)) == sorted(STAR.nodes)
    assert sorted(Attack(99, from_s=0, to_s=1, again=True).targets(STAR)) == sorted(STAR.nodes)
    assert set(MEASURES) == {"betweenness", "closeness", "degree"}


def test_links_fail_with_their_ends_and_challenges_add_up() -> None:
    one = outages(LINE, {"b": ((1, 2),)})
    assert one.links == {("a", "b"): ((1, 2),), ("b", "c"): ((1, 2),)}
    other = outages(LINE, {}, {("b", "c"): ((2, 4),)})
    both = merged(LINE, [one, other])
    assert both.nodes == {"b": ((1, 2),)}
    assert both.links == {("a", "b"): ((1, 2),), ("b", "c"): ((1, 4),)}
    assert both.changes_s() == [1, 2, 4]
    assert both.to_json() == {
        "nodes": [{"node": "b", "down": [{"from_s": 1, "to_s": 2}]}],
        "links": [
            {"ends": ["a", "b"], "down": [{"from_s": 1, "to_s": 2}]},
            {"ends": ["b", "c"], "down": [{"from_s": 1, "to_s": 4}]},
        ],
    }


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: Stage(5, 5, 1.0), "from 5 s to 5 s"),
        (lambda: Stage(-1, 5, 1.0), "from -1 s"),
        (lambda: Stage(0, 5, 1.0, -2.0), "radius -2 km"),
        (lambda: Storm((Fix(0, Place(0, 0), 1.0),)), "two fixes at least"),
        (lambda: Storm((Fix(2, Place(0, 0), 1.0), Fix(2, Place(0, 1), 1.0))), "let times begin at 0"),
        (lambda: Storm((Fix(0, Place(0, 0), 0.0), Fix(2, Place(0, 1), 1.0))), "radius of 0 km"),
        (lambda: Cascade([], 0.1, 0, 1, 2), "needs a node that fails first"),
        (lambda: Cascade(["a"], -0.1, 0, 1, 2), "tolerance is -0.1"),
        (lambda: Cascade(["a"], 0.1, 0, 0, 2), "rounds of 0 s"),
        (lambda: Cascade(["x"], 0.1, 0, 1, 2).rounds(LINE), "no node 'x'"),
        (lambda: Attack(0, 0, 1), "attack on 0 nodes"),
        (lambda: Attack(1, 3, 1), "from 3 s to 1 s"),
        (lambda: Attack(1, 0, 1, measure="size"), "'size' is not known; choose betweenness"),
        (lambda: profiles.outages("nashvile", LINE), "did you mean 'nashville'"),
    ],
)
def test_what_is_no_challenge_is_one_sentence(made: Callable[[], object], words: str) -> None:
    with pytest.raises(UserError) as told:
        made()
    assert words in str(told.value)
    assert str(told.value).endswith((".", "?"))


@pytest.mark.parametrize("name", profiles.PROFILES)
def test_each_profile_takes_something_of_the_network_it_is_for(name: str) -> None:
    made = packaged.load("us-fibre")
    found: Outages = profiles.outages(name, made)
    assert found.links
    whens: list[Intervals] = [*found.nodes.values(), *found.links.values()]
    assert all(0 <= start < end <= 125 for when in whens for start, end in when)


def test_nashville_is_hit_three_times_and_more_of_the_network_each_time() -> None:
    found = profiles.outages("nashville", packaged.load("us-fibre"))
    assert found.nodes["Nashville"] == ((20, 40), (60, 80), (100, 120))
    nodes, links = zip(*((len(down[0]), len(down[1])) for down in map(found.at, (30, 70, 110))), strict=True)
    assert 0 < nodes[0] < nodes[1] < nodes[2]
    assert 0 < links[0] < links[1] < links[2]
    assert found.at(50) == ([], [])


def test_disjoint_paths_all_fail_around_nashville_and_one_that_keeps_its_distance_does_not() -> None:
    """What the dissertation shows, over the network that stands in for its own and with chosen radii."""
    made = packaged.load("us-fibre")
    ends = ("Oklahoma City", "Washington DC")
    down = profiles.outages("nashville", made)

    def failed(paths: list[Path]) -> list[int]:
        return [sum(covers(down.of_path(path), moment_s) for path in paths) for moment_s in (30, 70, 110)]

    assert failed(disjoint.paths(made, *ends, 3)) == [1, 2, 3]
    for heuristic in HEURISTICS.values():
        assert failed(heuristic(made, *ends, Wanted(3, 50.0))) == [0, 2, 2]
