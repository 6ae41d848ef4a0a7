"""Periodic messages over a transport that keeps their order: none could be read before the ones before it."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.guest.conftest import Play, run_plan, tcp_flow


def _exchanges(folder: Path) -> list[dict[str, Any]]:
    with pa.memory_map(str(folder / "exchanges.arrow")) as source:
        rows: list[dict[str, Any]] = pa.ipc.open_file(source).read_all().to_pylist()
    return rows


def test_messages_of_one_stream_are_readable_in_their_order(play: Play, tmp_path: Path) -> None:
    """At 5 % of loss messages come while an earlier one is sent again; SCTP hands none over before it."""
    lossy = [
        {**entry, "loss": 0.05} if entry["link"] == "mid>east" else entry for entry in run_plan()["timeline"]
    ]
    messages = {"message_size_bytes": 200, "interval_s": 0.01, "duration_s": 5.0}
    flow = tcp_flow(stack="sctp", stack_params={}, app="periodic", app_params=messages)
    record = play(run_plan(flows=[flow], timeline=lossy))["run"]
    assert record["flows"][0]["outcome"] == "ok", record["flows"][0]["reason"]
    rows = _exchanges(tmp_path / "out" / "run")
    assert len(rows) == 500
    waited = 0
    for before, after in pairwise(rows):
        assert before["completed_ns"] <= after["completed_ns"]
        assert before["completed_ns"] <= after["first_byte_ns"]
        waited += after["completed_ns"] == before["completed_ns"]
    # Some did wait.
    assert waited > 10
