"""Writes pcap and pcapng files, block by block, for tests that read them."""

import ipaddress
import struct
from collections.abc import Sequence
from pathlib import Path

Packet = tuple[int, str, str, int]
"""Instant in nanoseconds, source, destination, size in bytes from the IP header on."""


def ip_header(source: str, destination: str, size_bytes: int) -> bytes:
    """The header of a UDP packet."""
    ends = ipaddress.ip_address(source).packed, ipaddress.ip_address(destination).packed
    if len(ends[0]) == 16:
        return struct.pack(">IHBB", 6 << 28, size_bytes - 40, 17, 64) + ends[0] + ends[1]
    return struct.pack(">BBHHHBBH", 0x45, 0, size_bytes, 1, 0, 64, 17, 0) + ends[0] + ends[1]


def ethernet(packet: bytes, *, vlan: bool = False) -> bytes:
    """A frame around a packet."""
    kind = b"\x86\xdd" if packet[0] >> 4 == 6 else b"\x08\x00"
    return bytes(12) + (b"\x81\x00\x00\x05" if vlan else b"") + kind + packet


def pcap(
    path: Path, rows: Sequence[tuple[int, bytes, int]], *, order: str, nanoseconds: bool, link: int
) -> Path:
    """A classic capture of (instant in ns, frame, size of the frame)."""
    magic, unit_ns = (0xA1B23C4D, 1) if nanoseconds else (0xA1B2C3D4, 1000)
    out = bytearray(struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 128, link))
    for t_ns, frame, size_bytes in rows:
        seconds, rest_ns = divmod(t_ns, 10**9)
        out += struct.pack(f"{order}IIII", seconds, rest_ns // unit_ns, len(frame), size_bytes) + frame
    path.write_bytes(out)
    return path


def block(order: str, kind: int, body: bytes) -> bytes:
    """A block of pcapng."""
    body += bytes(-len(body) % 4)
    return struct.pack(f"{order}II", kind, len(body) + 12) + body + struct.pack(f"{order}I", len(body) + 12)


def section(order: str) -> bytes:
    """The head of a section."""
    return block(order, 0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1))


def interface(order: str, link: int, *options: tuple[int, bytes]) -> bytes:
    """An interface with its options."""
    body = struct.pack(f"{order}HHI", link, 0, 128)
    for code, value in options:
        body += struct.pack(f"{order}HH", code, len(value)) + value + bytes(-len(value) % 4)
    return block(order, 1, body + bytes(4))


def enhanced(order: str, number: int, ticks: int, frame: bytes, size_bytes: int) -> bytes:
    """A packet of an interface."""
    head = struct.pack(f"{order}IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, len(frame), size_bytes)
    return block(order, 6, head + frame)


def written(path: Path, packets: Sequence[Packet]) -> Path:
    """A capture of raw IP in nanoseconds, as programs of today write it."""
    rows = [(t_ns, ip_header(source, destination, size), size) for t_ns, source, destination, size in packets]
    return pcap(path, rows, order="<", nanoseconds=True, link=101)
