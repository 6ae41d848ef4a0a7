"""Speed and size of the results: a million messages stored, read, judged; a million packets as pcapng.

Run it with `python benchmarks/results.py`. It prints what it measured and writes `build/bench-results.json`.
"""

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gauntlet.metrics.flow import FlowData
from gauntlet.metrics.registry import registry
from gauntlet.metrics.steps import Steps
from gauntlet.metrics.windows import windows
from gauntlet.results import parquet, pcapng
from speed import program
from speed.host import host, sentence

FULL_COUNT, SHORT_COUNT = 1_000_000, 10_000


def main() -> None:
    """Measure, print one line a measurement, write the JSON."""
    chosen = program.options(
        "results", "Speed and size of the results.", f"{SHORT_COUNT:,} of each"
    ).parse_args()
    count = SHORT_COUNT if chosen.short else FULL_COUNT
    measured: dict[str, Any] = {"host": host(), "short": chosen.short, "count": count}
    with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as name:
        measured["parts"] = measure(Path(name), count)
    print(sentence(measured["host"]))
    for what, value in measured["parts"].items():
        print(f"  {what:<28}{value:>12.4g}")
    program.write(measured, chosen)


def measure(folder: Path, count: int) -> dict[str, float]:
    """Wall seconds (and bytes) of each step with `count` messages or packets."""
    table = messages(count)
    stored = folder / "messages.parquet"
    parts = {"store_messages_s": seconds(lambda: parquet.write(table, stored))}
    parts["stored_bytes"] = stored.stat().st_size
    parts["read_messages_s"] = seconds(lambda: parquet.read(stored, "messages"))
    flow = flow_of(table)
    parts["windows_of_1_s_s"] = seconds(lambda: windows(flow))
    judges = [kpi.of_flow for kpi in registry().values() if kpi.of_flow]
    parts["all_kpis_of_the_flow_s"] = seconds(lambda: [judge(flow) for judge in judges])
    write_packets(folder, count)
    plan = {"id": "r", "record": {"packets": "headers"}}
    parts["pcapng_of_packets_s"] = seconds(lambda: pcapng.convert(folder, plan, folder / "c.pcapng"))
    return parts


def seconds(work: Callable[[], object]) -> float:
    """Wall seconds that `work` takes."""
    start_s = time.perf_counter()
    work()
    return time.perf_counter() - start_s


def messages(count: int) -> pa.Table:
    """A greedy flow at 5.2 Mbit/s: hand-over up to 0.9 s before arrival, arrivals paced by the link, 1 %
    lost.
    """
    rng = np.random.default_rng(3)
    received = np.cumsum(rng.normal(2_300_000, 20_000, count)).astype(np.int64)
    sent = np.maximum.accumulate(received - rng.integers(100_000_000, 900_000_000, count))
    return pa.table(
        {
            "flow": pa.array(np.zeros(count, dtype=np.uint16)),
            "seq": pa.array(np.arange(count, dtype=np.uint32)),
            "size_bytes": pa.array(np.full(count, 1448, dtype=np.uint32)),
            "sent_ns": pa.array(sent),
            "received_ns": pa.array(received, mask=rng.random(count) < 0.01),
        }
    )


def flow_of(table: pa.Table) -> FlowData:
    """The same messages as one flow on a link that changes every second."""
    end_s = float(table["sent_ns"][-1].as_py()) / 1e9
    record = {"stack": "tcp", "start_s": 0.0, "established_s": 0.1, "last_received_s": end_s}
    changes = [(float(t_s), 5.2e6 - 1e6 * (t_s % 3)) for t_s in range(int(end_s))]
    counts = {"sent_messages": table.num_rows, "received_messages": table.num_rows, "received_bytes": 0}
    return FlowData(
        run="bench",
        index=0,
        record=record | counts,
        plan={"app_params": {"duration_s": end_s}},
        protocol="tcp-bbr",
        run_end_s=end_s,
        sent_ns=table["sent_ns"].to_numpy(),
        received_ns=table["received_ns"].combine_chunks().fill_null(-1).to_numpy(),
        size_bytes=table["size_bytes"].to_numpy().astype(np.int64),
        capacity_bps=Steps.of(changes),
    )


def write_packets(folder: Path, count: int) -> None:
    """So many header captures of two taps."""
    rng = np.random.default_rng(4)
    packets = np.zeros(count, dtype=pcapng.packet_type("headers"))
    packets["t_ns"] = np.arange(count) * 1_000_000 + rng.integers(0, 5_000_000, count)
    packets["tap"] = np.arange(count) // 1000 % 2
    packets["size_bytes"] = np.where(np.arange(count) % 3, 1500, 52)
    packets["captured_bytes"] = np.minimum(packets["size_bytes"], 112)
    packets["data"][:, 0] = 0x45
    packets.tofile(folder / "packets.bin")
    taps = [{"tap": 0, "link": "a>b"}, {"tap": 1, "link": "b>c"}]
    (folder / "record.json").write_text(json.dumps({"taps": taps}))


if __name__ == "__main__":
    program.end(main)
