"""Messages that a queue of the sender's own drops are counted apart from those that the network loses."""

from typing import Any

from tests.guest.conftest import Play, run_plan, tcp_flow


def _cbr(stack: str, rate_bps: int, duration_s: float, **stack_params: Any) -> dict[str, Any]:
    source = {"rate_bps": rate_bps, "message_size_bytes": 1000, "duration_s": duration_s}
    return tcp_flow(stack=stack, stack_params=stack_params, app="cbr", app_params=source)


def test_datagrams_that_the_senders_queue_drops_are_counted_apart(play: Play) -> None:
    own = {"at_s": 0.0, "link": "client>west", "rate_bps": 1_000_000, "queue_limit_bytes": 20_000}
    lossy = [
        {**entry, "loss": 0.05} if entry["link"] == "mid>east" else entry for entry in run_plan()["timeline"]
    ]
    udp = [_cbr("udp", 2_000_000, 2.0)]
    records = play(
        run_plan(id="own-queue", flows=udp, timeline=[own, *run_plan()["timeline"]]),
        run_plan(id="network", flows=udp, timeline=lossy),
        run_plan(id="library", flows=[_cbr("quic-quinn", 12_000_000, 3.0, datagrams=True)]),
        run_plan(id="stream", flows=[tcp_flow(20_000)]),
    )
    flows = {name: record["flows"][0] for name, record in records.items()}
    assert all(flow["outcome"] == "ok" for flow in flows.values()), flows
    dropped = {name: flow.get("sender_dropped_messages") for name, flow in flows.items()}
    missing = {name: flow["sent_messages"] - flow["received_messages"] for name, flow in flows.items()}
    assert dropped["own-queue"] == missing["own-queue"] > 100
    assert dropped["network"] == 0 < missing["network"]
    # What the line's queue lost is not the sender's.
    lost = sum(link["dropped_packets"] for link in records["library"]["links"])
    assert dropped["library"] > 100
    assert 0 <= missing["library"] - dropped["library"] <= lost
    assert dropped["stream"] is None
