"""Transports with several paths, on the network whose hosts have an address on either tunnel."""

from typing import Any

import pytest

from gauntlet.certificate import certify
from gauntlet.metrics.capacity import path_capacity
from tests.guest.conftest import Play, run_plan, tcp_flow

TUNNEL_RATE_BPS = 2_000_000


def dual(flow: dict[str, Any], *changes: dict[str, Any], **run: Any) -> dict[str, Any]:
    """A flow up or down over two tunnels that have 2 Mbit/s each way each, behind 25 ms of radio."""
    shaper = {"rate_bps": TUNNEL_RATE_BPS, "queue_limit_bytes": 64_000}
    timeline = [
        *({"at_s": 0.0, "link": link, **shaper} for link in ("rabc>rb", "rabc>rc", "rbsb>rb", "rcsc>rc")),
        *({"at_s": 0.0, "link": link, "delay_s": 0.025} for link in ("ra>rabc", "rabc>ra")),
        *changes,
    ]
    network = {"preset": "rail-d34-dual"}
    return run_plan(network=network, timeline=timeline, flows=[{**tcp_flow(), **flow}], **run)


def mptcp(**changes: Any) -> dict[str, Any]:
    return {"stack": "mptcp", "app_params": {"size_bytes": 4_000_000}, "from": "tc1", "to": "ts", **changes}


@pytest.mark.parametrize(("sender", "receiver"), [("tc1", "ts"), ("ts", "tc2")])
def test_mptcp_moves_more_than_one_tunnel_carries(
    play: Play, tmp_path: Any, sender: str, receiver: str
) -> None:
    run = dual(mptcp(**{"from": sender, "to": receiver}))
    record = play(run)["run"]
    (flow,) = record["flows"]
    assert flow["outcome"] == "ok", flow["reason"]
    assert flow["subflows"] == 2
    throughput_bps = 8 * flow["received_bytes"] / (flow["last_received_s"] - flow["established_s"])
    assert throughput_bps > 1.5 * TUNNEL_RATE_BPS
    capacity = path_capacity(record, "f0")
    assert capacity is not None
    assert set(capacity.values) == {2 * TUNNEL_RATE_BPS}
    certificate = certify(run, tmp_path / "out" / "run")
    assert certificate["trusted"], [check for check in certificate["checks"] if not check["passed"]]


def test_one_address_is_one_subflow(play: Play) -> None:
    flow = {**tcp_flow(), "stack": "mptcp"}
    record = play(run_plan(flows=[flow]))["run"]
    assert record["flows"][0]["subflows"] == 1
    assert len(record["paths"]) == 1


SCTP = {
    "stack": "sctp",
    "app": "cbr",
    "app_params": {"rate_bps": 800_000, "message_size_bytes": 1000, "duration_s": 60.0},
    "from": "tc1",
    "to": "ts",
}
DOWN = [
    {"at_s": at_s, "link": link, "up": up}
    for at_s, up in ((0.0, True), (20.0, False))
    for link in ("rb>rbsb", "rb>rabc")
]


@pytest.mark.parametrize(("homes", "survives"), [(2, True), (1, False)])
def test_sctp_outlives_its_first_tunnel(play: Play, tmp_path: Any, homes: int, survives: bool) -> None:
    run = dual({**SCTP, "stack_params": {"homes": homes}}, *DOWN, limit_s=300.0)
    (flow,) = play(run)["run"]["flows"]
    assert (flow["outcome"] == "ok") == survives, flow["reason"]
    if survives:
        assert flow["received_messages"] == flow["sent_messages"] == 6000
        assert flow["last_received_s"] > 60
        certificate = certify(run, tmp_path / "out" / "run")
        assert certificate["trusted"], [check for check in certificate["checks"] if not check["passed"]]
    else:
        assert flow["last_received_s"] < 21


def test_more_homes_than_addresses_are_refused(play: Play) -> None:
    flow = {**tcp_flow(), **SCTP, "stack_params": {"homes": 2}, "from": "client", "to": "server"}
    (played,) = play(run_plan(flows=[flow]))["run"]["flows"]
    assert played["outcome"] == "failed"
    assert "`homes` is 2, and the node of 10.0.2.1" in played["reason"]
