"""[network] with a map: paths of geography become links, addresses and outages of a plan."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gauntlet.engine import guest
from gauntlet.errors import UserError
from gauntlet.experiment import own_links
from gauntlet.experiment.expand import expand
from gauntlet.experiment.load import load_experiment, parse_experiment
from gauntlet.experiment.plan_schema import check_plan
from gauntlet.experiment.plans import plan_run
from gauntlet.geography import methods, packaged
from gauntlet.geography.challenges import profiles
from gauntlet.geography.wanted import Wanted
from tests.experiment.test_own_network import hops

EXPERIMENTS = Path(__file__).parents[2] / "experiments"

EXPERIMENT = """
[experiment]
name = "map"
repetitions = 1
[network]
map = "us-fibre"
from = "Oklahoma City"
to = "Washington DC"
rate = "10Mbit/s"
{network}
[matrix]
protocols = ["mptcp-cubic"]
{matrix}
[workload]
app = "bulk"
size = "1MB"
"""


def runs(network: str = "", matrix: str = "", *changes: tuple[str, str]) -> list[dict[str, Any]]:
    text = EXPERIMENT.format(network=network, matrix=matrix)
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    made = [plan_run(spec) for spec in expand(parse_experiment(text, "map.toml", Path()))]
    check_plan(guest.plan(made))
    return made


def name(node: str) -> str:
    return node.lower().replace(". ", "-").replace(" ", "-").replace(".", "")


@pytest.mark.parametrize("method", ["iwpsp", "disjoint"])
def test_each_path_is_that_of_geography(method: str) -> None:
    (run,) = runs(f'method = "{method}"')
    network = packaged.load("us-fibre")
    found = methods.find(network, "Oklahoma City", "Washington DC", method, Wanted(3, 50.0))
    for i, it in enumerate(found, start=1):
        way = ["client", *map(name, it.path), "server"]
        assert hops(run, "client", f"10.{i}.2.1") == way
        assert hops(run, "server", f"10.{i}.1.1") == way[::-1]
    nodes = {node["name"] for node in run["network"]["nodes"] if not node.get("switch")}
    assert nodes == {"client", "server", *(name(node) for it in found for node in it.path)}
    assert (run["flows"][0]["from"], run["flows"][0]["to"]) == ("client", "server")
    delays = [entry["delay_s"] for entry in run["timeline"] if "delay_s" in entry]
    cables = {number for it in found for number in network.links_of(it.path)}
    assert len(delays) == 2 * len(cables)
    assert sum(delays) == pytest.approx(
        sum(2 * network.delay_s(network.links[it].ends) for it in cables), abs=1e-6
    )
    rates = [entry["rate_bps"] for entry in run["timeline"] if "rate_bps" in entry]
    assert rates == [10_000_000] * len(delays)
    longest_s = max(it.delay_s for it in found)
    queues = {entry["queue_limit_bytes"] for entry in run["timeline"] if "queue_limit_bytes" in entry}
    assert queues == {round(10e6 * 2 * longest_s / 8)}


def test_a_challenge_takes_links_down_when_it_does_on_the_map() -> None:
    (run,) = runs('method = "disjoint"\nchallenge = "nashville"')
    network = packaged.load("us-fibre")
    down = profiles.outages("nashville", network)
    wanted = set()
    for it in methods.find(network, "Oklahoma City", "Washington DC", "disjoint", Wanted(3, 50.0)):
        for number in network.links_of(it.path):
            ends = network.links[number].ends
            for begin_s, end_s in down.links.get(ends, ()):
                wanted |= {
                    (at_s, up, name(end)) for at_s, up in ((begin_s, False), (end_s, True)) for end in ends
                }
    found = {(it["at_s"], it["up"], it["link"].partition(">")[2]) for it in run["timeline"] if "up" in it}
    assert wanted
    assert found == wanted


def test_paths_can_be_written_out() -> None:
    network = packaged.load("us-fibre")
    shortest = network.shortest("Oklahoma City", "Washington DC")
    assert shortest is not None
    text = ", ".join(f'"{node.upper()}"' for node in shortest)
    (run,) = runs(f"paths = [[{text}]]")
    assert hops(run, "client", "10.1.2.1") == ["client", *map(name, shortest), "server"]


def test_its_keys_can_be_axes() -> None:
    made = runs(
        "",
        'network.method = ["iwpsp", "disjoint"]\nnetwork.rate = ["1Mbit/s", "10Mbit/s"]',
        ('rate = "10Mbit/s"\n', ""),
    )
    assert len({str(run["network"]) for run in made}) == 2
    rates = [{it["rate_bps"] for it in run["timeline"] if "rate_bps" in it} for run in made]
    assert rates == [{1_000_000}, {10_000_000}] * 2
    assert made[0]["id"] == "mptcp-cubic_method-iwpsp_rate-1Mbits_rep-001"


@pytest.mark.parametrize(
    ("network", "changes", "words"),
    [
        ("", [('rate = "10Mbit/s"\n', "")], "the key 'rate' is missing"),
        ("", [('from = "Oklahoma City"\n', "")], "the key 'from' is missing"),
        ("", [("us-fibre", "us-fiber")], "did you mean 'us-fibre'?"),
        ("", [("Oklahoma City", "Oklahoma")], "did you mean 'Oklahoma City'?"),
        ("", [("Oklahoma City", "Washington DC")], "both ends are 'Washington DC'"),
        ('method = "disjoint"\napart = "50km"', [], "node-disjoint paths keep no 'apart'"),
        ('method = "best"', [], "[network] method: 'best' is not known"),
        ('apart = "50"', [], "[network] apart: the length '50' has no unit"),
        ('apart = "2000km"\nmethod = "exact"\nstretch = 2', [], "has no 3 paths"),
        ("count = 9", [], "iwpsp finds"),
        ('challenge = "flood"', [], "There is no challenge 'flood'"),
        ('method = "iwpsp"\npaths = [["Oklahoma City", "Washington DC"]]', [], "'method' finds paths"),
        (
            'paths = [["Oklahoma City", "Washington DC"]]',
            [],
            "no link from Oklahoma City to Washington DC; there are links to Atlanta, Dallas",
        ),
        (
            'paths = [["Oklahoma City", "Dallas"]]',
            [],
            "path 1 does not lead from Oklahoma City to Washington DC",
        ),
        ("paths = [[]]", [], "path 1 does not lead from Oklahoma City to Washington DC"),
        (
            'challenge = "nashville"\ncount = 2',
            [("us-fibre", "nobel-eu"), ("Oklahoma City", "London"), ("Washington DC", "Athens")],
            "The challenge 'nashville' reaches nothing of NOBEL European network",
        ),
        ('nodes = ["a"]', [], "'nodes' stands beside 'map'"),
        ("set = { a-b = { loss = '1%' } }", [], "'set' is of links by their names"),
    ],
)
def test_what_the_map_does_not_have_is_one_sentence(
    network: str, changes: list[tuple[str, str]], words: str
) -> None:
    with pytest.raises(UserError) as refused:
        runs(network, "", *changes)
    assert str(refused.value).startswith("map.toml: ")
    assert words in str(refused.value)


def test_the_map_is_told_once_with_each_set_of_paths_and_changes_no_seed() -> None:
    text = EXPERIMENT.format(
        network='challenge = "nashville"', matrix='network.method = ["disjoint", "iwpsp"]'
    )
    text = text.replace('["mptcp-cubic"]', '["mptcp-cubic", "restp-multipath"]')
    specs = expand(parse_experiment(text, "map.toml", Path()))
    maps = own_links.told_maps(specs)
    assert maps is not None
    assert maps["network"]["name"] == packaged.load("us-fibre").name
    assert [it["factors"] for it in maps["sets"]] == [
        {"network.method": "disjoint"},
        {"network.method": "iwpsp"},
    ]
    assert [len(it["paths"]) for it in maps["sets"]] == [3, 3]
    # As experiments/geodiverse.toml was played before runs kept their map.
    played = expand(load_experiment(EXPERIMENTS / "geodiverse.toml", repetitions=1))
    assert [spec.seed for spec in played] == [3615638419073804, 5683282270674145] * 3
    assert own_links.told_maps([replace(specs[0], link=replace(specs[0].link, map=None)), *specs]) is None
