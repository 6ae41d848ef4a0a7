"""What an in-path node forges as an answer to a packet: worked out anew from the plan (docs/formats/plan.md)
and the packet's bytes. Of what is drawn only whether it can be made is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gauntlet.certificate.rewriting import headers_of, repaired, swapped, written

FORGED = frozenset({"reset", "stateless_reset", "version_negotiation", "retry"})
"""Actions that forge an answer."""

_TCP, _UDP = 6, 17
_FLAGS_AT, _ACK = 13, 0x10
_VERSION_1, _LONGEST_ID_BYTES = 1, 20
_RESERVED_VERSIONS = ["1a2a3a4a"]
_IDS_AT = 5
"""Where the connection IDs begin in a datagram with a long header (RFC 8999, section 5.1)."""


@dataclass(frozen=True)
class _LongHeader:
    first: int
    version: int
    destination: bytes
    source: bytes

    @property
    def initial(self) -> bool:
        """Whether it is that of an Initial packet of version 1."""
        short = max(len(self.destination), len(self.source)) <= _LONGEST_ID_BYTES
        return self.version == _VERSION_1 and self.first & 0x30 == 0 and short


def forged(packet: bytes, deed: Mapping[str, Any]) -> tuple[bool, bytes | None]:
    """Whether the action can answer the packet, and its answer where nothing of it is drawn."""
    headers = headers_of(packet)
    if headers is None or headers.payload_at is None or headers.transport_at is None or headers.fragment:
        return False, None
    if deed["action"] == "reset":
        fits = headers.protocol == _TCP and _can_reset(packet[headers.transport_at : headers.end], deed)
        return fits, _reset(packet) if fits and deed.get("guess", "exact") == "exact" else None
    if headers.protocol != _UDP:
        return False, None
    return _forged_quic(packet, packet[headers.payload_at : headers.end], deed)


def _can_reset(segment: bytes, deed: Mapping[str, Any]) -> bool:
    offers = int.from_bytes(segment[14:16], "big") > 1
    return bool(segment[_FLAGS_AT] & _ACK) and (deed.get("guess", "exact") != "window" or offers)


def _forged_quic(packet: bytes, datagram: bytes, deed: Mapping[str, Any]) -> tuple[bool, bytes | None]:
    header = _long_header(datagram)
    if deed["action"] == "stateless_reset":
        return True, None
    if deed["action"] == "retry":
        return header is not None and header.initial, None
    if header is None or header.version == 0:
        return False, None
    ids = _ids(header.source, header.destination)
    versions = bytes.fromhex("".join(deed.get("versions", _RESERVED_VERSIONS)))
    return True, _answer(packet, b"\xc0\0\0\0\0" + ids + versions)


def swapped_ids(packet: bytes) -> bytes | None:
    """The packet with its connection IDs in each other's place; None of one without a long header of QUIC."""
    headers = headers_of(packet)
    if headers is None or headers.payload_at is None or headers.protocol != _UDP:
        return None
    header = _long_header(packet[headers.payload_at : headers.end])
    if header is None:
        return None
    ids, at = _ids(header.source, header.destination), headers.payload_at + _IDS_AT
    return packet[:at] + ids + packet[at + len(ids) :]


def _long_header(datagram: bytes) -> _LongHeader | None:
    if len(datagram) <= _IDS_AT or not datagram[0] & 0x80:
        return None
    found, at = [], _IDS_AT
    for _ in range(2):
        if at >= len(datagram) or at + 1 + datagram[at] > len(datagram):
            return None
        found.append(datagram[at + 1 : at + 1 + datagram[at]])
        at += 1 + datagram[at]
    return _LongHeader(datagram[0], int.from_bytes(datagram[1:5], "big"), *found)


def _ids(destination: bytes, source: bytes) -> bytes:
    return bytes([len(destination)]) + destination + bytes([len(source)]) + source


def _answer(packet: bytes, payload: bytes) -> bytes:
    """The packet as if the other end had sent this in its place."""
    turned, _ = swapped(packet, "addresses_and_ports")
    return repaired(written(turned, {"payload": payload.hex()})[0])


def _reset(packet: bytes) -> bytes:
    """A segment that resets the sender of this one, whose number is the next that it waits for."""
    headers = headers_of(packet)
    assert headers is not None and headers.transport_at is not None
    at = headers.transport_at
    answer = bytearray(_answer(packet, b""))
    answer[at + 4 : at + 20] = packet[at + 8 : at + 12] + bytes([0, 0, 0, 0, 0x50, 0x04]) + bytes(6)
    return repaired(written(bytes(answer), {"payload": ""})[0])
