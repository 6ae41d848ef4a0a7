"""The RaSTA dissector against frames of the crate `rasta`, and against octets that others published.

Run with `pytest wireshark`. Needs tshark (Debian package `tshark`).
"""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from test_dissector import ip_packet, write_capture

HERE = Path(__file__).resolve().parent
VECTORS = HERE.parent / "crates" / "rasta" / "tests" / "vectors" / "frames.jsonl"
PORT = 8888

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")

Json = dict[str, Any]

NUMBERS = [
    "frame.sequence_number", "type", "receiver_id", "sender_id", "sequence_number",
    "confirmed_sequence_number", "time_stamp", "confirmed_time_stamp", "n_send_max", "detail", "reason",
]  # fmt: skip
TEXTS = ["version", "payload", "check_code.status", "safety_code.status"]
CHECK_CODES = {
    "A": "a: none", "B": "b: CRC-32 EE5B42FD", "C": "c: CRC-32C",
    "D": "d: CRC-16 1021", "E": "e: CRC-16 8005",
}  # fmt: skip
SAFETY_CODES = {0: "none", 8: "half (8 octets)", 16: "full (16 octets)"}
# The heartbeat of DIN VDE V 0831-200, Annex A, with its MD4, as SBB's stack and Railway-CCS quote it.
ANNEX_A = bytes.fromhex("24004c183fb49600ceca2300564433226655443357010000cb000000")
ANNEX_A_MD4 = bytes.fromhex("83f0d052406bf492")


def udp(frame: bytes) -> bytes:
    """An IP packet with a datagram to the dissector's port."""
    return ip_packet(
        "192.0.2.1", "192.0.2.2", 17, struct.pack("!HHHH", 50000, PORT, 8 + len(frame), 0) + frame
    )


def tcp(sequence: int, segment: bytes) -> bytes:
    """An IP packet with a segment to the dissector's port (its checksum is not looked at)."""
    header = struct.pack("!HHIIBBHHH", 50000, PORT, sequence, 1, 5 << 4, 0x18, 65535, 0, 0)
    return ip_packet("192.0.2.1", "192.0.2.2", 6, header + segment)


def shown(tmp_path: Path, packets: list[bytes], preferences: dict[str, str]) -> list[dict[str, str]]:
    """What tshark shows of each packet, by field; several values of a field have semicolons between."""
    capture = tmp_path / "capture.pcap"
    write_capture(capture, packets)
    columns = [*(f"rasta.{name}" for name in [*NUMBERS, *TEXTS]), "_ws.expert.message", "_ws.malformed"]
    command = ["tshark", "-n", "-r", str(capture), "-X", f"lua_script:{HERE / 'rasta.lua'}"]
    for name, value in preferences.items():
        command += ["-o", f"rasta.{name}:{value}"]
    command += ["-T", "fields", "-E", "separator=|", "-E", "occurrence=a", "-E", "aggregator=;"]
    for column in columns:
        command += ["-e", column]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert "Lua" not in done.stderr, done.stderr
    names = [*NUMBERS, *TEXTS, "expert", "malformed"]
    return [dict(zip(names, line.split("|"), strict=True)) for line in done.stdout.splitlines()]


def preferences(vector: Json) -> dict[str, str]:
    """What the dissector must be told for a vector: RaSTA's codes are configured, not sent."""
    return {
        "check_code": CHECK_CODES[vector["check_code"]],
        "safety_bytes": SAFETY_CODES[vector["safety_bytes"]],
        "md4_initial_value": vector["md4_initial_value"],
    }


def test_every_frame_of_the_crate(tmp_path: Path) -> None:
    """Every field of every vector, and both codes."""
    vectors = [json.loads(line) for line in VECTORS.read_text().splitlines()]
    assert len(vectors) == 85
    order = sorted(vectors, key=lambda vector: sorted(preferences(vector).items()))
    for told, group in groupby(order, key=preferences):
        alike = list(group)
        rows = shown(tmp_path, [udp(bytes.fromhex(vector["hex"])) for vector in alike], told)
        assert len(rows) == len(alike)
        for vector, row in zip(alike, rows, strict=True):
            for name in NUMBERS:
                assert row[name] == str(vector.get(name, "")), (vector, row)
            assert row["version"] == vector.get("version", "")
            assert row["payload"] == ";".join(vector.get("payload", []))
            assert row["check_code.status"] == ("" if vector["check_code"] == "A" else "good"), (vector, row)
            assert row["safety_code.status"] == ("good" if vector["safety_bytes"] else ""), (vector, row)
            assert row["expert"] == row["malformed"] == "", (vector, row)


def test_the_example_of_the_standard(tmp_path: Path) -> None:
    """Octets that do not come from this project."""
    message = ANNEX_A + ANNEX_A_MD4
    frame = struct.pack("<HHI", 8 + len(message), 0, 0) + message
    [row] = shown(tmp_path, [udp(frame)], {})
    assert (row["type"], row["safety_code.status"]) == ("6220", "good")
    assert (row["sequence_number"], row["confirmed_sequence_number"]) == (str(0x22334456), str(0x33445566))
    assert (row["time_stamp"], row["confirmed_time_stamp"]) == (str(0x157), str(0xCB))


def test_damage_is_marked(tmp_path: Path) -> None:
    """Wrong codes, lengths and types."""
    vectors = [json.loads(line) for line in VECTORS.read_text().splitlines()]
    vector = next(
        v for v in vectors if v["check_code"] == "C" and v["safety_bytes"] == 8 and v["type"] == 6220
    )
    good = bytes.fromhex(vector["hex"])
    changed = good[:20] + bytes([good[20] ^ 1]) + good[21:]
    unknown = good[:10] + b"\0\0" + good[12:]
    rows = shown(tmp_path, [udp(changed), udp(unknown), udp(good + b"x"), udp(good[:9])], preferences(vector))
    assert (rows[0]["check_code.status"], rows[0]["safety_code.status"]) == ("wrong", "wrong")
    assert "No message has this type" in rows[1]["expert"]
    assert "The frame length is wrong" in rows[2]["expert"]
    assert "Too short for a frame" in rows[3]["expert"]


def test_a_stream_of_frames_over_tcp(tmp_path: Path) -> None:
    """Frames that segments cut anywhere are put together again."""
    vectors = [json.loads(line) for line in VECTORS.read_text().splitlines()]
    alike = [v for v in vectors if preferences(v) == preferences(vectors[0])]
    stream = b"".join(bytes.fromhex(vector["hex"]) for vector in alike)
    cuts = [stream[place : place + 50] for place in range(0, len(stream), 50)]
    packets = [tcp(1 + 50 * place, segment) for place, segment in enumerate(cuts)]
    rows = shown(tmp_path, packets, preferences(vectors[0]))
    types = [kind for row in rows for kind in row["type"].split(";") if kind]
    assert types == [str(vector["type"]) for vector in alike]
