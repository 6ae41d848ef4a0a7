"""TCP Fast Open: the first data go with the SYN, and a session is a round trip sooner."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gauntlet.certificate import certify
from gauntlet.certificate.capture import CAPTURE_BYTES, record_dtype
from tests.guest.conftest import Play, run_plan, tcp_flow

RTT_S = 0.05
WEB = {"app": "web", "app_params": {"page": "fixed"}}


def _flow(fast_open: bool, **changes: Any) -> dict[str, Any]:
    params = {"congestion_control": "cubic", "fast_open": fast_open}
    return {**tcp_flow(20_000), "stack_params": params, **changes}


def _syn_payload_bytes(folder: Path, tap: int) -> list[int]:
    """TCP payload of each SYN that a tap saw, in order."""
    records = np.fromfile(folder / "packets.bin", record_dtype(CAPTURE_BYTES["headers"]))
    packets = records[records["tap"] == tap]["packet"]
    tcp = packets[packets[:, 9] == 6]
    syns = tcp[tcp[:, 33] & 0x12 == 0x02]
    lengths = syns[:, 2].astype(int) * 256 + syns[:, 3]
    return [
        int(length) - 20 - 4 * int(offset >> 4) for length, offset in zip(lengths, syns[:, 32], strict=True)
    ]


def _tap(record: Mapping[str, Any]) -> int:
    last = record["paths"][0]["forward"][-1]
    return next(int(tap["tap"]) for tap in record["taps"] if tap["link"] == last)


@pytest.mark.parametrize("app", ["bulk", "web"])
def test_the_syn_carries_data_and_saves_a_round_trip(play: Play, tmp_path: Path, app: str) -> None:
    changes = WEB if app == "web" else {"app_params": {"size_bytes": 1000}}
    plain = run_plan(id="plain", flows=[_flow(False, **changes)])
    fast = run_plan(id="fast", flows=[_flow(True, **changes)])
    records = play(plain, fast)
    flows = {key: record["flows"][0] for key, record in records.items()}
    assert all(flow["outcome"] == "ok" for flow in flows.values()), flows
    assert _syn_payload_bytes(tmp_path / "out" / "plain", _tap(records["plain"])) == [0]
    (first,) = _syn_payload_bytes(tmp_path / "out" / "fast", _tap(records["fast"]))
    assert first == (350 if app == "web" else 1000)
    saved_s = flows["plain"]["last_received_s"] - flows["fast"]["last_received_s"]
    assert RTT_S * 0.9 < saved_s < RTT_S * 1.5, saved_s
    certificate = certify(fast, tmp_path / "out" / "fast")
    assert certificate["trusted"], [check for check in certificate["checks"] if not check["passed"]]


@pytest.mark.parametrize("size_bytes", [1, 500])
def test_a_transfer_that_fits_the_syn_is_complete(play: Play, size_bytes: int) -> None:
    record = play(run_plan(flows=[_flow(True, app_params={"size_bytes": size_bytes})]))["run"]
    (flow,) = record["flows"]
    assert (flow["outcome"], flow["received_bytes"]) == ("ok", size_bytes), flow


def test_nobody_at_the_port_is_a_failure_in_words(play: Play) -> None:
    """Packets to the receiver are lost: the flow ends with a sentence, although data were handed over."""
    timeline = [*run_plan()["timeline"], {"at_s": 0.0, "link": "mid>east", "up": False}]
    record = play(run_plan(timeline=timeline, flows=[_flow(True)], limit_s=30.0))["run"]
    (flow,) = record["flows"]
    assert flow["outcome"] == "failed"
    assert "did not" in flow["reason"] or "timed out" in flow["reason"] or "limit" in flow["reason"], flow
