"""A routing that converges: ways over what is up, and the changes of routes that a plan has of them."""

from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import networkx as nx
import pytest

from gauntlet.errors import UserError
from gauntlet.experiment.expand import expand
from gauntlet.experiment.load import parse_experiment
from gauntlet.experiment.plans import plan_run
from gauntlet.geography import converging, methods, packaged
from gauntlet.geography.challenges import outages, profiles
from gauntlet.geography.network import Network
from gauntlet.geography.network import Path as MapPath
from gauntlet.geography.told import told
from gauntlet.geography.wanted import Wanted
from tests.experiment.test_map_network import name, runs
from tests.experiment.test_own_network import hops
from tests.geography import made

AFTER_S = 3.0
NASHVILLE = 'challenge = "nashville"\nmethod = "disjoint"\n'


def drawn(seed: int) -> tuple[Network, list[MapPath], outages.Outages]:
    """A network, two ways between two of its nodes, and outages of nodes and links."""
    random = Random(seed)
    network = made.drawn(seed, nodes=9, share=0.3)
    first, last = random.sample(list(network.nodes), 2)
    all_ways = sorted(nx.all_simple_paths(network.graph, first, last, cutoff=5))
    paths = [tuple(way) for way in random.sample(all_ways, min(2, len(all_ways)))]

    def when() -> tuple[tuple[float, float], ...]:
        begin_s = round(random.uniform(1, 60), 3)
        return ((begin_s, round(begin_s + random.uniform(0.5, 30), 3)),)

    nodes = {node: when() for node in random.sample(list(network.nodes), 2) if node not in (first, last)}
    links = {link.ends: when() for link in random.sample(network.links, len(network.links) // 2)}
    return network, paths, outages.outages(network, nodes, links)


def ways_at(turns: list[converging.Turn], paths: list[MapPath], moment_s: float) -> list[MapPath]:
    along = list(paths)
    for turn in turns:
        if turn.at_s <= moment_s:
            along[turn.path] = turn.way
    return along


@pytest.mark.parametrize("seed", range(60))
def test_each_way_is_the_shortest_over_what_was_up(seed: int) -> None:
    network, paths, down = drawn(seed)
    turns = converging.turns(network, paths, down, AFTER_S)
    assert [turn.at_s for turn in turns] == sorted(turn.at_s for turn in turns)
    moments = down.changes_s()
    for moment_s in (*moments, *((a + b) / 2 for a, b in pairwise(moments))):
        left = network.graph.copy()
        left.remove_edges_from(down.at(moment_s)[1])
        for path, way in zip(paths, ways_at(turns, paths, round(moment_s + AFTER_S, 9)), strict=True):
            assert len(set(way)) == len(way)
            if all(left.has_edge(*hop) for hop in pairwise(path)):
                assert way == path
            elif nx.has_path(left, path[0], path[-1]):
                shortest_km = nx.dijkstra_path_length(left, path[0], path[-1], weight="length_km")
                assert all(left.has_edge(*hop) for hop in pairwise(way))
                assert network.length_km(way) == pytest.approx(shortest_km)


def test_paths_turn_and_come_back() -> None:
    kinds = {"turned": 0, "back": 0, "nowhere": 0}
    for seed in range(60):
        network, paths, down = drawn(seed)
        turns = converging.turns(network, paths, down, AFTER_S)
        kinds["turned"] += any(turn.way != paths[turn.path] for turn in turns)
        kinds["back"] += any(turn.way == paths[turn.path] for turn in turns)
        for moment_s in down.changes_s():
            usable = converging.links_up(network, down, moment_s)
            kinds["nowhere"] += any(converging.way_over(network, path, usable) is None for path in paths)
    assert min(kinds.values()) > 5, kinds


def routed(run: dict[str, Any], moment_s: float) -> dict[str, Any]:
    """The run with the routes of a moment."""
    routes = {(it["node"], it["to"]): it for it in run["network"]["routes"]}
    for it in run["route_changes"]:
        if it["at_s"] <= moment_s:
            routes[it["node"], it["to"]] = {key: value for key, value in it.items() if key != "at_s"}
    return {**run, "network": {**run["network"], "routes": list(routes.values())}}


@pytest.mark.parametrize("method", ["iwpsp", "disjoint"])
def test_routes_of_a_plan_lead_along_the_ways_of_each_moment(method: str) -> None:
    (run,) = runs(f'challenge = "nashville"\nmethod = "{method}"\nconverges_after = "5s"')
    network = packaged.load("us-fibre")
    found = methods.find(network, "Oklahoma City", "Washington DC", method, Wanted(3, 50.0))
    paths = [it.path for it in found]
    turns = converging.turns(network, paths, profiles.outages("nashville", network), 5.0)
    for moment_s in (0, 24.9, 25, 44.9, 45, 65, 85, 104.9, 105, 130):
        for i, way in enumerate(ways_at(turns, paths, moment_s), start=1):
            nodes = ["client", *map(name, way), "server"]
            assert hops(routed(run, moment_s), "client", f"10.{i}.2.1") == nodes
            assert hops(routed(run, moment_s), "server", f"10.{i}.1.1") == nodes[::-1]
    there = {node["name"] for node in run["network"]["nodes"] if not node.get("switch")}
    assert there == {"client", "server", *(name(node) for way in ways_at([], paths, 0) for node in way)} | {
        name(node) for turn in turns for node in turn.way
    }
    assert run["route_changes"]


def test_a_plan_without_it_has_neither_changes_nor_other_nodes() -> None:
    (pinned,) = runs(NASHVILLE)
    (converges,) = runs(NASHVILLE + 'converges_after = "5s"')
    assert "route_changes" not in pinned
    apart = ("route_changes", "network", "timeline", "seed")
    kept = {key: value for key, value in converges.items() if key not in apart}
    assert kept == {key: value for key, value in pinned.items() if key not in apart}
    for key in ("nodes", "links", "addresses"):
        assert [it for it in pinned["network"][key] if it not in converges["network"][key]] == []


@pytest.mark.parametrize(
    ("method", "challenge", "pinned", "converging"),
    [("disjoint", "nashville", 18, 21), ("iwpsp", "nashville", 19, 20), ("iwpsp", "central", 19, 30)],
)
def test_routers_that_us_fibre_needs(method: str, challenge: str, pinned: int, converging: int) -> None:
    for more, routers in (("", pinned), ('converges_after = "5s"', converging)):
        (run,) = runs(f'challenge = "{challenge}"\nmethod = "{method}"\n{more}')
        nodes = [it for it in run["network"]["nodes"] if not it.get("switch")]
        assert len(nodes) - len(("client", "server")) == routers


def test_it_is_an_axis() -> None:
    fast, slow = runs(NASHVILLE, 'network.converges_after = ["200ms", "5s"]')
    assert min(it["at_s"] for it in fast["route_changes"]) == 20.2
    assert min(it["at_s"] for it in slow["route_changes"]) == 25.0


def test_it_is_refused_where_nothing_fails() -> None:
    with pytest.raises(UserError, match="'converges_after' means nothing where nothing fails; add challenge"):
        runs('converges_after = "5s"')


def test_a_path_stays_where_no_way_is_left() -> None:
    network = made.network(
        {"a": (40, -100), "b": (40, -98), "c": (41, -99)}, [("a", "b"), ("a", "c"), ("c", "b")]
    )
    down = outages.outages(network, {}, {("a", "b"): ((10.0, 30.0),), ("a", "c"): ((20.0, 40.0),)})
    turns = converging.turns(network, [("a", "b")], down, 1.0)
    assert turns == [
        converging.Turn(11.0, 0, ("a", "c", "b")),
        converging.Turn(31.0, 0, ("a", "b")),
    ]


def test_a_run_that_is_kept_and_read_again_has_the_same_plan() -> None:
    text = (
        '[experiment]\nname = "map"\nrepetitions = 1\n[network]\nmap = "us-fibre"\nfrom = "Oklahoma City"\n'
        f'to = "Washington DC"\nrate = "1Mbit/s"\n{NASHVILLE}converges_after = "5s"\n[matrix]\n'
        'protocols = ["udp"]\n[workload]\napp = "cbr"\nrate = "100kbit/s"\nduration = "1min"\n'
    )
    (spec,) = expand(parse_experiment(text, "map.toml", Path()))
    assert plan_run(type(spec).from_json(spec.to_json())) == plan_run(spec)


def test_a_map_is_told_the_ways_that_paths_take_and_until_when() -> None:
    network = packaged.load("us-fibre")
    found = methods.find(network, "Oklahoma City", "Washington DC", "disjoint", Wanted(3, 50.0))
    paths = [it.path for it in found]
    (first, *_, last) = told(network, paths, profiles.challenge("nashville"), 5.0)["paths"]
    when = [(it["from_s"], it["to_s"]) for it in first["detours"]]
    assert when == [(25.0, 45.0), (65.0, 85.0), (105.0, 125.0)]
    turns = converging.turns(network, paths, profiles.outages("nashville", network), 5.0)
    assert [tuple(it["nodes"]) for it in last["detours"]] == [
        turn.way for turn in turns if turn.path == 2 and turn.way != paths[2]
    ]
    assert all("detours" not in it for it in told(network, paths, profiles.challenge("nashville"))["paths"])
