"""Packets of captures that other programs wrote: pcap and pcapng, of whatever byte order and resolution.

Only what the import of a link needs: instants, addresses and sizes of IP packets. What a capture of this
program's own runs has besides, `gauntlet.results.pcapng_reader` reads. Layouts: draft-ietf-opsawg-pcap and
draft-ietf-opsawg-pcapng.
"""

import ipaddress
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from gauntlet.errors import UserError

_CLASSIC = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
"""First bytes of pcap files: byte order, and nanoseconds of a unit of time."""
_SECTION, _INTERFACE, _SIMPLE, _ENHANCED = 0x0A0D0D0A, 1, 3, 6
_BYTE_ORDERS = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
_OPT_NAME, _OPT_RESOLUTION, _OPT_OFFSET = 2, 9, 14

_ETHERNET = 1
_IP_AT = {0: 4, _ETHERNET: 14, 12: 0, 14: 0, 101: 0, 108: 4, 113: 16, 228: 0, 229: 0, 276: 20}
"""Where the IP header begins, by LINKTYPE (tcpdump.org/linktypes.html): BSD loopback, Ethernet, raw IP,
OpenBSD loopback, Linux cooked capture, IPv4, IPv6, Linux cooked capture v2."""
_VLAN_TAGS = (b"\x81\x00", b"\x88\xa8")
_IPV6_HEADER_BYTES = 40


@dataclass(frozen=True)
class Packet:
    """An IP packet; its size is that of its header and all behind it."""

    t_ns: int
    interface: int
    source: str
    destination: str
    size_bytes: int


@dataclass
class Capture:
    """Packets in the order of the file, and what the interfaces are called."""

    packets: list[Packet] = field(default_factory=list)
    interfaces: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Interface:
    """How packets of an interface are laid out."""

    link_type: int
    per_second: int = 10**6
    """Units of its clock in a second."""
    offset_s: int = 0


def is_capture(path: Path) -> bool:
    """Whether a file begins as captures do."""
    try:
        with path.open("rb") as file:
            first = file.read(4)
    except OSError:
        return False
    return first in _CLASSIC or first == struct.pack("<I", _SECTION)


def read(path: Path) -> Capture:
    """Read a capture's IP packets; a last packet that is cut off is left out. Raises `UserError`."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}.") from None
    capture = Capture()
    frames = _classic if content[:4] in _CLASSIC else _blocks
    try:
        for interface, number, t_ns, frame, size_bytes in frames(content, capture, path):
            packet = _packet(interface.link_type, frame, size_bytes, path)
            if packet is not None:
                capture.packets.append(Packet(t_ns, number, *packet))
    except struct.error:
        raise UserError(f"{path} is damaged: a block of it is too short for what it should hold.") from None
    if not capture.packets:
        raise UserError(f"{path} has no IP packets.")
    return capture


_Frame = tuple[_Interface, int, int, bytes, int]
"""Interface and its number, instant, bytes captured, bytes that there were."""


def _classic(content: bytes, capture: Capture, path: Path) -> Iterator[_Frame]:
    order, unit_ns = _CLASSIC[content[:4]]
    (link_type,) = struct.unpack_from(f"{order}I", content, 20)
    interface = _Interface(link_type & 0xFFFF)
    capture.interfaces.append(path.name)
    place = 24
    while place + 16 <= len(content):
        seconds, part, captured, size_bytes = struct.unpack_from(f"{order}IIII", content, place)
        place += 16
        if place + captured > len(content):
            return
        t_ns = seconds * 10**9 + part * unit_ns
        yield interface, 0, t_ns, content[place : place + captured], size_bytes
        place += captured


def _blocks(content: bytes, capture: Capture, path: Path) -> Iterator[_Frame]:
    if content[:4] != struct.pack("<I", _SECTION):
        raise UserError(f"{path} is neither pcap nor pcapng.")
    order = "<"
    known: list[_Interface] = []
    first = place = 0
    while place + 12 <= len(content):
        if content[place : place + 4] == content[:4]:
            order = _BYTE_ORDERS.get(content[place + 8 : place + 12], "")
            if not order:
                raise UserError(f"{path} is damaged at byte {place}: a section has no byte order.")
            # Numbers of interfaces begin again in each section.
            known, first = [], len(capture.interfaces)
        kind, length = struct.unpack_from(f"{order}II", content, place)
        if length < 12 or length % 4:
            raise UserError(f"{path} is damaged at byte {place}: a block of {length} bytes cannot be.")
        if place + length > len(content):
            return
        body = content[place + 8 : place + length - 4]
        if kind == _INTERFACE:
            interface, name = _interface(body, order)
            known.append(interface)
            capture.interfaces.append(name or f"interface {len(capture.interfaces)}")
        elif kind == _SIMPLE:
            raise UserError(f"{path} has packets without instants (simple packet blocks).")
        elif kind == _ENHANCED:
            number, high, low, captured, size_bytes = struct.unpack_from(f"{order}IIIII", body)
            if number >= len(known) or 20 + captured > len(body):
                raise UserError(f"{path} is damaged at byte {place}: a packet of an unknown interface.")
            on = known[number]
            t_ns = ((high << 32) | low) * 10**9 // on.per_second + on.offset_s * 10**9
            yield on, first + number, t_ns, body[20 : 20 + captured], size_bytes
        place += length


def _interface(body: bytes, order: str) -> tuple[_Interface, str | None]:
    """An interface and its name, from its block."""
    (link_type,) = struct.unpack_from(f"{order}H", body)
    options: dict[int, bytes] = {}
    place = 8
    while place + 4 <= len(body):
        code, length = struct.unpack_from(f"{order}HH", body, place)
        if code == 0:
            break
        options[code] = body[place + 4 : place + 4 + length]
        place += 4 + length + (-length % 4)
    resolution = options.get(_OPT_RESOLUTION, b"\6")[0]
    per_second = 2 ** (resolution & 127) if resolution & 128 else 10**resolution
    (offset_s,) = struct.unpack(f"{order}q", options.get(_OPT_OFFSET, bytes(8)))
    name = options[_OPT_NAME].decode(errors="replace") if _OPT_NAME in options else None
    return _Interface(link_type, per_second, offset_s), name


def _packet(link_type: int, frame: bytes, size_bytes: int, path: Path) -> tuple[str, str, int] | None:
    """Source, destination and size of the IP packet in a frame, if there is one."""
    place = _IP_AT.get(link_type)
    if place is None:
        raise UserError(
            f"{path} has frames of the link type {link_type}, which cannot be read; capture Ethernet or IP."
        )
    while link_type == _ETHERNET and frame[place - 2 : place] in _VLAN_TAGS:
        place += 4
    if link_type == _ETHERNET and frame[place - 2 : place] not in (b"\x08\x00", b"\x86\xdd"):
        return None
    header = frame[place : place + _IPV6_HEADER_BYTES]
    version = header[0] >> 4 if header else 0
    if version == 4 and len(header) >= 20:
        # Segments that the network card was to cut are longer than their header can say: it says 0.
        (length,) = struct.unpack_from(">H", header, 2)
        return _address(header[12:16]), _address(header[16:20]), length or size_bytes - place
    if version == 6 and len(header) == _IPV6_HEADER_BYTES:
        (length,) = struct.unpack_from(">H", header, 4)
        whole = length + _IPV6_HEADER_BYTES if length else size_bytes - place
        return _address(header[8:24]), _address(header[24:40]), whole
    return None


@cache
def _address(packed: bytes) -> str:
    return str(ipaddress.ip_address(packed))
