"""ResTP datagrams of a pcap file with Ethernet, Linux cooked or raw IP frames, over UDP or directly over IP.

Only the classic pcap format is read (`editcap -F pcap` makes it of others). Frames without ResTP are skipped.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

from restp_decoder.checks import IP_PROTOCOL, PseudoHeader
from restp_decoder.faults import InputError

UDP_PORT = 61253
"""Default UDP port of ResTP (R-ENCAP-1)."""

_MAGIC = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}
"""Nanoseconds of a unit of a record's second time field, by the file's magic number (pcap format)."""

_UDP = 17
_IPV6_OPTIONS = (0, 43, 60)  # hop-by-hop, routing, destination options (RFC 8200)
_IPV6_FRAGMENT = 44
_UDP_HEADER_BYTES = 8

_LINK_ETHERNET, _LINK_COOKED, _LINK_COOKED_2 = 1, 113, 276
_LINK_RAW = (12, 101, 228, 229)
_LINKS = (_LINK_ETHERNET, _LINK_COOKED, _LINK_COOKED_2, *_LINK_RAW)
_VLAN_TYPES = (0x8100, 0x88A8)
_IP_TYPES = (0x0800, 0x86DD)


@dataclass(frozen=True, slots=True)
class Captured:
    """One ResTP datagram of a capture file.

    `number` counts frames from 1 as analysers do, `time_ns` is in nanoseconds since 1970, `source` and
    `destination` are addresses with the UDP port if there is one. `datagram` is None if the frame holds only
    a part of it, for the reason in `incomplete`.
    """

    number: int
    time_ns: int
    source: str
    destination: str
    datagram: bytes | None
    pseudo_header: PseudoHeader | None
    incomplete: str = ""


@dataclass(frozen=True, slots=True)
class _IpPayload:
    """What an IP packet carries; `whole` is false for fragments."""

    source: IPv4Address | IPv6Address
    destination: IPv4Address | IPv6Address
    protocol: int
    octets: bytes
    length_bytes: int
    whole: bool


def read_capture(path: Path, *, udp_port: int = UDP_PORT, protocol: int = IP_PROTOCOL) -> Iterator[Captured]:
    """ResTP datagrams of the pcap file at `path`: UDP to or from `udp_port`, and IP packets of `protocol`.

    Raises InputError if the file cannot be read as pcap.
    """
    try:
        octets = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{path} cannot be read ({error.strerror}); give a pcap file or octets in hex."
        ) from error
    order, unit_ns, link = _file_header(octets, path)
    position, number = 24, 0
    while position < len(octets):
        number += 1
        if position + 16 > len(octets):
            raise InputError(f"{path} ends inside the head of frame {number}; the capture was cut off.")
        seconds, fraction, length_bytes, _ = struct.unpack_from(f"{order}4I", octets, position)
        position += 16
        if position + length_bytes > len(octets):
            raise InputError(f"{path} ends inside frame {number}; the capture was cut off.")
        ip = _ip_payload(_ip_packet(octets[position : position + length_bytes], link))
        position += length_bytes
        if ip is not None:
            time_ns = seconds * 1_000_000_000 + fraction * unit_ns
            yield from _restp(ip, number, time_ns, udp_port, protocol)


def _file_header(octets: bytes, path: Path) -> tuple[str, int, int]:
    """Byte order, nanoseconds a unit of time, and link type."""
    if len(octets) >= 24:
        for order in "<>":
            magic, _, _, _, _, _, link = struct.unpack_from(f"{order}I2H4I", octets)
            if magic in _MAGIC:
                link &= 0xFFFF
                if link not in _LINKS:
                    raise InputError(
                        f"{path} has link type {link}; Ethernet, Linux cooked and raw IP ({_LINKS}) are read."
                    )
                return order, _MAGIC[magic], link
    raise InputError(f"{path} is no pcap file; `editcap -F pcap` makes one of pcapng and other formats.")


def _ip_packet(frame: bytes, link: int) -> bytes:
    """The IP packet of a frame, empty if it holds none."""
    if link in _LINK_RAW:
        return frame
    if link == _LINK_COOKED_2:
        return frame[20:] if int.from_bytes(frame[:2]) in _IP_TYPES else b""
    position = 14 if link == _LINK_COOKED else 12
    while int.from_bytes(frame[position : position + 2]) in _VLAN_TYPES:
        position += 4
    return frame[position + 2 :] if int.from_bytes(frame[position : position + 2]) in _IP_TYPES else b""


def _ip_payload(packet: bytes) -> _IpPayload | None:
    """What an IPv4 or IPv6 packet carries; None if it is cut within its own header or is neither."""
    match packet[0] >> 4 if packet else 0:
        case 4 if len(packet) >= 20:
            header_bytes, total_bytes = (packet[0] & 0xF) * 4, int.from_bytes(packet[2:4])
            if not 20 <= header_bytes <= total_bytes:
                return None
            return _IpPayload(
                IPv4Address(packet[12:16]),
                IPv4Address(packet[16:20]),
                packet[9],
                packet[header_bytes:total_bytes],
                total_bytes - header_bytes,
                # More-fragments bit or an offset.
                not int.from_bytes(packet[6:8]) & 0x3FFF,
            )
        case 6 if len(packet) >= 40:
            return _ipv6_payload(packet)
    return None


def _ipv6_payload(packet: bytes) -> _IpPayload | None:
    """What an IPv6 packet carries behind its extension headers."""
    end, following, position = 40 + int.from_bytes(packet[4:6]), packet[6], 40
    while following in _IPV6_OPTIONS:
        if position + 2 > min(end, len(packet)):
            return None
        following, position = packet[position], position + (packet[position + 1] + 1) * 8
    whole = following != _IPV6_FRAGMENT
    if not whole and position < len(packet):
        following, position = packet[position], position + 8
    if position > end:
        return None
    return _IpPayload(
        IPv6Address(packet[8:24]),
        IPv6Address(packet[24:40]),
        following,
        packet[position:end],
        end - position,
        whole,
    )


def _restp(ip: _IpPayload, number: int, time_ns: int, udp_port: int, protocol: int) -> Iterator[Captured]:
    """The datagram of one IP packet, if it is ResTP."""
    source, destination = str(ip.source), str(ip.destination)
    octets, length_bytes = ip.octets, ip.length_bytes
    pseudo_header = None
    if ip.protocol == protocol:
        pseudo_header = PseudoHeader(ip.source, ip.destination, protocol)
    elif ip.protocol == _UDP and len(octets) >= _UDP_HEADER_BYTES:
        source_port, destination_port, udp_bytes = struct.unpack_from(">3H", octets)
        if udp_port not in (source_port, destination_port):
            return
        source, destination = f"{source} port {source_port}", f"{destination} port {destination_port}"
        length_bytes = max(udp_bytes - _UDP_HEADER_BYTES, 0)
        octets = octets[_UDP_HEADER_BYTES : _UDP_HEADER_BYTES + length_bytes]
    else:
        return
    incomplete = ""
    if not ip.whole:
        incomplete = "a fragment of an IP packet"
    elif len(octets) < length_bytes:
        incomplete = f"cut by the capture to {len(octets)} of {length_bytes} octets"
    yield Captured(
        number, time_ns, source, destination, None if incomplete else octets, pseudo_header, incomplete
    )
