"""Packets of a capture come back as they were: who, to whom, when, where, how large."""

import ipaddress
import json
from pathlib import Path

import numpy as np
import pytest

from gauntlet.errors import RunError
from gauntlet.notebook import packets
from gauntlet.results import pcapng

PLAN = {"id": "made-up", "record": {"packets": "headers"}}


def ip(source: str, destination: str, protocol: int, behind: bytes = b"\x11" * 30) -> bytes:
    """An IP packet of either version."""
    ends = ipaddress.ip_address(source).packed + ipaddress.ip_address(destination).packed
    if ":" in source:
        return bytes([0x60, 0, 0, 0, 0, len(behind), protocol, 64]) + ends + behind
    return bytes([0x45, 0, 0, 20 + len(behind), 0, 0, 0, 0, 64, protocol, 0, 0]) + ends + behind


EMPTY = ip("192.0.2.1", "192.0.2.2", 47, bytes([0, 0, 8, 0]))
"""A tunnel's headers and nothing behind them: what comes next in the file is of another packet."""
SENT = [
    (30, 1, ip("10.0.1.1", "10.0.2.1", 6)),
    (10, 0, ip("fd00::1", "fd00::2", 17)),
    (20, 0, ip("192.0.2.1", "192.0.2.2", 47, bytes([0, 0, 8, 0]) + ip("10.0.1.1", "10.0.3.1", 132))),
    (20, 1, ip("192.0.2.1", "192.0.2.2", 47, bytes([0, 0, 0x86, 0xDD]) + ip("fd00::5", "fd00::6", 58))),
    (40, 0, EMPTY),
    (1 << 33, 0, ip("10.0.1.1", "10.0.2.1", 253)),
]
"""Instant, tap and bytes."""

EXPECTED = [
    ("a>b", 10, 70, "fd00::1", "fd00::2", "udp", False),
    ("a>b", 20, 74, "10.0.1.1", "10.0.3.1", "sctp", True),
    ("b>c", 20, 94, "fd00::5", "fd00::6", "icmp", True),
    ("b>c", 30, 50, "10.0.1.1", "10.0.2.1", "tcp", False),
    ("a>b", 40, 24, "0.0.0.0", "0.0.0.0", "0", True),
    ("a>b", 1 << 33, 50, "10.0.1.1", "10.0.2.1", "253", False),
]


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """A capture of `SENT`, by way of what a guest writes."""
    layout = pcapng.packet_type("headers")
    rows = np.zeros(len(SENT), layout)
    for row, (t_ns, tap, content) in zip(rows, SENT, strict=True):
        row["t_ns"], row["tap"], row["size_bytes"] = t_ns, tap, len(content)
        kept = content[:112]
        row["captured_bytes"] = len(kept)
        row["data"][: len(kept)] = np.frombuffer(kept, np.uint8)
    rows.tofile(tmp_path / "packets.bin")
    taps = [{"tap": 0, "link": "a>b"}, {"tap": 1, "link": "b>c"}]
    (tmp_path / "record.json").write_text(json.dumps({"taps": taps}))
    pcapng.convert(tmp_path, PLAN, tmp_path / "capture.pcapng")
    return tmp_path / "capture.pcapng"


def test_packets_are_those_that_were_captured(capture: Path) -> None:
    found = [tuple(row.values()) for row in packets.table(capture).to_pylist()]
    assert found == EXPECTED


def test_a_capture_without_packets_has_no_rows(capture: Path) -> None:
    (capture.parent / "packets.bin").write_bytes(b"")
    pcapng.convert(capture.parent, PLAN, capture)
    assert packets.table(capture).num_rows == 0


@pytest.mark.parametrize("left", [-1, 60])
def test_a_damaged_capture_is_one_sentence(capture: Path, left: int) -> None:
    capture.write_bytes(capture.read_bytes()[:left])
    with pytest.raises(RunError, match=r"capture\.pcapng is damaged at byte \d+"):
        packets.table(capture)
