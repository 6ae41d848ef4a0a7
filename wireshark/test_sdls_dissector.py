"""The dissector of space data link frames against the vectors of the crate `sdls`.

Run with `pytest wireshark`. Every frame that the vectors process is written to a capture; tshark must show
the fields that the vector says, or the reason why it is refused, as far as it can be told without keys.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from test_dissector import ip_packet, write_capture

HERE = Path(__file__).resolve().parent
VECTORS = HERE.parent / "crates" / "sdls" / "vectors"
PORT = 61300

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")

Json = dict[str, Any]

FIELDS = [
    "spacecraft",
    "channel",
    "count",
    "spi",
    "iv",
    "sequence",
    "data",
    "mac",
    "ocf",
    "insert",
    "secondary",
    "refused",
]
#: What only a receiver with keys and memory can tell.
NEEDS_KEYS = {"mac", "replay", "sa-not-operational", "sa-wrong-channel", "key-state", "padding"}


def processed(vector: Json) -> list[Json]:
    """The steps of a vector in which a receiver opens octets."""
    return [step for step in vector["steps"] if step["do"] == "process" and len(step["octets"]) >= 8]


def preferences(vector: Json) -> list[str]:
    """The dissector's preferences for the link and the associations of a vector."""
    link = vector["link"]
    entries = [
        f"{a['spi']}:{a['iv_transmitted']}:{a['sequence_transmitted']}:{a['pad_length_octets']}:{a['mac_octets']}"
        for a in vector["associations"]
    ]
    flags = {
        f"{link['kind']}_port": PORT,
        "fecf": str(link["fecf"]).upper(),
        "segment": str(link.get("segment_header", False)).upper(),
        "fhec": str(link.get("fhec", False)).upper(),
        "aos_ocf": str(link.get("ocf", False)).upper(),
        "insert_zone": link.get("insert_zone", 0),
        "associations": ",".join(entries),
    }
    return [word for name, value in flags.items() for word in ("-o", f"sdls.{name}:{value}")]


def datagram(octets: bytes, source: int, destination: int) -> bytes:
    """An IP packet with a frame in a datagram of UDP."""
    udp = b"".join(number.to_bytes(2, "big") for number in (source, destination, 8 + len(octets), 0)) + octets
    return ip_packet("192.0.2.10", "192.0.2.20", 17, udp)


def show(vector: Json, folder: Path) -> list[dict[str, str]]:
    """What tshark shows of each frame."""
    datagrams = [datagram(bytes.fromhex(step["octets"]), 50000, PORT) for step in processed(vector)]
    capture = folder / "frames.pcap"
    write_capture(capture, datagrams)
    command = [
        "tshark",
        "-n",
        "-r",
        str(capture),
        "-X",
        f"lua_script:{HERE / 'sdls.lua'}",
        *preferences(vector),
    ]
    command += ["-T", "fields", "-E", "separator=|"] + [w for name in FIELDS for w in ("-e", f"sdls.{name}")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert "Lua" not in done.stderr, done.stderr
    return [dict(zip(FIELDS, line.split("|"), strict=True)) for line in done.stdout.splitlines()]


def vectors() -> list[Json]:
    """Vectors with frames to open: one of each protocol and of each kind of header, and all foreign ones."""
    own = json.loads((VECTORS / "own.json").read_text())["vectors"]
    chosen = [
        v for v in own if v["name"].endswith(("-gcm-256", "-cmac-128", "-damaged", "iv-in-part", "padding"))
    ]
    foreign = json.loads((VECTORS / "foreign.json").read_text())["vectors"]
    return [vector for vector in [*chosen, *foreign] if processed(vector)]


@pytest.mark.parametrize("vector", vectors(), ids=lambda vector: vector["name"])
def test_frames_are_shown_as_the_vector_says(vector: Json, tmp_path: Path) -> None:
    steps = processed(vector)
    rows = show(vector, tmp_path)
    assert len(rows) == len(steps)
    association = vector["associations"][0]
    for step, row in zip(steps, rows, strict=True):
        code = step.get("refused", "")
        if code == "frame-not-fixed-length":
            continue  # The dissector does not know the length that both ends agreed on.
        assert row["refused"] == ("" if code in NEEDS_KEYS else code), step
        if "gives" not in step:
            continue
        frame = step["gives"]
        assert (int(row["spacecraft"]), int(row["channel"])) == (frame["spacecraft"], frame["channel"])
        assert int(row["spi"]) == association["spi"]
        for name, octets in (
            ("iv", "iv_transmitted"),
            ("sequence", "sequence_transmitted"),
            ("mac", "mac_octets"),
        ):
            assert len(row[name]) == 2 * association[octets]
        assert row["secondary"] == (frame.get("secondary") or "")
        assert row["insert"] == (frame.get("insert") or "")
        assert row["ocf"] == (f"0x{frame['ocf']}" if frame.get("ocf") else "")
        if association["service"] == "authentication":
            assert row["data"] == frame["data"]


def test_without_associations_the_data_field_is_shown_whole(tmp_path: Path) -> None:
    vector = next(vector for vector in vectors() if vector["name"] == "tc-gcm-256")
    (row, *_) = show(vector | {"associations": []}, tmp_path)
    octets = processed(vector)[0]["octets"]
    assert (row["spi"], row["refused"]) == ("", "")
    assert row["data"] == octets[12:-4]


def test_where_commands_leave_from_the_port_of_telemetry_each_way_has_its_own_frames(tmp_path: Path) -> None:
    named = {vector["name"]: processed(vector)[0]["octets"] for vector in vectors()}
    tc, tm = (bytes.fromhex(named[f"{kind}-gcm-256"]) for kind in ("tc", "tm"))
    capture = tmp_path / "frames.pcap"
    write_capture(capture, [datagram(tc, 2235, 2234), datagram(tm, 2234, 2235)])
    script = f"lua_script:{HERE / 'sdls.lua'}"
    command = ["tshark", "-n", "-r", str(capture), "-X", script]
    command += ["-o", "sdls.tc_port:2234", "-o", "sdls.tm_port:2235"]
    command += ["-T", "fields", "-E", "separator=|", "-e", "_ws.col.Protocol", "-e", "sdls.refused"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines() == ["TC|", "TM|"]
