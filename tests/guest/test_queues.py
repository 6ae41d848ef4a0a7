"""Every queue under the token bucket, in the guest: the certificate confirms it; it does what it is for."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gauntlet.certificate import certify
from gauntlet.experiment import queues
from gauntlet.experiment.sysctls import STOCK_SYSCTLS
from tests.guest.conftest import Play, run_plan, tcp_flow

RATE_BPS, ROUND_TRIP_S = 5_200_000, 0.05
LINK = "west>mid"
MARKS = {**STOCK_SYSCTLS, "net.ipv4.tcp_ecn": "1"}
KINDS = sorted(set(queues.KINDS) - {"bfifo"})
OWN: dict[str, dict[str, Any]] = {
    "codel": {"ecn": True},
    "pie": {"ecn": True},
    "red": {"ecn": True, "limit": [60_000, "bytes"]},
}
"""What they are asked beside their defaults; a RED of 512 kB would have nothing to do."""


def _run(queue: Mapping[str, Any] | None, **changes: Any) -> dict[str, Any]:
    """A greedy TCP beside a call, upwards through the queue."""
    shaped = {"rate_bps": RATE_BPS, "queue_limit_bytes": 512_000} if queue is None else _shaper(queue)
    timeline = [
        {"at_s": 0.0, "link": LINK, **shaped} if entry["link"] == LINK else entry
        for entry in run_plan()["timeline"]
    ]
    call = {
        "id": "f1",
        "stack": "udp",
        "stack_params": {"dscp": 46},
        "app": "voip",
        "app_params": {"duration_s": 10.0},
        "from": "client",
        "to": "server",
        "start_s": 1.0,
    }
    return run_plan(timeline=timeline, flows=[tcp_flow(6_000_000), call], **changes)


def _shaper(queue: Mapping[str, Any]) -> dict[str, Any]:
    return {"rate_bps": RATE_BPS, **queues.planned(queue, RATE_BPS, ROUND_TRIP_S)}


def _certified(run: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    found = certify(run, folder)
    failed = [check["sentence"] for check in found["checks"] if check["answer"] == "contradicted"]
    assert found["trusted"], failed
    return {check["name"]: check for check in found["checks"] if check["link"] == LINK}


def _latest_ms(folder: Path) -> float:
    """The 95th percentile of the delays of the call's messages, in milliseconds."""
    import pyarrow as pa

    with pa.OSFile(str(folder / "messages.arrow")) as source:
        rows = [row for row in pa.ipc.open_file(source).read_all().to_pylist() if row["flow"] == 1]
    delays = sorted(row["received_ns"] - row["sent_ns"] for row in rows if row["received_ns"] is not None)
    return float(delays[int(0.95 * len(delays))]) / 1e6


@pytest.mark.parametrize("ecn", [False, True], ids=["without ECN", "with ECN"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_queue_is_what_was_asked(play: Play, tmp_path: Path, kind: str, ecn: bool) -> None:
    run = _run({"kind": kind, **OWN.get(kind, {})}, sysctls=MARKS if ecn else dict(STOCK_SYSCTLS))
    record = play(run)["run"]
    (counters,) = [link for link in record["links"] if link["link"] == LINK]
    assert counters["queue"] == kind
    checks = _certified(run, tmp_path / "out" / "run")
    assert {"order", "drops", "marks", "rate", "pace"} <= set(checks)
    markable = checks["marks"]["measured"]["markable_packets"]
    assert (markable > 0) == ecn
    if kind in ("codel", "fq_codel"):
        assert checks["control"]["answer"] == "confirmed"
    if kind == "cake":
        # It holds the flow back before anything has waited long enough to be held against it.
        assert checks["control"]["measured"]["signals"] > 0
    if kind in ("codel", "fq_codel", "cake"):
        assert (checks["marks"]["measured"]["marked_packets"] > 0) == ecn


def test_a_fair_queue_keeps_a_call_early(play: Play, tmp_path: Path) -> None:
    play(_run(None))
    late_ms = _latest_ms(tmp_path / "out" / "run")
    play({**_run({"kind": "fq_codel"}), "id": "fair"})
    early_ms = _latest_ms(tmp_path / "out" / "fair")
    assert early_ms < 35
    assert late_ms > 100


def test_a_change_of_the_rate_keeps_the_queue_and_its_limit(play: Play, tmp_path: Path) -> None:
    run = _run({"kind": "pfifo", "limit": [20, "packets"]})
    run["timeline"].append({"at_s": 4.0, "link": LINK, "rate_bps": RATE_BPS // 2})
    play(run)
    checks = _certified(run, tmp_path / "out" / "run")
    assert checks["queue"]["measured"]["most_packets"] == 20
    assert checks["drops"]["measured"]["dropped_packets"] > 0


def test_dctcp_keeps_a_marking_queue_short(play: Play, tmp_path: Path) -> None:
    queue = {"kind": "codel", "ecn": True, "ce_threshold_s": 0.001}
    run = _run(queue, sysctls=MARKS)
    run["flows"][0]["stack_params"] = {"congestion_control": "dctcp"}
    assert play(run)["run"]["flows"][0]["outcome"] == "ok"
    checks = _certified(run, tmp_path / "out" / "run")
    assert checks["marks"]["measured"]["marked_packets"] > 50
    assert checks["drops"]["measured"]["dropped_packets"] == 0


def test_a_dscp_is_written_by_both_ends(play: Play, tmp_path: Path) -> None:
    run = run_plan(flows=[tcp_flow(50_000, stack_params={"congestion_control": "cubic", "dscp": 46})])
    play(run)
    found = json.loads((tmp_path / "out" / "run" / "record.json").read_text())
    from gauntlet.certificate.capture import CAPTURE_BYTES, read_capture

    taps = [(tap["tap"], tap["link"]) for tap in found["taps"]]
    capture = read_capture(tmp_path / "out" / "run" / "packets.bin", CAPTURE_BYTES["headers"], taps)
    classes = {int(octet) >> 2 for octet in capture.records["packet"][:, 1]}
    assert classes == {46}
