"""Calls and video over RTP in the guest: whole over every transport, and given up in time over SCTP."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from gauntlet.certificate import certify
from tests.guest.conftest import Play, run_plan, tcp_flow

VIDEO = {
    "rate_bps": 1_000_000,
    "duration_s": 4.0,
    "frame_rate_hz": 25.0,
    "packet_bytes": 1100,
    "playout_s": 0.16,
}
STACKS: dict[str, dict[str, Any]] = {
    "udp": {},
    "tcp": {"congestion_control": "cubic"},
    "sctp": {"lifetime_s": 0.16},
    "dtls": {},
    "quic-quinn": {"congestion_control": "cubic", "datagrams": True},
    "restp": {"profile": "voice"},
}


def _flow(stack: str, params: dict[str, Any], app: str, app_params: dict[str, Any]) -> dict[str, Any]:
    return {**tcp_flow(), "stack": stack, "stack_params": params, "app": app, "app_params": app_params}


def _read(folder: Path, name: str) -> pa.Table:
    with pa.memory_map(str(folder / f"{name}.arrow")) as source:
        return pa.ipc.open_file(source).read_all()


def _delays_s(folder: Path) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Of the messages that arrived."""
    table = _read(folder, "messages")
    came = table.filter(pc.is_valid(table["received_ns"]))
    delays_ns = came["received_ns"].to_numpy() - came["sent_ns"].to_numpy()
    return np.asarray(delays_ns / 1e9, np.float64)


@pytest.mark.parametrize("stack", STACKS)
def test_every_frame_of_a_video_arrives_where_nothing_is_lost(play: Play, tmp_path: Path, stack: str) -> None:
    run = run_plan(flows=[_flow(stack, STACKS[stack], "video", VIDEO)])
    (flow,) = play(run)["run"]["flows"]
    assert flow["outcome"] == "ok", flow["reason"]
    assert flow["received_bytes"] == flow["sent_bytes"]
    frames = _read(tmp_path / "out" / "run", "exchanges")
    assert frames.num_rows == 100
    assert frames["completed_ns"].null_count == 0
    messages = _read(tmp_path / "out" / "run", "messages")
    assert sum(messages["size_bytes"].to_pylist()) == flow["sent_bytes"]
    certificate = certify(run, tmp_path / "out" / "run")
    assert certificate["trusted"], [check for check in certificate["checks"] if not check["passed"]]


def test_every_transport_is_offered_the_same_frames(play: Play, tmp_path: Path) -> None:
    runs = [
        run_plan(id=stack, flows=[_flow(stack, STACKS[stack], "video", VIDEO)]) for stack in ("udp", "tcp")
    ]
    play(*runs)
    udp, tcp = (_read(tmp_path / "out" / run["id"], "exchanges") for run in runs)
    for column in ("object", "size_bytes", "requested_ns"):
        assert udp[column].equals(tcp[column]), column


def test_sctp_with_a_lifetime_delivers_nothing_old(play: Play, tmp_path: Path) -> None:
    """Without one, what is lost twice comes after a time-out of a second."""
    call = {"duration_s": 60.0, "codec": "g711"}
    found = {}
    for name, params in (("reliable", {}), ("partial", {"lifetime_s": 0.16})):
        run = run_plan(id=name, flows=[_flow("sctp", params, "voip", call)])
        run["timeline"] = [
            {**change, "loss": 0.05} if change["link"] == "mid>east" else change for change in run["timeline"]
        ]
        (flow,) = play(run)[name]["flows"]
        assert flow["outcome"] == "ok", flow["reason"]
        found[name] = flow["received_messages"], _delays_s(tmp_path / "out" / name).max()
    assert found["reliable"][0] == 3000
    assert found["reliable"][1] > 0.5
    # A message is sent at an age of 160 ms at most, and then takes 25 ms and what the kernel's ticks add.
    assert found["partial"][1] < 0.2
    assert 2900 < found["partial"][0] < 3000
