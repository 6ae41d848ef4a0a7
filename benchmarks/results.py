"""Speed and size of the results: a million messages stored, read, judged; a million packets as pcapng.

Run it with `python benchmarks/results.py`. It prints what it measured, and asserts nothing.
"""

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from gauntlet.metrics.flow import FlowData
from gauntlet.metrics.kpi import registry
from gauntlet.metrics.steps import Steps
from gauntlet.metrics.windows import windows
from gauntlet.results import parquet, pcapng

MILLION = 1_000_000


def main() -> None:
    """Print one line a measurement."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = messages()
        stored = folder / "messages.parquet"
        told("store a million messages", lambda: parquet.write(table, stored))
        print(f"{'size on disk':<44}{stored.stat().st_size / 1e6:8.2f} MB")
        told("read a million messages", lambda: parquet.read(stored, "messages"))
        flow = flow_of(table)
        told("windows of 1 s", lambda: windows(flow))
        told(
            "all KPIs of the flow", lambda: [kpi.of_flow(flow) for kpi in registry().values() if kpi.of_flow]
        )
        write_packets(folder)
        plan = {"id": "r", "record": {"packets": "headers"}}
        told("pcapng of a million packets", lambda: pcapng.convert(folder, plan, folder / "c.pcapng"))


def told(what: str, work: Callable[[], object]) -> None:
    """Do it and print how long it took."""
    start_s = time.perf_counter()
    work()
    print(f"{what:<44}{time.perf_counter() - start_s:8.3f} s")


def messages() -> pa.Table:
    """A greedy flow at 5.2 Mbit/s: hand-over up to 0.9 s before arrival, arrivals paced by the link, 1 %
    lost.
    """
    rng = np.random.default_rng(3)
    received = np.cumsum(rng.normal(2_300_000, 20_000, MILLION)).astype(np.int64)
    sent = np.maximum.accumulate(received - rng.integers(100_000_000, 900_000_000, MILLION))
    return pa.table(
        {
            "flow": pa.array(np.zeros(MILLION, dtype=np.uint16)),
            "seq": pa.array(np.arange(MILLION, dtype=np.uint32)),
            "size_bytes": pa.array(np.full(MILLION, 1448, dtype=np.uint32)),
            "sent_ns": pa.array(sent),
            "received_ns": pa.array(received, mask=rng.random(MILLION) < 0.01),
        }
    )


def flow_of(table: pa.Table) -> FlowData:
    """The same messages as one flow on a link that changes every second."""
    end_s = float(table["sent_ns"][-1].as_py()) / 1e9
    record = {"stack": "tcp", "start_s": 0.0, "established_s": 0.1, "last_received_s": end_s}
    changes = [(float(t_s), 5.2e6 - 1e6 * (t_s % 3)) for t_s in range(int(end_s))]
    return FlowData(
        run="bench",
        index=0,
        record=record | {"sent_messages": MILLION, "received_messages": MILLION, "received_bytes": 0},
        plan={"app_params": {"duration_s": end_s}},
        protocol="tcp-bbr",
        run_end_s=end_s,
        sent_ns=table["sent_ns"].to_numpy(),
        received_ns=table["received_ns"].combine_chunks().fill_null(-1).to_numpy(),
        size_bytes=table["size_bytes"].to_numpy().astype(np.int64),
        capacity_bps=Steps.of(changes),
    )


def write_packets(folder: Path) -> None:
    """A million header captures of two taps."""
    rng = np.random.default_rng(4)
    packets = np.zeros(MILLION, dtype=pcapng.packet_type("headers"))
    packets["t_ns"] = np.arange(MILLION) * 1_000_000 + rng.integers(0, 5_000_000, MILLION)
    packets["tap"] = np.arange(MILLION) // 1000 % 2
    packets["size_bytes"] = np.where(np.arange(MILLION) % 3, 1500, 52)
    packets["captured_bytes"] = np.minimum(packets["size_bytes"], 112)
    packets["data"][:, 0] = 0x45
    packets.tofile(folder / "packets.bin")
    taps = [{"tap": 0, "link": "a>b"}, {"tap": 1, "link": "b>c"}]
    (folder / "record.json").write_text(json.dumps({"taps": taps}))


if __name__ == "__main__":
    main()
