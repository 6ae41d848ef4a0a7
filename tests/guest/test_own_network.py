"""Networks of one's own in a guest: packets go their written ways, and certificates confirm every link."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from gauntlet.certificate import certify
from gauntlet.experiment.expand import expand
from gauntlet.experiment.load import load_experiment, parse_experiment
from gauntlet.experiment.plans import plan_run
from tests.guest.conftest import EXPERIMENTS, Play


def link(a: str, b: str, keys: str = "") -> str:
    return f'[[network.link]]\nbetween = ["{a}", "{b}"]\n{keys}\n'


LADDER = (
    link("a", "n", 'rate = "4Mbit/s"\ndelay = "1ms"')
    + link("n", "x", 'rate = "2Mbit/s"\nqueue = "30kB"\ndelay = "20ms"')
    + link("n", "y", 'rate = "1Mbit/s"\nqueue = "30kB"\ndelay = "30ms"\nloss = "0.1%"')
    + link("x", "m")
    + link("y", "m")
    + link("m", "b", 'delay = "1ms"')
)
PATHS = 'paths = [["a", "n", "x", "m", "b"], ["a", "n", "y", "m", "b"]]\n'


def planned(protocol: str, links: str, paths: str = PATHS, size: str = "4MB") -> dict[str, Any]:
    text = (
        '[experiment]\nname = "own"\nrepetitions = 1\n'
        f'[network]\n{paths}{links}[matrix]\nprotocols = ["{protocol}"]\n'
        f'[workload]\napp = "bulk"\nsize = "{size}"\nfrom = "a"\nto = "b"\n'
    )
    (spec,) = expand(parse_experiment(text, "own.toml", Path()))
    return {**plan_run(spec), "id": "run"}


def trusted(run: dict[str, Any], record: Path) -> dict[str, Any]:
    certificate = certify(run, record)
    assert certificate["trusted"], [it for it in certificate["checks"] if it["answer"] == "contradicted"]
    return certificate


@pytest.mark.parametrize("kind", ["fq_codel", "codel", "pfifo"])
def test_a_link_has_the_queue_that_was_asked_for(play: Play, tmp_path: Any, kind: str) -> None:
    queue = f'rate = "2Mbit/s"\ndelay = "10ms"\nqueue = {{ kind = "{kind}" }}'
    run = planned("tcp-cubic", link("a", "n") + link("n", "m", queue) + link("m", "b"), paths="", size="2MB")
    record = play(run)["run"]
    assert record["flows"][0]["outcome"] == "ok"
    (shaper,) = [it for it in record["links"] if it["link"] == "n>n.m"]
    assert shaper["queue"] == kind
    certificate = trusted(run, tmp_path / "out" / "run")
    answers = {it["impairment"]: it["answer"] for it in certificate["impairments"] if it["link"] == "n>n.m"}
    assert answers["rate"] == answers["queue discipline"] == "confirmed"


@pytest.mark.parametrize("protocol", ["mptcp-cubic", "restp-multipath", "quic-noq-cubic"])
def test_two_paths_carry_more_than_one(play: Play, tmp_path: Any, protocol: str) -> None:
    run = planned(protocol, LADDER)
    record = play(run)["run"]
    (flow,) = record["flows"]
    assert flow["outcome"] == "ok", flow["reason"]
    ways = [
        {link.partition(">")[0].partition(".")[0] for link in path["forward"]} for path in record["paths"]
    ]
    assert [("x" in way, "y" in way) for way in ways] == [(True, False), (False, True)]
    throughput_bps = 8 * flow["received_bytes"] / (flow["last_received_s"] - flow["established_s"])
    assert 2_200_000 < throughput_bps < 3_000_000
    certificate = trusted(run, tmp_path / "out" / "run")
    answers = {(it["link"], it["impairment"]): it["answer"] for it in certificate["impairments"]}
    assert (
        answers["a.n.a>a.n", "rate"] == answers["n>n.x", "rate"] == answers["n.y>y", "delay"] == "confirmed"
    )


@pytest.mark.parametrize(
    "protocol",
    [
        "mptcp-cubic",
        "restp-multipath",
        "restp-standby",
        "restp-copies",
        "quic-quinn-migration",
        "quic-noq-cubic",
    ],
)
def test_a_path_that_is_down_is_left_to_the_other(play: Play, tmp_path: Any, protocol: str) -> None:
    fails = LADDER.replace('rate = "2Mbit/s"', 'rate = "2Mbit/s"\ndown = [["4s", "40s"]]')
    run = planned(protocol, fails)
    (flow,) = play(run)["run"]["flows"]
    assert flow["outcome"] == "ok", flow["reason"]
    trusted(run, tmp_path / "out" / "run")
    (whole,) = play(planned(protocol, LADDER))["run"]["flows"]
    assert whole["last_received_s"] + 5 < flow["last_received_s"] < 40


THREE = LADDER + link("n", "z", 'rate = "1Mbit/s"\nqueue = "30kB"\ndelay = "40ms"') + link("z", "m")
THREE_PATHS = PATHS.replace("]]", '], ["a", "n", "z", "m", "b"]]')


def sent_bytes(record: Mapping[str, Any]) -> dict[str, int]:
    """What went over each of the paths towards the receiver, headers included."""
    sent = {it["link"]: it["sent_bytes"] for it in record["links"]}
    return {name: sent[f"n>n.{name}"] for name in "xyz" if f"n>n.{name}" in sent}


def test_a_backup_of_mptcp_carries_data_only_while_the_first_path_does_not(play: Play, tmp_path: Any) -> None:
    whole = play(planned("mptcp-backup", LADDER))["run"]
    (flow,) = whole["flows"]
    assert (flow["outcome"], flow["subflows"]) == ("ok", 2)
    assert sent_bytes(whole)["x"] > 4_000_000
    assert sent_bytes(whole)["y"] < 2_000
    down = 'rate = "2Mbit/s"\ndown = [["4s", "30s"]]'
    run = planned("mptcp-backup", LADDER.replace('rate = "2Mbit/s"', down))
    fails = play(run)["run"]
    assert fails["flows"][0]["outcome"] == "ok"
    assert sent_bytes(fails)["y"] > 1_000_000
    assert flow["last_received_s"] + 5 < fails["flows"][0]["last_received_s"] < 42
    trusted(run, tmp_path / "out" / "run")


@pytest.mark.parametrize("protocol", ["restp-multipath", "restp-standby", "restp-copies"])
def test_a_path_of_restp_that_fails_is_replaced_by_a_spare(play: Play, tmp_path: Any, protocol: str) -> None:
    def told(links: str) -> dict[str, Any]:
        run = planned(protocol, links, THREE_PATHS)
        run["flows"][0]["stack_params"]["paths_at_once"] = 2
        return run

    whole = play(told(THREE))["run"]
    assert whole["flows"][0]["outcome"] == "ok"
    assert sent_bytes(whole)["z"] == 0, "nobody asked for it"
    run = told(THREE.replace('rate = "2Mbit/s"', 'rate = "2Mbit/s"\ndown = [["4s", "60s"]]'))
    fails = play(run)["run"]
    assert fails["flows"][0]["outcome"] == "ok"
    least = 2_000 if protocol == "restp-standby" else 500_000
    assert sent_bytes(fails)["z"] > least
    trusted(run, tmp_path / "out" / "run")


def test_mptcp_uses_as_many_paths_as_it_is_told(play: Play, tmp_path: Any) -> None:
    def told(**params: int) -> dict[str, Any]:
        run = planned("mptcp-cubic", THREE, THREE_PATHS)
        run["flows"][0]["stack_params"].update(params)
        return run

    for further in (0, 1, 2):
        record = play(told(further_subflows=further))["run"]
        (flow,) = record["flows"]
        assert (flow["outcome"], flow["subflows"]) == ("ok", 1 + further)
        assert len(record["paths"]) == 1 + further
        assert [carried > 100_000 for carried in sent_bytes(record).values()] == [
            path <= further for path in range(3)
        ]
    run = told(active_paths=2)
    record = play(run)["run"]
    assert (record["flows"][0]["subflows"], len(record["paths"])) == (3, 3)
    assert [carried > 100_000 for carried in sent_bytes(record).values()] == [True, True, False]
    trusted(run, tmp_path / "out" / "run")


def test_what_is_sampled_of_mptcp_is_of_all_its_subflows(play: Play, tmp_path: Any) -> None:
    """Sums over three subflows, which the kernel tells one behind the other."""
    (flow,) = play(planned("mptcp-cubic", THREE, THREE_PATHS))["run"]["flows"]
    assert flow["subflows"] == 3
    with pa.ipc.open_file(tmp_path / "out" / "run" / "sockets.arrow") as reader:
        samples = reader.read_all().to_pylist()
    last = samples[-1]
    # Of what is sent again by another subflow both count.
    assert 0.9 * flow["received_bytes"] < last["delivered_bytes"] < 1.1 * flow["received_bytes"]
    assert last["lost_packets"] < 1000
    assert all(it["cwnd_bytes"] < 1_000_000 for it in samples)
    # No path is shorter than 20 ms one way.
    assert all(0.04e9 < it["srtt_ns"] < 2e9 and it["min_rtt_ns"] >= 0.04e9 for it in samples[5:])


def test_scheduler_and_staleness_of_mptcp_are_settings_of_the_kernel(play: Play) -> None:
    run = planned("mptcp-cubic", LADDER, size="100kB")
    run["sysctls"]["net.mptcp.scheduler"] = "default"
    run["sysctls"]["net.mptcp.stale_loss_cnt"] = "1"
    record = play(run)["run"]
    assert record["guest"]["sysctls"]["net.mptcp.scheduler"] == "default"
    assert record["guest"]["sysctls"]["net.mptcp.stale_loss_cnt"] == "1"


def test_flows_of_several_hosts_meet_at_a_link(play: Play, tmp_path: Any) -> None:
    specs = expand(load_experiment(EXPERIMENTS / "own-network.toml", repetitions=1))
    run = {**plan_run(specs[0]), "id": "run"}
    record = play(run)["run"]
    assert [flow["outcome"] for flow in record["flows"]] == ["ok", "ok"]
    certificate = trusted(run, tmp_path / "out" / "run")
    narrow = [it for it in certificate["impairments"] if "west.middle" in it["link"]]
    assert [(it["link"], it["impairment"], it["answer"]) for it in narrow] == [
        ("west>west.middle", "rate", "confirmed"),
        ("west>west.middle", "queue limit", "confirmed"),
        ("west.middle>middle", "delay", "confirmed"),
        ("middle>west.middle", "rate", "confirmed"),
        ("middle>west.middle", "queue limit", "confirmed"),
        ("west.middle>west", "delay", "confirmed"),
    ]


@pytest.mark.parametrize(("size_bytes", "share"), [(160, 160 / 212), (1400, 1400 / 1452)])
def test_the_tunnel_of_frmcs_leaves_what_its_headers_do_not_take(
    play: Play, tmp_path: Any, size_bytes: int, share: float
) -> None:
    """Of 5 Mbit/s: messages of UDP have 28 bytes of headers, and 24 of IP and GRE around them."""
    specs = expand(load_experiment(EXPERIMENTS / "frmcs-tunnel.toml"))
    (spec,) = [
        it for it in specs if (it.factors["protocol"], it.factors["packet_bytes"]) == ("udp", size_bytes)
    ]
    run = {**plan_run(spec), "id": "run"}
    (tunnel,) = run["network"]["tunnels"]
    assert tunnel["mtu_bytes"] == 1468
    (flow,) = play(run)["run"]["flows"]
    assert flow["outcome"] == "ok", flow["reason"]
    throughput_bps = 8 * flow["received_bytes"] / (flow["last_received_s"] - flow["first_received_s"])
    assert throughput_bps == pytest.approx(5_000_000 * share, rel=0.01)
    assert answers(trusted(run, tmp_path / "out" / "run"))["onboard>onboard.core", "rate"] == "confirmed"


def answers(certificate: dict[str, Any]) -> dict[tuple[str, str], str]:
    """What a certificate says of each link direction and impairment."""
    return {(it["link"], it["impairment"]): it["answer"] for it in certificate["impairments"]}


def test_a_link_follows_a_line_and_the_certificate_finds_it(play: Play, tmp_path: Any) -> None:
    """The rate of each moment, what queues before it, and the delay behind it, in both directions."""
    specs = expand(load_experiment(EXPERIMENTS / "shared-cell.toml", repetitions=1))
    run = {**plan_run(specs[0]), "id": "run"}
    assert len({it["rate_bps"] for it in run["timeline"] if it["link"] == "gateway>gateway.mast"}) > 10
    record = play(run)["run"]
    assert [flow["outcome"] for flow in record["flows"]] == ["ok", "ok"]
    certificate = trusted(run, tmp_path / "out" / "run")
    cell = answers(certificate)
    assert cell["gateway>gateway.mast", "rate"] == "confirmed"
    assert cell["gateway>gateway.mast", "queue limit"] == "confirmed"
    assert cell["gateway.mast>mast", "delay"] == "confirmed"
    assert cell["gateway.mast>gateway", "delay"] == "confirmed"


def test_the_railway_emulator_as_a_file_carries_a_download_in_its_tunnel(play: Play, tmp_path: Any) -> None:
    """Every packet of the line between the tunnel's ends has a header of GRE (protocol 47 of IP)."""
    specs = expand(load_experiment(EXPERIMENTS / "own-rail.toml", repetitions=1))
    run = {**plan_run(specs[0]), "id": "run"}
    record = play(run)["run"]
    assert [flow["outcome"] for flow in record["flows"]] == ["ok"]
    certificate = trusted(run, tmp_path / "out" / "run")
    radio = answers(certificate)
    assert radio["ra>rasa.ra", "rate"] == "confirmed"
    assert radio["rasa.ra>rasa", "delay"] == "confirmed"
