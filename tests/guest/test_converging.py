"""Routes that change in a guest: packets take the new way at that instant and not before, and come back."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from gauntlet.certificate import certify
from gauntlet.experiment.expand import expand
from gauntlet.experiment.load import parse_experiment
from gauntlet.experiment.plans import plan_run
from tests.guest.conftest import ROOT, Play

DOWN_S, UP_S = 20.0, 40.0
"""When the first circle stands."""
AFTER_S = 5.0
DELAY_S = 0.0123
"""Of the path by Nashville; the way round takes 0.0117 s."""

MAP = """
[experiment]
name = "converging"
repetitions = 1
[network]
map = "us-fibre"
from = "Oklahoma City"
to = "Washington DC"
rate = "1Mbit/s"
challenge = "nashville"
{network}
[matrix]
protocols = ["{protocol}"]
[workload]
app = "cbr"
rate = "{rate}"
duration = "50s"
"""
BY_NASHVILLE = 'paths = [["Oklahoma City", "Nashville", "Louisville", "Cincinnati", "Washington DC"]]\n'


def planned(protocol: str, network: str, rate: str = "200kbit/s") -> dict[str, Any]:
    text = MAP.format(protocol=protocol, network=network, rate=rate)
    (spec,) = expand(parse_experiment(text, "converging.toml", Path()))
    return {**plan_run(spec), "id": "run"}


def received_s(record: Path) -> list[float]:
    with pa.memory_map(str(record / "messages.arrow")) as file:
        column = pa.ipc.open_file(file).read_all().column("received_ns").to_pylist()
    return sorted(it / 1e9 for it in column if it is not None)


def between(times_s: list[float], from_s: float, to_s: float) -> int:
    return sum(from_s <= it < to_s for it in times_s)


def trusted(run: dict[str, Any], record: Path) -> dict[str, Any]:
    certificate = certify(run, record)
    assert certificate["trusted"], [it for it in certificate["checks"] if it["answer"] == "contradicted"]
    return certificate


def test_datagrams_go_round_when_routing_has_converged_and_not_before(play: Play, tmp_path: Path) -> None:
    run = planned("udp", BY_NASHVILLE + f'converges_after = "{AFTER_S:g}s"')
    record = play(run)["run"]
    came_s = received_s(tmp_path / "out" / "run")
    interval_s = 1 / (between(came_s, 2, 18) / 16)
    assert between(came_s, DOWN_S + DELAY_S + 0.01, DOWN_S + AFTER_S) == 0
    first_s = next(it for it in came_s if it >= DOWN_S + AFTER_S)
    assert first_s < DOWN_S + AFTER_S + DELAY_S + 2 * interval_s + 0.05
    # Neither the turn back nor the link that comes back costs a datagram.
    assert between(came_s, first_s, 50.0) == pytest.approx((50.0 - first_s) / interval_s, abs=2)
    certificate = trusted(run, tmp_path / "out" / "run")
    (routes,) = [it for it in certificate["checks"] if it["name"] == "routes"]
    assert routes["measured"]["changes"] == len(record["route_changes"]) > 0
    answers = {(it["link"], it["impairment"]): it["answer"] for it in certificate["impairments"]}
    assert answers["oklahoma-city.st-louis>st-louis", "delay"] == "confirmed"


def test_without_it_they_wait_for_the_link(play: Play, tmp_path: Path) -> None:
    run = planned("udp", BY_NASHVILLE)
    record = play(run)["run"]
    assert "route_changes" not in record
    assert "hops" not in record
    came_s = received_s(tmp_path / "out" / "run")
    assert between(came_s, DOWN_S + DELAY_S + 0.01, UP_S) == 0
    assert between(came_s, UP_S, UP_S + 1) > 10


def test_tcp_goes_on_over_the_way_round_and_the_same_seed_gives_the_same_bytes(
    play: Play, tmp_path: Path
) -> None:
    run = planned("tcp-cubic", BY_NASHVILLE + f'converges_after = "{AFTER_S:g}s"')
    kept = []
    for _ in range(2):
        (flow,) = play(run)["run"]["flows"]
        assert flow["outcome"] == "ok", flow["reason"]
        folder = tmp_path / "out" / "run"
        kept.append({it.name: hashlib.sha256(it.read_bytes()).hexdigest() for it in folder.iterdir()})
    assert kept[0] == kept[1]
    assert "packets.bin" in kept[0]
    came_s = received_s(folder)
    assert between(came_s, DOWN_S + 1, DOWN_S + AFTER_S) == 0
    # A timer that has doubled for 5 s fires within another 5.
    assert between(came_s, DOWN_S + AFTER_S, DOWN_S + 3 * AFTER_S) > 100
    trusted(run, folder)


def test_mptcp_of_three_disjoint_paths_lives_through_the_circles(play: Play, tmp_path: Path) -> None:
    run = planned("mptcp-cubic", 'method = "disjoint"\nconverges_after = "5s"', rate="max")
    run["flows"][0]["app_params"]["duration_s"] = 125.0
    (flow,) = play({**run, "limit_s": 300.0})["run"]["flows"]
    assert flow["outcome"] == "ok", flow["reason"]
    came_s = received_s(tmp_path / "out" / "run")
    assert between(came_s, 101.0, 105.0) == 0
    assert between(came_s, 105.0, 120.0) > 0
    trusted(run, tmp_path / "out" / "run")


def test_a_route_to_nowhere_holds_packets_back_until_there_is_one(play: Play, tmp_path: Path) -> None:
    plan = json.loads((ROOT / "tests/contract/plans/route-changes.json").read_text(encoding="utf-8"))
    run = {**plan["runs"][0], "id": "run"}
    record = play(run)["run"]
    assert [it["at_s"] for it in record["route_changes"]] == pytest.approx([5.0, 9.0, 9.5], abs=1e-5)
    sent = {it["link"]: it["sent_packets"] for it in record["links"]}
    interval_s = 8 * 1000 / 500_000
    assert sent["n>y"] == pytest.approx(4.0 / interval_s, abs=2)
    assert sent["n>x"] == pytest.approx((4.0 + 3.5) / interval_s, abs=2)
    assert between(received_s(tmp_path / "out" / "run"), 9.05, 9.5) == 0
    trusted(run, tmp_path / "out" / "run")
