"""What a flow of UDP does to the flows beside it on its host: nothing."""

from pathlib import Path

import pyarrow as pa
import pytest

from tests.guest.conftest import Play, run_plan, tcp_flow

TOLERANCE_NS = 10_000
"""A few dozen readings of the clock, which threads of the other flow make and which take 256 ns each."""


def _instants_ns(folder: Path) -> list[int]:
    """When each message of the first flow was handed over, and when it had arrived."""
    with pa.memory_map(str(folder / "messages.arrow")) as source:
        rows = pa.ipc.open_file(source).read_all().to_pylist()
    first = [row for row in rows if row["flow"] == 0]
    return [row[instant] for instant in ("sent_ns", "received_ns") for row in first]


@pytest.mark.parametrize("congestion_control", ["cubic", "bbr"])
def test_a_neighbour_of_udp_changes_nothing_before_it_sends(
    play: Play, tmp_path: Path, congestion_control: str
) -> None:
    """Its datagrams come after the transfer; the queue that holds them until then is there from the start."""
    flow = tcp_flow(400_000, stack_params={"congestion_control": congestion_control})
    source = {"rate_bps": 100_000, "message_size_bytes": 1000, "duration_s": 0.5}
    udp = {**flow, "id": "f1", "stack": "udp", "stack_params": {}, "app": "cbr", "app_params": source}
    records = play(
        run_plan(id="alone", flows=[flow]), run_plan(id="beside", flows=[flow, {**udp, "start_s": 30.0}])
    )
    queues = [{link["kind"] for link in record["links"]} for record in records.values()]
    assert ["fq" in kinds for kinds in queues] == [False, True]
    alone, beside = (_instants_ns(tmp_path / "out" / name) for name in ("alone", "beside"))
    assert len(alone) == len(beside)
    assert max(abs(a - b) for a, b in zip(alone, beside, strict=True)) <= TOLERANCE_NS
