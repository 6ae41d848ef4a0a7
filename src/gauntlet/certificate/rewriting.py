"""What fields, payloads and checksums of a packet become when an in-path node sets them: worked out anew from
the plan (docs/formats/plan.md) and the packet's bytes."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gauntlet.certificate.sums import crc32c, ones_complement_sum

_ICMP, _TCP, _UDP, _GRE, _ICMPV6, _SCTP = 1, 6, 17, 47, 58, 132
_CHECKSUM_AT = {_TCP: (16, 2), _UDP: (6, 2), _ICMP: (2, 2), _ICMPV6: (2, 2), _SCTP: (8, 4)}
_IPV4_BYTES, _IPV6_BYTES, _TCP_BYTES, _GRE_HEADER_BYTES = 20, 40, 20, 4
_LONGEST_BYTES = 65_535
_TTL = 64
"""The time to live of packets that a node makes."""


@dataclass(frozen=True)
class Headers:
    """Where the headers of a packet begin: of all its IP headers, and of the innermost one's transport."""

    ip_at: tuple[int, ...]
    version: int
    protocol: int
    transport_at: int | None
    payload_at: int | None
    fragment: bool
    end: int

    def part(self, within: str, length: int) -> range | None:
        """Which bytes a plan's `within` names; None where the packet has no such part."""
        if within == "packet":
            return range(length)
        first = self.transport_at if within == "transport" else self.payload_at
        return None if first is None else range(first, self.end)


def headers_of(packet: bytes) -> Headers | None:
    """None of what is cut or no IP."""
    outer = _headers_at(packet, 0)
    if outer is None or outer.protocol != _GRE or outer.transport_at is None:
        return outer
    at = outer.transport_at
    if packet[at : at + _GRE_HEADER_BYTES] not in (b"\0\0\x08\0", b"\0\0\x86\xdd"):
        return outer
    inner = _headers_at(packet, at + _GRE_HEADER_BYTES)
    if inner is None:
        return outer
    return replace(inner, ip_at=(0, *inner.ip_at))


def _headers_at(packet: bytes, start: int) -> Headers | None:
    ip = packet[start:]
    version = ip[0] >> 4 if ip else 0
    if version == 4 and len(ip) >= _IPV4_BYTES:
        header, total = (ip[0] & 0x0F) * 4, int.from_bytes(ip[2:4], "big")
        protocol, offset = ip[9], int.from_bytes(ip[6:8], "big")
    elif version == 6 and len(ip) >= _IPV6_BYTES:
        header, total = _IPV6_BYTES, _IPV6_BYTES + int.from_bytes(ip[4:6], "big")
        protocol, offset = ip[6], 0
    else:
        return None
    if header < _IPV4_BYTES or not header <= total <= len(ip):
        return None
    end, transport_at = start + total, None if offset & 0x1FFF else start + header
    payload_at = None
    if transport_at is not None:
        own = {_UDP: 8, _ICMP: 8, _ICMPV6: 8, _SCTP: 12}.get(protocol, 0)
        if protocol == _TCP:
            told = packet[transport_at + 12 : transport_at + 13]
            own = (told[0] >> 4) * 4 if told else 0
            own = own if own >= _TCP_BYTES else len(packet) + 1
        payload_at = transport_at + own if transport_at + own <= end else None
    return Headers((start,), version, protocol, transport_at, payload_at, bool(offset & 0x3FFF), end)


def checksum_places(packet: bytes) -> list[range]:
    """Where the checksums stand that `repaired` makes right."""
    headers = headers_of(packet)
    if headers is None:
        return []
    places = [range(at + 10, at + 12) for at in headers.ip_at if packet[at] >> 4 == 4]
    if headers.transport_at is not None and not headers.fragment and headers.protocol in _CHECKSUM_AT:
        offset, length = _CHECKSUM_AT[headers.protocol]
        first = headers.transport_at + offset
        if first + length <= headers.end:
            places.append(range(first, first + length))
    return places


def repaired(packet: bytes) -> bytes:
    """The packet with right checksums: of IPv4 and of its transport, where it is whole."""
    headers = headers_of(packet)
    if headers is None:
        return packet
    made = bytearray(packet)
    for place in checksum_places(packet):
        first, last = place.start, place.stop
        if first - 10 in headers.ip_at and packet[first - 10] >> 4 == 4:
            header = made[first - 10 : first - 10 + (made[first - 10] & 0x0F) * 4]
            header[10:12] = b"\0\0"
            made[first:last] = (0xFFFF - ones_complement_sum(bytes(header))).to_bytes(2, "big")
            continue
        if headers.protocol == _UDP and headers.version == 4 and made[first:last] == b"\0\0":
            continue
        made[first:last] = bytes(len(place))
        made[first:last] = _transport_sum(bytes(made), headers)
    return bytes(made)


def _transport_sum(packet: bytes, headers: Headers) -> bytes:
    """The right checksum of a transport whose own field is zero."""
    segment = packet[headers.transport_at : headers.end]
    if headers.protocol == _SCTP:
        return crc32c(segment).to_bytes(4, "little")
    pseudo = b""
    if headers.protocol != _ICMP:
        at = headers.ip_at[-1]
        ends = packet[at + 12 : at + 20] if headers.version == 4 else packet[at + 8 : at + _IPV6_BYTES]
        pseudo = ends + bytes([0, headers.protocol]) + len(segment).to_bytes(4, "big")
    total = 0xFFFF - ones_complement_sum(pseudo + segment)
    return (0xFFFF if headers.protocol == _UDP and not total else total).to_bytes(2, "big")


def settled(packet: bytes, checksums: str) -> bytes:
    """As a plan's `checksums` has it."""
    return repaired(packet) if checksums == "repair" else packet


def written(packet: bytes, fields: Mapping[str, Any]) -> tuple[bytes, bool]:
    """The packet with a plan's `set`, and whether it had a place for each. A message is the whole payload."""
    headers = headers_of(packet)
    if headers is None:
        return packet, False
    made = bytearray(packet)
    fits = _write_ip(made, headers, fields) & _write_transport(made, headers, fields)
    for entry in fields.get("bytes", []):
        value, within = bytes.fromhex(entry["hex"]), entry["within"]
        part = headers.part(within, len(made))
        if part is None:
            fits = False
            continue
        first = part.start + int(entry["offset"])
        kept = value[: max(0, part.stop - first)]
        made[first : first + len(kept)] = kept
        fits &= len(kept) == len(value) or within == "message"
    if fields.get("payload") is not None:
        fits &= _replace_payload(made, headers, bytes.fromhex(fields["payload"]))
    return bytes(made), fits


def _write_ip(made: bytearray, headers: Headers, fields: Mapping[str, Any]) -> bool:
    at, four, fits = headers.ip_at[-1], headers.version == 4, True
    for key, place in (("source", 12 if four else 8), ("destination", 16 if four else 24)):
        if fields.get(key) is not None:
            address = ipaddress.ip_address(fields[key])
            if address.version == headers.version:
                made[at + place : at + place + len(address.packed)] = address.packed
            else:
                fits = False
    if fields.get("ttl") is not None:
        made[at + (8 if four else 7)] = fields["ttl"]
    if fields.get("traffic_class") is not None:
        value = fields["traffic_class"]
        if four:
            made[at + 1] = value
        else:
            made[at] = 0x60 | value >> 4
            made[at + 1] = made[at + 1] & 0x0F | (value & 0x0F) << 4
    return fits


_PORTS = {"source_port": (0, 2), "destination_port": (2, 2)}
_OF_TCP = {"tcp_sequence": (4, 4), "tcp_acknowledgment": (8, 4), "tcp_flags": (13, 1), "tcp_window": (14, 2)}
_PLUS = {"tcp_sequence_plus": 4, "tcp_acknowledgment_plus": 8}


def _write_transport(made: bytearray, headers: Headers, fields: Mapping[str, Any]) -> bool:
    at, fits = headers.transport_at, True
    tcp = headers.protocol == _TCP and headers.payload_at is not None
    ports = at is not None and headers.protocol in (_TCP, _UDP, _SCTP) and at + 4 <= len(made)
    before = bytes(made)
    writes = [(key, *place, ports) for key, place in _PORTS.items()]
    writes += [(key, *place, tcp) for key, place in _OF_TCP.items()]
    for key, offset, length, has in writes:
        if fields.get(key) is not None:
            fits &= has
            if has and at is not None:
                made[at + offset : at + offset + length] = int(fields[key]).to_bytes(length, "big")
    for key, offset in _PLUS.items():
        if fields.get(key) is not None:
            fits &= tcp
            if tcp and at is not None:
                value = int.from_bytes(before[at + offset : at + offset + 4], "big") + int(fields[key])
                made[at + offset : at + offset + 4] = (value % 2**32).to_bytes(4, "big")
    return fits


def _replace_payload(made: bytearray, headers: Headers, payload: bytes) -> bool:
    if headers.payload_at is None or headers.transport_at is None or headers.fragment:
        return False
    end = headers.payload_at + len(payload)
    if end > _LONGEST_BYTES:
        return False
    made[headers.payload_at :] = payload
    for at in headers.ip_at:
        four = made[at] >> 4 == 4
        place, length = (at + 2, end - at) if four else (at + 4, end - at - _IPV6_BYTES)
        made[place : place + 2] = length.to_bytes(2, "big")
    if headers.protocol == _UDP:
        place = headers.transport_at + 4
        made[place : place + 2] = (end - headers.transport_at).to_bytes(2, "big")
    return True


def swapped(packet: bytes, swap: str) -> tuple[bytes, bool]:
    """The packet with its two ends exchanged as a plan's `swap` has it, and whether it has them."""
    headers = headers_of(packet)
    if swap == "nothing" or headers is None:
        return packet, swap == "nothing"
    at, length = (12, 4) if headers.version == 4 else (8, 16)
    made = _exchanged(packet, headers.ip_at[-1] + at, length)
    if swap == "addresses":
        return made, True
    if headers.transport_at is None or headers.protocol not in (_TCP, _UDP, _SCTP):
        return made, False
    return _exchanged(made, headers.transport_at, 2), True


def _exchanged(packet: bytes, at: int, length: int) -> bytes:
    middle, end = at + length, at + 2 * length
    return packet[:at] + packet[middle:end] + packet[at:middle] + packet[end:]


def made_packet(protocol: str, source: str, destination: str) -> bytes:
    """A packet of a plan's `made`, with nothing in it but addresses and lengths."""
    ends = ipaddress.ip_address(source), ipaddress.ip_address(destination)
    four = ends[0].version == 4
    number = {"udp": _UDP, "tcp": _TCP, "icmp": _ICMP if four else _ICMPV6}[protocol]
    transport = bytearray(20 if number == _TCP else 8)
    if number == _UDP:
        transport[4:8] = b"\0\x08\xff\xff"
    elif number == _TCP:
        transport[12] = 0x50
    if four:
        length = (_IPV4_BYTES + len(transport)).to_bytes(2, "big")
        header = b"\x45\0" + length + b"\0\0\0\0" + bytes([_TTL, number]) + b"\0\0"
    else:
        header = b"\x60\0\0\0" + len(transport).to_bytes(2, "big") + bytes([number, _TTL])
    return header + ends[0].packed + ends[1].packed + bytes(transport)
