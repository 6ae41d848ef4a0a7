"""A made in-path node: a log, its record and the captured packets on either side, for tests to spoil."""

from __future__ import annotations

import copy
import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gauntlet.certificate.answers import Findings
from gauntlet.certificate.capture import CAPTURE_BYTES, read_capture, record_dtype
from gauntlet.certificate.in_path import check_nodes

MS = 1_000_000
CLIENT, SERVER = "10.0.1.1", "10.0.2.1"
_LINKS = ["east>mallory", "server>mallory", "mallory>east", "mallory>server"]
"""Into the node and out of it, in the order in which taps are numbered."""

_TYPES: dict[str, pa.DataType] = {
    "node": pa.uint16(), "t_ns": pa.int64(), "event": pa.string(), "how": pa.string(), "packet": pa.uint32(),
    "rule": pa.uint16(), "towards": pa.uint8(), "length_bytes": pa.uint32(), "head_crc32": pa.uint32(),
    "packet_crc32": pa.uint32(), "checksum_valid": pa.bool_(),
}  # fmt: skip


def _sum(data: bytes) -> int:
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


def datagram(number: int, ttl: int = 64, flips: int = 0, size: int = 20) -> bytes:
    """From port 40000 and so many on to port 5000, with right checksums; `flips`: of its last byte."""
    ends = bytes([10, 0, 1, 1, 10, 0, 2, 1])
    payload = struct.pack("<I", number) + bytes(size - 5) + bytes([flips])
    head = struct.pack(">HHH", 40_000 + number, 5000, 8 + len(payload))
    pseudo = ends + struct.pack(">HH", 17, 8 + len(payload))
    udp = head + struct.pack(">H", _sum(pseudo + head + payload)) + payload
    start = struct.pack(">BBHHHBB", 0x45, 0, 20 + len(udp), 7, 0x4000, ttl, 17)
    return start + struct.pack(">H", _sum(start + ends)) + ends + udp


@dataclass
class MadeNode:
    """What a node was to do, and what its record, its log and the taps say of it."""

    rules: list[dict[str, Any]]
    rows: list[dict[str, Any]] = field(default_factory=list)
    packets: list[tuple[int, int, bytes]] = field(default_factory=list)
    """Tap, instant, bytes."""
    told: dict[str, Any] = field(default_factory=dict)
    end_ns: int = 3_000 * MS

    def line(self, t_ns: int, event: str, packet: int | None = None, **more: Any) -> None:
        """One line of the log."""
        whole = more.pop("whole", None)
        if whole is not None:
            crc = zlib.crc32(whole)
            more |= {"length_bytes": len(whole), "head_crc32": zlib.crc32(whole[:112]), "packet_crc32": crc}
        self.rows.append({"node": 0, "t_ns": t_ns, "event": event, "packet": packet, **more})

    def came(self, t_ns: int, number: int, whole: bytes, *matched: int, towards: int = 1) -> None:
        """A packet came, and these rules matched it."""
        self.packets.append((1 - towards, t_ns, whole))
        self.line(t_ns, "seen", number, towards=towards, whole=whole)
        for rule in matched:
            self.line(t_ns, "matched", number, towards=towards, rule=rule)

    def left(self, t_ns: int, number: int | None, whole: bytes, how: str = "passed", **more: Any) -> None:
        """A packet left."""
        towards = more.setdefault("towards", 1)
        self.packets.append((2 + towards, t_ns, whole))
        self.line(t_ns, "emitted", number, how=how, whole=whole, **more)

    def find(self, **wanted: Any) -> dict[str, Any]:
        """The first line with these values."""
        return next(row for row in self.rows if all(row.get(key) == value for key, value in wanted.items()))

    def count(self) -> None:
        """The honest counters."""
        came = {row["packet"]: row["t_ns"] for row in self.rows if row["event"] == "seen"}
        left = [row for row in self.rows if row["event"] == "emitted"]
        self.told = {"node": "mallory", "between": ["east", "server"], "stopped_ns": self.end_ns}
        for how in ("passed", "altered", "copied", "inserted"):
            self.told[f"{how}_packets"] = sum(row["how"] == how for row in left)
        for event in ("seen", "dropped", "waiting", "refused"):
            self.told[f"{event}_packets"] = sum(row["event"] == event for row in self.rows)
        own = [row for row in left if row["how"] in ("passed", "altered")]
        self.told["late_packets"] = sum(row["t_ns"] > came[row["packet"]] for row in own)
        self.told["missed_packets"] = 0
        self.told["rules"] = [
            {
                "id": rule["id"],
                **{
                    f"{event}_packets": sum(
                        row["event"] == event and row.get("rule") == number for row in self.rows
                    )
                    for event in ("matched", "unfit")
                },
            }
            for number, rule in enumerate(self.rules)
        ]

    def copy(self) -> MadeNode:
        """One to spoil."""
        return copy.deepcopy(self)

    def judged(self, folder: Path) -> tuple[dict[str, str], str]:
        """What its checks contradict, by their names, and what they say that they could not tell."""
        columns = {name: pa.array([row.get(name) for row in self.rows], of) for name, of in _TYPES.items()}
        table = pa.table(columns)
        with (
            pa.OSFile(str(folder / "in_path.arrow"), "wb") as sink,
            pa.ipc.new_file(sink, table.schema) as to,
        ):
            to.write_table(table)
        dtype = record_dtype(CAPTURE_BYTES["headers"])
        records = np.zeros(len(self.packets), dtype)
        for place, (tap, t_ns, whole) in enumerate(sorted(self.packets, key=lambda packet: packet[1])):
            kept = np.frombuffer(whole[: CAPTURE_BYTES["headers"]], np.uint8)
            records[place]["packet"][: len(kept)] = kept
            for name, value in (
                ("time_ns", t_ns),
                ("tap", tap),
                ("captured", len(kept)),
                ("length", len(whole)),
            ):
                records[place][name] = value
        (folder / "packets.bin").write_bytes(records.tobytes())
        capture = read_capture(folder / "packets.bin", CAPTURE_BYTES["headers"], list(enumerate(_LINKS)))
        plan: Mapping[str, Any] = json.loads(json.dumps({
            "flows": [{"id": "f0", "stack": "udp"}],
            "in_path": [{"node": "mallory", "between": ["east", "server"], "rules": self.rules}],
        }))  # fmt: skip
        flow = {"id": "f0", "source": f"{CLIENT}:40000", "destination": f"{SERVER}:5000"}
        findings = Findings()
        check_nodes(plan, {"in_path": [self.told], "flows": [flow]}, folder, capture, findings)
        wrong: dict[str, str] = {}
        for check in findings.checks:
            if check.answer == "contradicted":
                wrong[check.name] = f"{wrong.get(check.name, '')} {check.sentence}".strip()
        assert {check.name for check in findings.checks} >= {"seen", "emitted", "rules"}
        return wrong, " ".join(findings.undecided)
