"""A processor in virtual time: jobs are done one after the other, and waiting is as long as queueing says."""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.guest.conftest import Play, run_plan

HANDSHAKE_NS = 18_400_000
OVER = {
    "tls": {"congestion_control": "cubic"},
    "quic-quinn": {"congestion_control": "cubic"},
    "quic-s2n": {"congestion_control": "cubic"},
}


def _sessions(
    stack: str, starts_s: Sequence[float], *, interval_s: float = 100.0, count: int = 1, **changes: Any
) -> dict[str, Any]:
    """Sessions with one message each to a server with a processor, over a line without a rate: from each
    beginning on so many, one an interval."""
    message = {"message_size_bytes": 100, "interval_s": interval_s, "duration_s": interval_s * count}
    flows = [
        {
            "id": f"f{number}",
            "stack": stack,
            "stack_params": OVER[stack],
            "app": "periodic",
            "app_params": {**message, "connection": "fresh"},
            "from": "client",
            "to": "server",
            "start_s": start_s,
        }
        for number, start_s in enumerate(starts_s)
    ]
    line = [{"at_s": 0.0, "link": link, "delay_s": 0.005} for link in ("mid>east", "mid>west")]
    processor = {"node": "server", "handshake_ns": HANDSHAKE_NS}
    return run_plan(**{"id": stack, "timeline": line, "flows": flows, "processor": processor, **changes})


def _exchanges(folder: Path) -> list[dict[str, Any]]:
    with pa.OSFile(str(folder / "exchanges.arrow")) as source:
        rows: list[dict[str, Any]] = pa.ipc.open_file(source).read_all().to_pylist()
    assert {row["outcome"] for row in rows} == {"ok"}
    return rows


def _waited_ns(arrivals_ns: Sequence[int], cost_ns: int) -> int:
    """For how long jobs wait in all, by Lindley's recursion."""
    free_ns = waited_ns = 0
    for arrival_ns in sorted(arrivals_ns):
        begins_ns = max(arrival_ns, free_ns)
        waited_ns += begins_ns - arrival_ns
        free_ns = begins_ns + cost_ns
    return waited_ns


@pytest.mark.parametrize("stack", OVER)
def test_sessions_that_come_at_once_are_served_one_after_the_other(
    play: Play, tmp_path: Path, stack: str
) -> None:
    plain = _sessions(stack, [0.5], id="plain", processor=None)
    at_once = _sessions(stack, [0.5] * 5)
    records = play(plain, at_once)
    usage = records[stack]["processor"]
    assert usage["node"] == "server"
    assert (usage["handshakes"], usage["requests"], usage["jobs"]) == (5, 5, 5)
    assert usage["busy_ns"] == 5 * HANDSHAKE_NS
    assert usage["longest_queue"] == 5
    assert usage["longest_wait_ns"] == pytest.approx(4 * HANDSHAKE_NS, abs=100_000)
    assert "processor" not in records["plain"]
    key = "secured_ns" if stack == "tls" else "connected_ns"
    (alone,) = _exchanges(tmp_path / "out" / "plain")
    usual_ns = alone[key] - alone["requested_ns"]
    taken = sorted(row[key] - row["requested_ns"] for row in _exchanges(tmp_path / "out" / stack))
    expected = [usual_ns + place * HANDSHAKE_NS for place in range(1, 6)]
    assert taken == pytest.approx(expected, abs=200_000)


@pytest.mark.parametrize("stack", OVER)
def test_waiting_is_that_of_a_queue_with_one_server(play: Play, stack: str) -> None:
    drawn = random.Random(f"arrivals {stack}")
    # 10 sessions each quarter of a second: a load of 0.74. Each is over before its client's next one is due.
    starts_s = [round(0.5 + drawn.uniform(0.0, 0.25), 6) for _ in range(10)]
    usage = play(_sessions(stack, starts_s, interval_s=0.25, count=24))[stack]["processor"]
    assert (usage["handshakes"], usage["busy_ns"]) == (240, 240 * HANDSHAKE_NS)
    arrivals_ns = [round((start_s + 0.25 * turn) * 1e9) for start_s in starts_s for turn in range(24)]
    expected_ns = _waited_ns(arrivals_ns, HANDSHAKE_NS)
    assert expected_ns > 50 * HANDSHAKE_NS
    assert usage["waited_ns"] == pytest.approx(expected_ns, rel=0.02)


def test_requests_wait_behind_handshakes_and_packets_take_their_share(play: Play, tmp_path: Path) -> None:
    costs = {"node": "server", "handshake_ns": 1_000_000, "request_ns": 5_000_000, "packet_ns": 100_000}
    run = _sessions("tls", [0.5, 0.5], processor=costs)
    usage = play(run)["tls"]["processor"]
    assert (usage["handshakes"], usage["requests"]) == (2, 2)
    assert usage["packets"] >= 6
    assert usage["busy_ns"] == 2 * 6_000_000 + usage["packets"] * 100_000
    first, second = sorted(row["completed_ns"] for row in _exchanges(tmp_path / "out" / "tls"))
    assert second - first >= 5_000_000


def test_the_same_seed_gives_the_same_bytes(play: Play, tmp_path: Path) -> None:
    starts_s = [0.5 + 0.01 * place for place in range(20)]
    for stack in ("tls", "quic-quinn"):
        play(_sessions(stack, starts_s, id=f"{stack}-one"))
        play(_sessions(stack, starts_s, id=f"{stack}-two"))
        files = []
        for name in ("one", "two"):
            folder = tmp_path / "out" / f"{stack}-{name}"
            record = json.loads((folder / "record.json").read_text())
            packets = (folder / "packets.bin").read_bytes()
            files.append((record["processor"], _exchanges(folder), packets))
        assert files[0] == files[1]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"processor": {"node": "client", "packet_ns": 1}}, ['"client"', "no flow is waited for"]),
        ({"programs": [{"id": "own", "node": "server", "argv": ["/bin/true"]}]}, ['program "own"']),
    ],
)
def test_a_processor_that_nobody_can_use_is_refused(
    play: Play, changes: dict[str, Any], words: list[str]
) -> None:
    record = play(_sessions("tls", [0.5], **changes))["tls"]
    assert record["outcome"] == "failed"
    for word in words:
        assert word in record["reason"]


def test_a_transport_whose_work_is_not_told_is_refused(play: Play) -> None:
    flow = {"id": "f0", "stack": "udp", "stack_params": {}, "app": "cbr", "from": "client", "to": "server"}
    app = {"rate_bps": 40_000, "message_size_bytes": 100, "duration_s": 1.0}
    processor = {"node": "server", "packet_ns": 1}
    record = play(run_plan(flows=[{**flow, "app_params": app, "start_s": 0.5}], processor=processor))["run"]
    assert record["outcome"] == "failed"
    assert "`udp`" in record["reason"] and "`tls`" in record["reason"]
