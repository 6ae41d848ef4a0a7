"""Captures become sequences: direction, size, kind and port of each packet, from bytes put together here."""

import struct
from pathlib import Path

import numpy as np
import pytest

from gauntlet.errors import RunError
from gauntlet.results import pcapng, pcapng_reader
from gauntlet.traffic import capture
from gauntlet.traffic.sequences import KINDS

CLIENT, SERVER = bytes([10, 0, 1, 1]), bytes([10, 0, 2, 1])
PORT = 40_001

Row = tuple[int, str, bytes]


def ipv4(protocol: int, body: bytes, *, towards: bool) -> bytes:
    """A packet between client and server."""
    ends = (CLIENT, SERVER) if towards else (SERVER, CLIENT)
    return struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(body), 0, 0, 64, protocol, 0, *ends) + body


def ipv6(protocol: int, body: bytes, *, towards: bool) -> bytes:
    """The same in IPv6."""
    ends = [bytes(15) + bytes([last]) for last in ((1, 2) if towards else (2, 1))]
    return struct.pack("!IHBB16s16s", 6 << 28, len(body), protocol, 64, *ends) + body


def ports(port: int, *, towards: bool) -> bytes:
    """Source and destination, of which the server's is `port`."""
    return struct.pack("!HH", *((50_000, port) if towards else (port, 50_000)))


def tcp(payload_bytes: int, *, towards: bool, port: int = PORT, options: int = 12) -> bytes:
    """A TCP segment with so many bytes of payload."""
    words = (20 + options) // 4
    header = ports(port, towards=towards) + struct.pack("!IIBBHHH", 0, 0, words << 4, 0x10, 0, 0, 0)
    return header + bytes(options) + b"\x17" * payload_bytes


def quic(first: int, payload_bytes: int, *, towards: bool, port: int = PORT) -> bytes:
    """A datagram whose first byte is this one."""
    body = bytes([first]) + bytes(payload_bytes - 1)
    return ports(port, towards=towards) + struct.pack("!HH", 8 + len(body), 0) + body


def captured(folder: Path, rows: list[Row]) -> pcapng_reader.Capture:
    """A capture as the program keeps it, and reads it again."""
    links = sorted({link for _, link, _ in rows})
    layout = pcapng.packet_type("headers")
    packets = np.zeros(len(rows), dtype=layout)
    for row, (t_ns, link, packet) in zip(packets, rows, strict=True):
        kept = packet[: pcapng.CAPTURE_BYTES["headers"]]
        row["t_ns"], row["tap"], row["size_bytes"] = t_ns, links.index(link), len(packet)
        row["captured_bytes"] = len(kept)
        row["data"][: len(kept)] = np.frombuffer(kept, dtype=np.uint8)
    (folder / "packets.bin").write_bytes(packets.tobytes())
    taps = ", ".join(f'{{"tap": {place}, "link": "{link}"}}' for place, link in enumerate(links))
    (folder / "record.json").write_text(f'{{"taps": [{taps}]}}')
    pcapng.convert(folder, {"id": "r", "record": {"packets": "headers"}}, folder / "c.pcapng")
    return pcapng_reader.read(folder / "c.pcapng", 112)


OUT, IN, ELSEWHERE = "client>west", "west>client", "mid>east"


def read(folder: Path, rows: list[Row]) -> capture.Packets:
    """What the observer at the client's link sees."""
    return capture.read(captured(folder, rows), outwards=OUT, inwards=IN)


def kinds(packets: capture.Packets) -> list[str]:
    return [KINDS[kind] for kind in packets.kind]


def test_direction_size_and_kind_follow_from_the_headers(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            (1, OUT, ipv4(6, tcp(0, towards=True, options=20), towards=True)),
            (2, ELSEWHERE, ipv4(6, tcp(900, towards=True), towards=True)),
            (3, IN, ipv4(6, tcp(1448, towards=False), towards=False)),
            (4, OUT, ipv4(6, tcp(1, towards=True), towards=True)),
            (5, OUT, ipv4(17, quic(0xC3, 1200, towards=True), towards=True)),
            (6, IN, ipv4(17, quic(0x43, 30, towards=False), towards=False)),
            (7, OUT, ipv4(1, bytes(8), towards=True)),
        ],
    )
    assert found.time_ns.tolist() == [1, 3, 4, 5, 6, 7]
    assert found.signed_bytes.tolist() == [60, -1500, 53, 1228, -58, 28]
    assert kinds(found) == ["tcp-control", "tcp-data", "tcp-data", "quic-handshake", "quic-data", "other"]
    assert found.server_port.tolist() == [PORT] * 5 + [-1]


def test_ipv6_and_what_is_in_a_tunnel_are_read_alike(tmp_path: Path) -> None:
    inner = ipv4(6, tcp(700, towards=False), towards=False)
    gre = struct.pack("!HH", 0, 0x0800)
    found = read(
        tmp_path,
        [
            (1, OUT, ipv6(6, tcp(100, towards=True), towards=True)),
            (2, IN, ipv6(17, quic(0x80, 50, towards=False), towards=False)),
            (3, IN, ipv4(47, gre + inner, towards=False)),
        ],
    )
    assert found.signed_bytes.tolist() == [40 + 32 + 100, -(40 + 8 + 50), -len(inner)]
    assert kinds(found) == ["tcp-data", "quic-handshake", "tcp-data"]
    assert found.server_port.tolist() == [PORT] * 3


def test_without_the_observer_s_link_there_is_nothing_to_see(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no packets of the link west>client"):
        read(tmp_path, [(1, OUT, ipv4(6, tcp(0, towards=True), towards=True))])
