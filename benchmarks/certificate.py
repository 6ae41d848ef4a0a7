"""How long a certificate takes: a million packets on eight taps, with two shapers and two delays, and a flow
whose every message is held against its packet.

Prints the time of the whole certificate and of reading the capture alone, each the best of three, and writes
`build/bench-certificate.json`. Run with `python benchmarks/certificate.py`.
"""

import json
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gauntlet.certificate import certify
from gauntlet.certificate.capture import read_capture, record_dtype
from gauntlet.errors import RunError
from speed import program
from speed.host import host, sentence

FORWARD = ["sa>gw", "gw>radio", "radio>core", "lan>srv"]
RETURN = ["lan>tgw", "tgw>core", "core>radio", "sa>cli"]
INSIDE_TUNNEL = {"gw>radio", "radio>core", "tgw>core", "core>radio"}
RATE_BPS, DELAY_NS, DATA_BYTES, ANSWER_BYTES = 50_000_000, 25_000_000, 1476, 72
MESSAGE_BYTES = DATA_BYTES - 28

FULL_COUNT, SHORT_COUNT = 1_000_000, 8_000
REPETITIONS = 3


def main() -> None:
    """Make a capture, certify it, print and write how long that took."""
    what, short = "How long a certificate takes.", f"{SHORT_COUNT:,} packets"
    chosen = program.options("certificate", what, short).parse_args()
    packets = SHORT_COUNT if chosen.short else FULL_COUNT
    measured = {"host": host(), "short": chosen.short, "parts": measure(packets)}
    parts = measured["parts"]
    print(sentence(measured["host"]))
    print(
        f"  {parts['packets']:,} packets: {parts['whole_s']:.3g} s "
        f"({parts['packets_per_s'] / 1e6:.2f} million packets/s), of which reading {parts['reading_s']:.3g} s"
    )
    program.write(measured, chosen)


def measure(packets: int) -> dict[str, Any]:
    """The best of three times of the whole certificate and of reading its capture.

    Raises RunError when the capture is not trusted: then something else was measured.
    """
    with tempfile.TemporaryDirectory(prefix="gauntlet-bench-") as folder:
        record = Path(folder)
        plan_run = _write_run(record, packets // 8)
        whole_s = min(_timed(lambda: certify(plan_run, record)) for _ in range(REPETITIONS))
        taps = list(enumerate(FORWARD + RETURN))
        capture = record / "packets.bin"
        reading_s = min(_timed(lambda: read_capture(capture, 112, taps)) for _ in range(REPETITIONS))
        certificate = certify(plan_run, record)
    failed = [check["sentence"] for check in certificate["checks"] if not check["passed"]]
    if not certificate["trusted"]:
        raise RunError("The benchmark's own run is not trusted: " + " ".join(failed))
    count = packets // 8 * 8
    return {"packets": count, "whole_s": whole_s, "packets_per_s": count / whole_s, "reading_s": reading_s}


def _timed(action: Callable[[], object]) -> float:
    start_s = time.perf_counter()
    action()
    return time.perf_counter() - start_s


def _write_run(record: Path, count: int) -> dict[str, Any]:
    """A run whose packets leave the shaper one after the other and are answered one by one."""
    gap_ns = round((DATA_BYTES + 24) * 8e9 / RATE_BPS)
    sent_ns = 10_000_000 + np.arange(count) * gap_ns
    stamps = [sent_ns, sent_ns, sent_ns + DELAY_NS, sent_ns + DELAY_NS]
    stamps += [stamps[3], stamps[3], stamps[3] + DELAY_NS, stamps[3] + DELAY_NS]
    links = FORWARD + RETURN
    records = np.zeros(count * len(links), record_dtype(112))
    for tap, (link, stamp) in enumerate(zip(links, stamps, strict=True)):
        size = DATA_BYTES if tap < len(FORWARD) else ANSWER_BYTES
        part = records[tap * count : (tap + 1) * count]
        part["time_ns"], part["tap"], part["captured"] = stamp, tap, 112
        part["length"] = size + 24 * (link in INSIDE_TUNNEL)
        part["packet"] = _packets(count, size, answer=tap >= len(FORWARD), tunnel=link in INSIDE_TUNNEL)
    # As a guest writes them: taps in stretches of about half a virtual second.
    order = np.lexsort((records["tap"], records["time_ns"] // 500_000_000))
    records[order].tofile(record / "packets.bin")
    plan_run, content = _plan_and_record(links, records, count, int(stamps[-1][-1]))
    (record / "record.json").write_text(json.dumps(content), encoding="utf-8")
    messages = {
        "flow": pa.array(np.zeros(count, np.uint16)),
        "seq": pa.array(np.arange(count, dtype=np.uint32)),
        "size_bytes": pa.array(np.full(count, MESSAGE_BYTES, np.uint32)),
        "sent_ns": pa.array(sent_ns),
        "received_ns": pa.array(stamps[3]),
    }
    table = pa.table(messages)
    with pa.OSFile(str(record / "messages.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as out:
        out.write_table(table)
    return plan_run


def _packets(count: int, size: int, *, answer: bool, tunnel: bool) -> np.ndarray[Any, np.dtype[np.uint8]]:
    ends = [bytes([10, 0, 1, 1]), bytes([10, 0, 2, 1])]
    ports = (5000, 40000) if answer else (40000, 5000)
    inner = struct.pack(">BBHHHBBH", 0x45, 0, size, 0, 0x4000, 64, 17, 0) + b"".join(
        reversed(ends) if answer else ends
    )
    inner += struct.pack(">HHHH", *ports, size - 20, 0)
    outer = struct.pack(">BBHHHBBH", 0x45, 0, size + 24, 0, 0x4000, 64, 47, 0) + bytes(
        [10, 1, 0, 1, 10, 2, 0, 1]
    )
    start = (outer + struct.pack(">HH", 0, 0x0800) if tunnel else b"") + inner
    rows = np.zeros((count, 112), np.uint8)
    rows[:, : len(start)] = np.frombuffer(start, np.uint8)
    numbers = np.arange(count, dtype="<u8").view(np.uint8).reshape(count, 8)
    rows[:, len(start) : len(start) + 8] = numbers
    return rows


def _plan_and_record(
    links: list[str], records: np.ndarray[Any, np.dtype[np.void]], count: int, last_ns: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    timeline = [{"at_s": 0.0, "link": link, "rate_bps": RATE_BPS} for link in ("gw>radio", "tgw>core")]
    timeline += [
        {"at_s": 0.0, "link": link, "delay_s": DELAY_NS / 1e9} for link in ("radio>core", "core>radio")
    ]
    plan_run = {
        "id": "benchmark",
        "seed": 1,
        "network": {"links": []},
        "timeline": timeline,
        "flows": [{"id": "f0", "stack": "udp", "app": "cbr", "from": "cli", "to": "srv", "start_s": 0.0}],
        "record": {"packets": "headers", "messages": True},
    }
    content = {
        "format": "gauntlet-record",
        "version": 1,
        "run": "benchmark",
        "seed": 1,
        "virtual_s": last_ns / 1e9,
        "flows": [
            {
                "id": "f0",
                "from": "cli",
                "to": "srv",
                "source": "10.0.1.1:40000",
                "destination": "10.0.2.1:5000",
                "received_bytes": count * MESSAGE_BYTES,
                "sent_messages": count,
                "received_messages": count,
                "message_size_bytes": MESSAGE_BYTES,
                "first_received_s": 0.01 + DELAY_NS / 1e9,
                "last_received_s": last_ns / 1e9,
            }
        ],
        "links": [
            {
                "link": link,
                "kind": "tbf" if link in ("gw>radio", "tgw>core") else "netem",
                "sent_packets": count,
                "sent_bytes": int(records["length"][records["tap"] == links.index(link)].sum()),
                "dropped_packets": 0,
                "backlog_packets": 0,
            }
            for link in INSIDE_TUNNEL
        ],
        "taps": [
            {"tap": tap, "link": link, "captured_packets": count, "missed_packets": 0}
            for tap, link in enumerate(links)
        ],
        "paths": [{"flow": "f0", "forward": FORWARD, "return": RETURN}],
        "timeline": timeline,
    }
    return plan_run, content


if __name__ == "__main__":
    program.end(main)
