"""Networks of one's own: what an experiment's [network] becomes in a plan, and what is refused."""

from ipaddress import ip_address, ip_interface, ip_network
from pathlib import Path
from typing import Any

import pytest

from gauntlet.engine import guest
from gauntlet.errors import UserError
from gauntlet.experiment.expand import expand
from gauntlet.experiment.load import parse_experiment
from gauntlet.experiment.plan_schema import check_plan
from gauntlet.experiment.plans import plan_run
from gauntlet.experiment.runspec import RunSpec

EXPERIMENT = """
[experiment]
name = "own"
repetitions = 1

[network]
{network}

{links}

[matrix]
protocols = ["tcp-cubic"]
{matrix}

[workload]
app = "bulk"
size = "1MB"
{flow}
"""
LINE = """
[[network.link]]
between = ["a", "r"]
[[network.link]]
between = ["r", "s"]
rate = "2Mbit/s"
queue = "30kB"
delay = "10ms"
loss = "1%"
back = { rate = "1Mbit/s", loss = "0%" }
[[network.link]]
between = ["s", "b"]
"""
FLOW = 'from = "a"\nto = "b"'


def specs(links: str = LINE, *, network: str = "", matrix: str = "", flow: str = FLOW) -> list[RunSpec]:
    text = EXPERIMENT.format(network=network, links=links, matrix=matrix, flow=flow)
    return expand(parse_experiment(text, "own.toml", Path(__file__).parent))


def runs(links: str = LINE, **parts: str) -> list[dict[str, Any]]:
    made = [plan_run(RunSpec.from_json(spec.to_json())) for spec in specs(links, **parts)]
    check_plan(guest.plan(made))
    return made


def link(a: str, b: str, keys: str = "") -> str:
    return f'[[network.link]]\nbetween = ["{a}", "{b}"]\n{keys}\n'


def states(run: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {entry["link"]: entry for entry in run["timeline"] if entry["at_s"] == 0}


def hops(run: dict[str, Any], sender: str, to: str) -> list[str]:
    """The nodes that a packet to an address passes, by the addresses and routes of a plan."""
    network, way, goal = run["network"], [sender], ip_address(to)
    interfaces = [(it["node"], ip_interface(it["address"])) for it in network["addresses"]]
    owner = {interface.ip: node for node, interface in interfaces}
    while owner[goal] != way[-1]:
        near = any(node == way[-1] and goal in interface.network for node, interface in interfaces)
        routes = [
            (ip_network(it["to"]).prefixlen, ip_address(it["via"]))
            for it in network["routes"]
            if it["node"] == way[-1] and goal in ip_network(it["to"])
        ]
        way.append(owner[goal] if near else owner[max(routes)[1]])
    return way


def test_a_link_with_rate_and_delay_is_cut_in_two() -> None:
    (run,) = runs()
    assert states(run) == {
        "r>r.s": {"at_s": 0.0, "link": "r>r.s", "rate_bps": 2_000_000, "queue_limit_bytes": 30_000},
        "r.s>s": {"at_s": 0.0, "link": "r.s>s", "delay_s": 0.01, "loss": 0.01},
        "s>r.s": {"at_s": 0.0, "link": "s>r.s", "rate_bps": 1_000_000, "queue_limit_bytes": 30_000},
        "r.s>r": {"at_s": 0.0, "link": "r.s>r", "delay_s": 0.01, "loss": 0.0},
    }
    assert run["network"]["nodes"] == [*({"name": it} for it in "arsb"), {"name": "r.s", "switch": True}]
    assert [(it["a"], it["b"]) for it in run["network"]["links"]] == [
        ("a", "r"), ("r", "r.s"), ("r.s", "s"), ("s", "b")
    ]  # fmt: skip
    (flow,) = run["flows"]
    assert (flow["from"], flow["to"]) == ("a", "b")


def test_a_link_of_a_host_is_cut_beside_the_host() -> None:
    (run,) = runs(link("a", "r", 'rate = "1Mbit/s"\ndelay = "5ms"') + link("r", "b", 'delay = "1ms"'))
    assert list(states(run)) == ["a.r.a>a.r", "a.r>r", "r>a.r", "a.r>a.r.a", "r>r.b.b", "r.b.b>r"]
    addresses = {(it["node"], it["link"]) for it in run["network"]["addresses"]}
    assert addresses == {("a", "a.r.a"), ("r", "a.r"), ("r", "r.b.b"), ("b", "r.b.b")}


def test_a_link_that_does_nothing_stays_whole_and_an_outage_takes_both_directions() -> None:
    (run,) = runs(LINE.replace('loss = "1%"\n', 'loss = "1%"\ndown = [["2s", "3s"], ["4s", "5s"]]\n'))
    later = [(it["at_s"], it["link"], it["up"]) for it in run["timeline"] if it["at_s"] > 0]
    assert later == [
        (at_s, way, up)
        for at_s, up in ((2.0, False), (3.0, True), (4.0, False), (5.0, True))
        for way in ("r.s>s", "r.s>r")
    ]


def test_what_stands_for_the_line_is_the_way_of_the_first_flow() -> None:
    links = LINE.replace(
        'between = ["s", "b"]', 'between = ["s", "b"]\nrate = "9Mbit/s"\ndelay = "5ms"\nloss = "50%"'
    )
    (spec,) = specs(links)
    assert dict(spec.scenario.params) == {
        "rate": 2_000_000.0, "delay": 0.015, "loss": 0.505, "queue_limit": 30_000
    }  # fmt: skip


def test_a_link_has_any_queue_and_its_limit_may_hang_on_the_way() -> None:
    """20 ms there and back at 2 Mbit/s are 5,000 bytes, at 1 Mbit/s half of that."""
    pie = LINE.replace('"30kB"', '{ kind = "pie", limit = "6 packets", ecn = true }')
    (run,) = runs(pie)
    shapers = {name: state for name, state in states(run).items() if "rate_bps" in state}
    assert set(shapers) == {"r>r.s", "s>r.s"}
    for state in shapers.values():
        assert "queue_limit_bytes" not in state
        assert {"kind": "pie", "limit_packets": 6, "ecn": True}.items() <= state["queue"].items()
    (spec,) = specs(pie)
    assert "queue_limit" not in spec.scenario.params
    (run,) = runs(LINE.replace('"30kB"', '"2 BDP"'))
    assert [it["queue_limit_bytes"] for it in states(run).values() if "rate_bps" in it] == [10_000, 5000]


def test_queues_of_a_link_are_an_axis_with_words() -> None:
    cake = '{ kind = "cake", diffserv = "besteffort" }'
    codel = '{ kind = "fq_codel", limit = "9 packets", ecn = false }'
    found = specs(matrix=f"network.r-s.queue = [{cake}, {codel}]")
    words = ["CAKE (besteffort)", "FQ-CoDel (limit 9 packets, no ECN)"]
    assert [it.labels["network.r-s.queue"] for it in found] == words
    assert [it.factors["network.r-s.queue"] for it in found] == words
    assert [it.id for it in found] == [
        "tcp-cubic_r-s.queue-cake-besteffort_rep-001",
        "tcp-cubic_r-s.queue-fq_codel-limit-9-packets-no-ECN_rep-001",
    ]
    mixed = specs(matrix='network.r-s.queue = ["32kB", { kind = "cake" }]')
    assert [it.factors["network.r-s.queue"] for it in mixed] == ["32 kB", "CAKE"]
    planned = [states(plan_run(it)).values() for it in found]
    kinds = [{state["queue"]["kind"] for state in each if "queue" in state} for each in planned]
    assert kinds == [{"cake"}, {"fq_codel"}]


def test_max_is_what_the_way_of_each_flow_carries() -> None:
    links = LINE + link("r", "c", 'rate = "500kbit/s"')
    text = EXPERIMENT.format(network="", links=links, matrix="", flow=FLOW)
    workload = '[workload]\napp = "bulk"\nsize = "1MB"\n' + FLOW
    assert workload in text
    flows = "\n".join(
        f'[[flow]]\nname = "{sender}{receiver}"\napp = "cbr"\nduration = "5s"\nrate = "max"\n'
        f'protocol = "udp"\nfrom = "{sender}"\nto = "{receiver}"'
        for sender, receiver in (("a", "b"), ("b", "a"), ("a", "c"))
    )
    text = text.replace(workload, flows).replace('protocols = ["tcp-cubic"]', "")
    (spec,) = expand(parse_experiment(text, "own.toml", Path()))
    assert [flow.rate_bps for flow in spec.flows] == [2_000_000, 1_000_000, 500_000]


RING = (
    link("a", "n", 'rate = "1Mbit/s"')
    + link("n", "e", 'delay = "10ms"')
    + link("n", "w", 'delay = "4ms"')
    + link("w", "e", 'delay = "5ms"')
    + link("e", "b")
)


def test_routes_take_the_way_of_the_least_delay() -> None:
    (run,) = runs(RING)
    to = next(it["address"].partition("/")[0] for it in run["network"]["addresses"] if it["node"] == "b")
    assert hops(run, "a", to) == ["a", "n", "w", "e", "b"]
    (run,) = runs(RING.replace('"5ms"', '"7ms"'))
    assert hops(run, "a", to) == ["a", "n", "e", "b"]


def test_written_addresses_and_routes_come_first() -> None:
    written = (
        '[[network.address]]\nnode = "e"\nlink = "b"\naddress = "192.168.7.1/24"\n'
        '[[network.address]]\nnode = "b"\nlink = "e"\naddress = "192.168.7.2/24"\n'
        '[[network.route]]\nnode = "n"\nto = "b"\nvia = "e"\n'
    )
    (run,) = runs(RING + written)
    assert {"node": "b", "link": "e", "address": "192.168.7.2/24"} in run["network"]["addresses"]
    first = next(it for it in run["network"]["routes"] if it["node"] == "n")
    assert first["to"] == "192.168.7.2/32"
    assert first["via"] in {
        it["address"].partition("/")[0] for it in run["network"]["addresses"] if it["node"] == "e"
    }
    (spec,) = specs(RING + written)
    assert spec.scenario.params["delay"] == 0.01


def test_a_path_has_addresses_that_lead_along_it_and_back() -> None:
    paths = 'paths = [["a", "n", "w", "e", "b"], ["a", "n", "e", "b"]]'
    (run,) = runs(RING, network=paths, flow="")
    assert (run["flows"][0]["from"], run["flows"][0]["to"]) == ("a", "b")
    firsts = [it["address"] for node in "ab" for it in run["network"]["addresses"] if it["node"] == node]
    assert firsts == ["10.1.1.1/24", "10.2.1.1/24", "10.1.2.1/24", "10.2.2.1/24"]
    vias = {it["to"]: it["via"] for node in "ab" for it in run["network"]["routes"] if it["node"] == node}
    assert vias == {
        "10.1.2.0/24": "10.1.1.254",
        "10.2.2.0/24": "10.2.1.254",
        "10.1.1.0/24": "10.1.2.254",
        "10.2.1.0/24": "10.2.2.254",
    }
    assert hops(run, "a", "10.1.2.1") == ["a", "n", "w", "e", "b"]
    assert hops(run, "b", "10.1.1.1") == ["b", "e", "w", "n", "a"]
    assert hops(run, "a", "10.2.2.1") == ["a", "n", "e", "b"]
    assert hops(run, "b", "10.2.1.1") == ["b", "e", "n", "a"]


def test_a_host_with_two_links_is_reached_over_either() -> None:
    two = "".join(
        link(*ends, 'rate = "1Mbit/s"') for ends in (("a", "x"), ("x", "b"), ("a", "y"), ("y", "b"))
    )
    (run,) = runs(two)
    of_b = [it["address"].partition("/")[0] for it in run["network"]["addresses"] if it["node"] == "b"]
    ways = [
        [it["node"] for it in run["network"]["addresses"] if it["address"].startswith(f"{to}/")]
        for to in of_b
    ]
    assert ways == [["b"], ["b"]]
    vias = {it["to"]: it["via"] for it in run["network"]["routes"] if it["node"] == "a"}
    owner = {it["address"].partition("/")[0]: it["node"] for it in run["network"]["addresses"]}
    assert sorted(owner[via] for via in vias.values()) == ["x", "y"]


def test_keys_of_a_link_can_be_axes() -> None:
    made = runs(LINE, matrix='network.r-s.queue = ["10kB", "1MB"]\nnetwork.r-s.loss = ["0%", "2%"]')
    assert [run["id"] for run in made] == [
        f"tcp-cubic_r-s.queue-{queue}_r-s.loss-{loss}_rep-001"
        for queue in ("10kB", "1MB")
        for loss in ("0pct", "2pct")
    ]
    assert [(states(run)["r>r.s"]["queue_limit_bytes"], states(run)["r.s>r"]["loss"]) for run in made] == [
        (10_000, 0.0), (10_000, 0.02), (1_000_000, 0.0), (1_000_000, 0.02)
    ]  # fmt: skip
    (spec, *_) = specs(LINE, matrix='network.r-s.queue = ["10kB", "1MB"]')
    assert spec.factors["network.r-s.queue_bytes"] == 10_000


def test_a_network_can_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "line.toml").write_text(LINE.replace("network.", ""))
    (tmp_path / "ring.toml").write_text(RING.replace("network.", ""))
    text = EXPERIMENT.format(
        network="", links="", matrix='network.file = ["line.toml", "ring.toml"]', flow=FLOW
    )
    made = [plan_run(spec) for spec in expand(parse_experiment(text, "own.toml", tmp_path))]
    assert [made[0]["network"], made[1]["network"]] == [runs(LINE)[0]["network"], runs(RING)[0]["network"]]
    changed = text.replace("[network]\n", "[network]\nset = { a-n = { rate = '3Mbit/s' } }\n").replace(
        '"line.toml", ', ""
    )
    (run,) = [plan_run(spec) for spec in expand(parse_experiment(changed, "own.toml", tmp_path))]
    assert {it["rate_bps"] for it in run["timeline"] if "rate_bps" in it} == {3_000_000}


def test_a_network_that_is_not_there_and_one_in_a_file_that_is_wrong(tmp_path: Path) -> None:
    text = EXPERIMENT.format(network='file = "ring.toml"', links="", matrix="", flow=FLOW)
    with pytest.raises(UserError, match=r"own\.toml: .*ring\.toml: there is no such network file"):
        expand(parse_experiment(text, "own.toml", tmp_path))
    (tmp_path / "ring.toml").write_text(RING.replace("network.", "").replace("10ms", "10"))
    with pytest.raises(UserError, match=r"ring\.toml: link, number 2, delay: the time '10' has no unit"):
        expand(parse_experiment(text, "own.toml", tmp_path))
    (tmp_path / "ring.toml").write_text('file = "line.toml"')
    with pytest.raises(UserError, match="names no further one"):
        expand(parse_experiment(text, "own.toml", tmp_path))


ADDRESS = '[[network.address]]\nnode = "{}"\nlink = "{}"\naddress = "{}"\n'
ROUTE = '[[network.route]]\nnode = "{}"\nto = "{}"\nvia = "{}"\n'


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"links": ""}, "it has no links"),
        ({"network": 'file = "x.toml"'}, "file and link both stand here"),
        ({"network": 'challenge = "nashville"'}, "'challenge' is of networks on a map"),
        ({"links": LINE + link("a", "a")}, "joins two different nodes"),
        ({"links": LINE + link("s", "a b")}, "'a b' cannot be a node"),
        ({"links": LINE + link("s", "r")}, "two links join 'r' and 's'"),
        ({"network": 'nodes = ["a", "r", "s"]'}, "the link s-b is of 'b', which is no node"),
        ({"network": 'nodes = ["a", "r", "s", "b", "c"]'}, "no link leads to 'c'"),
        ({"links": LINE + link("s", "c", "rate = 5")}, "[network] link, 4, rate: the rate 5 has no unit"),
        ({"links": LINE + link("s", "c", 'lost = "1%"')}, "unknown key 'lost'; did you mean 'loss'?"),
        ({"links": LINE + link("s", "c", 'queue = "5kB"')}, "a queue without a rate never fills"),
        (
            {"links": LINE + link("s", "c", 'loss = "1%"\nburst_loss = { p = "1%", r = "9%" }')},
            "loss and burst_loss both stand here",
        ),
        ({"links": LINE + link("s", "c", 'mtu = "100B"')}, "100 bytes are no MTU"),
        (
            {"links": LINE + link("s", "c", 'down = [["2s"]]')},
            "an outage is a list of its beginning and its end",
        ),
        (
            {"links": LINE + link("s", "c", 'down = [["3s", "2s"]]')},
            "an outage ends after it begins, and not from 3s to 2s; write its beginning first",
        ),
        (
            {"links": LINE + link("s", "c", 'down = ["3s", "5s"]')},
            'each outage is a list of its own; write [["3s", "5s"]].',
        ),
        (
            {"links": LINE + link("s", "c", 'down = [["3s", "5s"], ["4s", "6s"]]')},
            "after the end of the one before",
        ),
        (
            {"links": LINE.replace('rate = "2Mbit/s"\nqueue = "30kB"\n', "")},
            "no link on the way from 'a' to 'b'",
        ),
        ({"links": LINE + ADDRESS.format("s", "a", "10.0.0.1/24")}, "no link joins it to 'a'"),
        ({"links": LINE + ADDRESS.format("x", "a", "10.0.0.1/24")}, "is of 'x', which is no node"),
        ({"links": LINE + ADDRESS.format("s", "b", "10.0.0.300/24")}, "is none of IPv4"),
        ({"links": LINE + ADDRESS.format("s", "b", "10.0.0.3")}, "leaves no room for the other end"),
        ({"links": LINE + ADDRESS.format("s", "b", "10.0.0.0/24")}, "is that of its whole network"),
        ({"links": LINE + ADDRESS.format("s", "b", "10.0.0.1/24")}, "have no addresses in one network"),
        (
            {
                "links": LINE
                + ADDRESS.format("s", "b", "10.0.0.1/24")
                + ADDRESS.format("b", "s", "10.0.0.1/24")
            },
            "the address 10.0.0.1 is that of 's' and of 'b'",
        ),
        (
            {
                "links": LINE
                + ADDRESS.format("s", "b", "10.0.0.1/24")
                + ADDRESS.format("a", "r", "10.0.0.2/24")
            },
            "the links s-b and a-r both have addresses of 10.0.0.0/24",
        ),
        ({"links": LINE + ROUTE.format("r", "10.0.0.0/99", "s")}, "leads to '10.0.0.0/99'"),
        ({"links": LINE + ROUTE.format("r", "b", "b")}, "goes by 'b', which is no neighbour"),
        ({"links": LINE + ROUTE.format("r", "default", "s") * 2}, "'r' has two routes to default"),
        ({"links": LINE + ROUTE.format("s", "b", "r")}, "routes lead round in a circle"),
        ({"links": LINE + link("c", "d"), "flow": 'from = "a"\nto = "c"'}, "no way leads from 'a' to 'c'"),
        ({"flow": 'from = "a"'}, "flow 1: the key 'to' is missing"),
        ({"flow": 'from = "a"\nto = "z"'}, "flow 1, to: there is no node 'z'; the nodes are a, r, s, b"),
        ({"flow": 'from = "a"\nto = "a"'}, "it goes from 'a' to itself"),
        ({"flow": FLOW + '\ndirection = "up"'}, "leave 'direction' out"),
        ({"network": 'paths = [["a", "b"]]'}, "path 1 is no way between two hosts"),
        ({"network": 'paths = [["a", "s", "b"]]'}, "path 1: no link joins 'a' and 's'"),
        ({"network": 'paths = [["a", "r", "s", "b"], ["r", "s", "b"]]'}, "path 2 has other ends"),
        (
            {"network": "set = { x = { loss = '1%' } }"},
            "no link of [network] is called 'x'; they are a-r, r-s, s-b",
        ),
        ({"network": "set = { r-s = { lost = '1%' } }"}, "[network] set, r-s: unknown key 'lost'"),
        ({"matrix": 'network.r-s.lost = ["1%"]'}, "[matrix] network.r-s.lost: unknown key 'lost'"),
        (
            {"matrix": 'network.r-t.delay = ["1ms"]'},
            "own.toml: [matrix] network.r-t.delay: no link of [network] is called 'r-t'; they are a-r",
        ),
        ({"matrix": 'network.speed = ["1%"]'}, "[matrix] network.speed: unknown key 'speed'"),
        ({"matrix": 'loss = ["1%"]'}, "[link] loss: the links of [network] say themselves"),
        ({"matrix": 'scenario = ["hsr"]'}, "[scenario] and [network] both stand here"),
        (
            {"matrix": '[[in_path]]\nplace = "train"'},
            "[[in_path]]: it acts beside the train",
        ),
        (
            {"matrix": '[[threat]]\nname = "late"\nkind = "delay"\nmessage = 1\nby = "1s"'},
            "[[threat]]: it acts beside the train or the trackside",
        ),
        (
            {"matrix": 'drop = ["none", "first-syn"]'},
            "[link] drop: packets vanish by script",
        ),
        ({"matrix": 'threat = ["late"]'}, "[link] threat: threats act beside the hosts of a scenario's line"),
        ({"flow": FLOW + '\ntunnel = "c"'}, "leave 'tunnel' out"),
        ({"links": LINE + ADDRESS.format("s", "b", "fd00::1/64")}, "is none of IPv4"),
        (
            {"links": LINE.replace('"30kB"', '{ kind = "pie", target = "5ms", rtt = "9ms" }')},
            "the queue 'pie' has no key 'rtt'",
        ),
        (
            {"links": LINE.replace('"30kB"', '{ kind = "bfifo", limit = "0.1 BDP" }').replace("10ms", "1ms")},
            "the link r-s: [link] queue: a limit of 0.1 BDP is less than a packet",
        ),
    ],
)
def test_what_cannot_be_built_is_one_sentence(parts: dict[str, str], words: str) -> None:
    with pytest.raises(UserError) as refused:
        runs(**parts)
    assert str(refused.value).startswith("own.toml: ")
    assert words in str(refused.value)


def test_names_of_nodes_need_a_network() -> None:
    text = '[experiment]\nname = "x"\n[scenario]\nname = "constant"\n[workload]\napp = "bulk"\nsize = "1MB"\n'
    text += 'protocol = "tcp-cubic"\nfrom = "a"\n'
    with pytest.raises(UserError, match=r"flow 1, from: only a \[network\] has nodes by name"):
        expand(parse_experiment(text, "own.toml", Path()))
    with pytest.raises(UserError, match="the key 'scenario' is missing; add it, or"):
        parse_experiment(text.replace('[scenario]\nname = "constant"\n', ""), "own.toml", Path())
    with pytest.raises(UserError, match=r"\[matrix\] network\.rate: there is no \[network\]"):
        parse_experiment(text + '[matrix]\nnetwork.rate = ["1Mbit/s"]', "own.toml", Path())


TUNNEL = """
[[network.tunnel]]
name = "tun"
between = ["r", "t"]
"""
BELOW = (
    link("a", "r", 'mtu = "1476B"')
    + link("r", "s", 'rate = "2Mbit/s"\ndelay = "10ms"')
    + link("s", "t", 'delay = "5ms"')
    + link("t", "b", 'mtu = "1476B"')
)


def test_a_tunnel_leads_along_the_links_between_its_ends() -> None:
    """Both ends send into it what goes to hosts behind the other."""
    (run,) = runs(BELOW + TUNNEL)
    (tunnel,) = run["network"]["tunnels"]
    addresses = {
        (it["node"], it["link"]): it["address"].partition("/")[0] for it in run["network"]["addresses"]
    }
    assert tunnel == {
        "name": "tun", "a": "r", "b": "t",
        "a_outer": addresses["r", "r.s"], "b_outer": addresses["t", "s"],
        "a_inner": "10.127.0.1/30", "b_inner": "10.127.0.2/30", "mtu_bytes": 1476,
    }  # fmt: skip
    through = {(it["node"], it["to"]) for it in run["network"]["routes"] if "tunnel" in it}
    (at_a,) = (ip_interface(it["address"]).network for it in run["network"]["addresses"] if it["node"] == "a")
    (at_b,) = (ip_interface(it["address"]).network for it in run["network"]["addresses"] if it["node"] == "b")
    assert through == {("r", str(at_b)), ("t", str(at_a))}
    (spec,) = specs(BELOW + TUNNEL)
    assert spec.scenario.params["delay"] == 0.015


def test_a_link_between_its_ends_comes_before_a_tunnel_unless_a_route_says_so() -> None:
    near = link("a", "r") + link("r", "t", 'rate = "2Mbit/s"') + link("t", "b") + TUNNEL
    (run,) = runs(near)
    assert not [it for it in run["network"]["routes"] if "tunnel" in it]
    routed = near + '[[network.route]]\nnode = "r"\nto = "b"\nvia = "tun"\n'
    (run,) = runs(routed)
    assert [it["node"] for it in run["network"]["routes"] if "tunnel" in it] == ["r"]


@pytest.mark.parametrize(
    ("tunnel", "words"),
    [
        (TUNNEL + TUNNEL, "two tunnels are called 'tun'"),
        (TUNNEL.replace('"t"', '"x"'), "the tunnel 'tun' is of 'x', which is no node"),
        (TUNNEL.replace('"tun"', '"s"'), "the tunnel 's' is called like a node"),
        (TUNNEL.replace('["r", "t"]', '["r", "r"]'), "two different nodes"),
        (TUNNEL + '[[network.route]]\nnode = "s"\nto = "b"\nvia = "tun"\n', "no neighbour of it"),
    ],
)
def test_tunnels_that_cannot_be(tunnel: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        specs(BELOW + tunnel)


def test_tunnels_have_addresses_for_a_hundred() -> None:
    many = [TUNNEL.replace('"tun"', f'"tun{number}"') for number in range(101)]
    with pytest.raises(UserError, match="101 tunnels are more than have addresses; write 100 at most"):
        specs(BELOW + "".join(many))
    (run,) = runs(BELOW + "".join(many[:100]))
    assert len({it["a_inner"] for it in run["network"]["tunnels"]}) == 100


def test_a_tunnel_needs_a_way_between_its_ends() -> None:
    with pytest.raises(UserError, match="the tunnel 'tun': no way leads from 'r' to 't'"):
        specs(link("a", "r", 'rate = "1Mbit/s"') + link("r", "b") + link("t", "u") + TUNNEL)
