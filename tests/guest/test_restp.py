"""ResTP as a stack of the guest: calls, pages, several paths, and what its samples say."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from gauntlet.certificate import certify
from gauntlet.certificate.capture import CAPTURE_BYTES, record_dtype
from tests.guest.conftest import Play, run_plan, tcp_flow

LINE_RATE_BPS = 2_000_000


def _restp(profile: str, **changes: Any) -> dict[str, Any]:
    return {**tcp_flow(), "stack": "restp", "stack_params": {"profile": profile}, **changes}


def _flow(record: Mapping[str, Any]) -> Mapping[str, Any]:
    (flow,) = record["flows"]
    assert flow["outcome"] == "ok", flow
    return dict(flow)


def _trusted(run: Mapping[str, Any], tmp_path: Path) -> None:
    certificate = certify(run, tmp_path / "out" / str(run["id"]))
    assert certificate["trusted"], [check for check in certificate["checks"] if not check["passed"]]


def _two_lines(flow: dict[str, Any], second_delay_s: float = 0.02, **changes: Any) -> dict[str, Any]:
    """Two lines of 2 Mbit/s each, with 20 ms on the first."""
    shaper = {"at_s": 0.0, "rate_bps": LINE_RATE_BPS, "queue_limit_bytes": 64_000}
    rates = ("west>mid", "east>mid", "west2>mid2", "east2>mid2")
    delays = {"mid>east": 0.02, "mid>west": 0.02, "mid2>east2": second_delay_s, "mid2>west2": second_delay_s}
    timeline = [
        *({**shaper, "link": link} for link in rates),
        *({"at_s": 0.0, "link": link, "delay_s": delay_s} for link, delay_s in delays.items()),
    ]
    return run_plan(network={"preset": "wire-dual"}, timeline=timeline, flows=[flow], **changes)


def test_a_call_arrives_whole_on_a_line_without_losses(play: Play, tmp_path: Path) -> None:
    run = run_plan(flows=[_restp("voice", app="voip", app_params={"duration_s": 20.0})])
    flow = _flow(play(run)["run"])
    assert flow["received_messages"] == flow["sent_messages"] == 1000
    _trusted(run, tmp_path)


def test_a_page_is_loaded(play: Play, tmp_path: Path) -> None:
    run = run_plan(flows=[_restp("web_opt", app="web", app_params={"page": "fixed"})])
    play(run)
    with pa.ipc.open_file(tmp_path / "out" / "run" / "exchanges.arrow") as reader:
        objects = reader.read_all()
    assert objects.num_rows == 2
    _trusted(run, tmp_path)


@pytest.mark.parametrize("second_delay_s", [0.02, 0.06])
def test_two_paths_carry_more_than_one(play: Play, tmp_path: Path, second_delay_s: float) -> None:
    """The addresses of the nodes are enough; the plan need not name the second path."""
    run = _two_lines(_restp("multipath", app_params={"size_bytes": 3_000_000}), second_delay_s)
    record = play(run)["run"]
    flow = _flow(record)
    throughput_bps = 8 * flow["received_bytes"] / (flow["last_received_s"] - flow["established_s"])
    assert throughput_bps > 1.4 * LINE_RATE_BPS
    assert [path.get("addresses") for path in record["paths"]] == [None, ["10.0.3.1", "10.0.4.1"]]
    _trusted(run, tmp_path)


def test_acknowledgements_leave_when_packets_arrive(play: Play, tmp_path: Path) -> None:
    """The paths on which nothing has arrived cost no time: a call in vain would take a microsecond."""
    record = play(_two_lines(_restp("multipath", app_params={"size_bytes": 300_000})))["run"]
    packets = np.fromfile(tmp_path / "out" / "run" / "packets.bin", record_dtype(CAPTURE_BYTES["headers"]))
    taps = {tap["link"]: tap["tap"] for tap in record["taps"]}

    def at_ns(*links: str) -> Any:
        return np.sort(packets["time_ns"][np.isin(packets["tap"], [taps[link] for link in links])])

    arrived_ns, answered_ns = at_ns("mid>east", "mid2>east2"), at_ns("east>mid", "east2>mid2")
    answered_ns = answered_ns[answered_ns > arrived_ns[0]]
    later_ns = answered_ns - arrived_ns[np.searchsorted(arrived_ns, answered_ns, side="right") - 1]
    assert len(later_ns) > 50
    assert np.quantile(later_ns, 0.9) < 1000


@pytest.mark.parametrize("backup", [False, True])
def test_a_path_that_the_plan_names_goes_on_when_the_first_fails(
    play: Play, tmp_path: Path, backup: bool
) -> None:
    further = [{"source": "10.0.3.1", "destination": "10.0.4.1", "backup": backup}]
    params = {"profile": "multipath", "further_paths": further}
    run = _two_lines(_restp("multipath", app_params={"size_bytes": 2_000_000}) | {"stack_params": params})
    run["timeline"] += [{"at_s": 3.0, "link": link, "up": False} for link in ("mid>east", "mid>west")]
    flow = _flow(play(run)["run"])
    assert flow["received_bytes"] == 2_000_000
    _trusted(run, tmp_path)


def test_samples_say_what_the_transport_knows(play: Play, tmp_path: Path) -> None:
    record = {"messages": True, "socket_interval_s": 0.05, "packets": "headers", "taps": None}
    lossy = [
        {**entry, "loss": 0.01} if entry["link"] == "mid>east" else entry for entry in run_plan()["timeline"]
    ]
    play(
        run_plan(
            flows=[_restp("file_arq", app_params={"size_bytes": 2_000_000})], timeline=lossy, record=record
        )
    )
    with pa.ipc.open_file(tmp_path / "out" / "run" / "sockets.arrow") as reader:
        samples = reader.read_all().to_pylist()
    last = samples[-1]
    for column in ("srtt_ns", "rttvar_ns", "min_rtt_ns", "ssthresh_bytes", "delivered_bytes"):
        assert last[column] is not None, column
    assert 45e6 < last["min_rtt_ns"] <= last["srtt_ns"]
    assert 0 < last["rttvar_ns"] < last["srtt_ns"]
    delivered = [sample["delivered_bytes"] for sample in samples]
    assert delivered == sorted(delivered)
    assert 1_000_000 < delivered[-1] <= 2_000_000
    assert any(sample["pacing_rate_bps"] for sample in samples)
