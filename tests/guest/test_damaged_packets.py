"""Links that damage packets, and byte streams whose instants cannot be worked out from packets.

That the instants of byte streams are right there, the checks of the crate `workload` show in the guest.
"""

from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.guest.conftest import Play, run_plan, tcp_flow


def _damaging(corrupt: float, **changes: Any) -> dict[str, Any]:
    timeline = [
        {**entry, "corrupt": corrupt} if entry["link"] == "mid>east" else entry
        for entry in run_plan()["timeline"]
    ]
    return run_plan(timeline=timeline, **changes)


def _received_ns(folder: Path, flow: int) -> list[int | None]:
    with pa.memory_map(str(folder / "messages.arrow")) as source:
        table = pa.ipc.open_file(source).read_all()
    rows = table.select(["flow", "received_ns"]).to_pylist()
    return [row["received_ns"] for row in rows if row["flow"] == flow]


def test_byte_streams_arrive_over_a_link_that_damages_packets(play: Play, tmp_path: Path) -> None:
    flows = [tcp_flow(300_000), tcp_flow(300_000, id="f1", stack="tls")]
    runs = [_damaging(0.05, id=f"seed-{seed}", seed=seed, flows=flows) for seed in (1, 2, 3)]
    for name, record in play(*runs).items():
        assert record["outcome"] == "ok", record["reason"]
        for index, flow in enumerate(record["flows"]):
            assert (flow["outcome"], flow["delivery_instants"]) == ("ok", "wire"), flow["reason"]
            instants = [it for it in _received_ns(tmp_path / "out" / name, index) if it is not None]
            assert len(instants) == flow["received_messages"]
            assert instants == sorted(instants)


def _udp() -> dict[str, Any]:
    source = {"rate_bps": 100_000, "message_size_bytes": 1000, "duration_s": 1.0}
    return {**tcp_flow(id="f1", stack="udp", stack_params={}), "app": "cbr", "app_params": source}


def test_a_flow_whose_instants_cannot_be_known_fails_alone(play: Play, tmp_path: Path) -> None:
    """A line without a rate brings more packets at once than the capture can take."""
    delay = [{"at_s": 0.0, "link": link, "delay_s": 0.001} for link in ("mid>east", "mid>west")]
    found = play(run_plan(flows=[tcp_flow(30_000_000), _udp()], timeline=delay))["run"]
    assert found["outcome"] == "ok", found["reason"]
    assert sum(tap["missed_packets"] for tap in found["taps"]) > 0
    tcp, udp = found["flows"]
    assert tcp["outcome"] == "failed"
    assert "too few" in tcp["reason"]
    assert set(_received_ns(tmp_path / "out" / "run", 0)) == {None}
    assert (udp["outcome"], udp["received_messages"]) == ("ok", udp["sent_messages"])


def test_instants_are_those_of_the_receiver_wherever_the_plan_taps(play: Play, tmp_path: Path) -> None:
    """Without a tap at the receiver nothing is worked out from packets: the receiver wakes instead."""
    elsewhere = {**run_plan()["record"], "taps": ["client>west"]}
    flow = tcp_flow(300_000)
    records = play(run_plan(id="here", flows=[flow]), run_plan(id="there", flows=[flow], record=elsewhere))
    told = {name: record["flows"][0]["delivery_instants"] for name, record in records.items()}
    assert told == {"here": "wire", "there": "application"}
    here, there = (_received_ns(tmp_path / "out" / name, 0) for name in told)
    assert len(here) == len(there)
    assert max(abs(a - b) for a, b in zip(here, there, strict=True) if a and b) < 100_000
