"""On-off sources and files at a rate: what is handed over, and when."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.guest.conftest import Play, run_plan, tcp_flow

MESSAGE_BYTES = 200
INTERVAL_NS = 20_000_000
"""Of messages of 200 bytes at 80 kbit/s."""


def handed_over_ns(folder: Path) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """When each message of a run was handed over, from the flow's start on."""
    with pa.memory_map(str(folder / "messages.arrow")) as source:
        table = pa.ipc.open_file(source).read_all()
    since_start_ns: np.ndarray[tuple[int], np.dtype[np.int64]]
    since_start_ns = table.column("sent_ns").to_numpy().astype(np.int64) - 500_000_000
    return since_start_ns


def on_off(stack: str, seed: int = 1, peak_rate_bps: int | None = 80_000) -> dict[str, Any]:
    params = {"congestion_control": "cubic"} if stack == "tcp" else {}
    source = {
        "peak_rate_bps": peak_rate_bps,
        "message_size_bytes": MESSAGE_BYTES,
        "mean_on_s": 1.2,
        "mean_off_s": 1.8,
        "duration_s": 60.0,
    }
    flow = {**tcp_flow(), "stack": stack, "stack_params": params, "app": "vbr", "app_params": source}
    return run_plan(id=f"{stack}-{seed}", seed=seed, flows=[flow])


def test_every_transport_is_offered_the_same_periods(play: Play, tmp_path: Path) -> None:
    runs = [on_off("tcp"), on_off("sctp"), on_off("udp"), on_off("udp", seed=2)]
    records = play(*runs)
    for record in records.values():
        (flow,) = record["flows"]
        assert flow["outcome"] == "ok", flow["reason"]
        assert flow["received_messages"] == flow["sent_messages"]
    tcp, sctp, udp, other = (handed_over_ns(tmp_path / "out" / run["id"]) for run in runs)
    for found in (tcp, sctp):
        assert len(found) == len(udp)
        # What the line can carry is handed over on time, give or take a few readings of the clock; what is
        # ready before the connection stands comes with its beginning, 50 ms after the start.
        late_ns = found - udp
        assert late_ns.min() >= -10_000
        assert late_ns[found > 200_000_000].max() < 100_000
    gaps_ns = np.diff(udp)
    within = gaps_ns < 2 * INTERVAL_NS
    assert abs(gaps_ns[within] - INTERVAL_NS).max() < 20_000
    assert 5 < (~within).sum() < 40, "pauses in 60 s, at 3 s for a period on and off"
    assert len(other) != len(udp) or (other != udp).any()


def test_a_greedy_source_sends_nothing_while_it_is_off(play: Play, tmp_path: Path) -> None:
    paced, greedy = on_off("udp"), on_off("tcp", peak_rate_bps=None)
    play(paced, greedy)
    on_ns, found_ns = (handed_over_ns(tmp_path / "out" / run["id"]) for run in (paced, greedy))
    # The paced messages mark the on periods: a period reaches at most one interval beyond its last message.
    before = np.searchsorted(on_ns, found_ns, side="right") - 1
    late = found_ns - on_ns[before] > INTERVAL_NS + 2_000_000
    # A message of which the socket has taken a part is completed: one a period at most.
    pauses = int((np.diff(on_ns) > 2 * INTERVAL_NS).sum())
    assert late.sum() <= pauses + 1
    assert len(found_ns) > 10 * len(on_ns)


def test_two_files_at_half_the_line_each(play: Play) -> None:
    def file(name: str, congestion_control: str, sender: str) -> dict[str, Any]:
        return {
            **tcp_flow(),
            "id": name,
            "stack_params": {"congestion_control": congestion_control},
            "app_params": {"size_bytes": 1_000_000, "message_size_bytes": 1448, "rate_bps": 2_600_000},
            "from": sender,
            "to": "server",
        }

    record = play(run_plan(flows=[file("a", "bbr", "client"), file("b", "cubic", "client")]))["run"]
    for flow in record["flows"]:
        assert flow["outcome"] == "ok", flow["reason"]
        assert flow["received_bytes"] == 1_000_000
        # The last message is ready 3.08 s after the start; alone and greedy the transfer would take 1.6 s.
        assert flow["last_received_s"] - flow["start_s"] == pytest.approx(3.2, abs=0.4)
