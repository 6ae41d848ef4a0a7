"""Checksums of captured packets, worked out anew: of IPv4, TCP and UDP (RFC 791, RFC 9293, RFC 768)."""

from __future__ import annotations

import numpy as np

from gauntlet.certificate.headers import GRE_BYTES

_TCP, _UDP, _GRE = 6, 17, 47
_IPV6_BYTES = 40


def ip_header_is_right(packet: bytes) -> bool:
    """Whether a router goes on with what it sees of this packet: an IP header with a right checksum and some time
    to live, of a tunnel's inner packet too."""
    if not packet:
        return False
    version = packet[0] >> 4
    if version == 6:
        return len(packet) >= _IPV6_BYTES and packet[7] > 1
    header = packet[: (packet[0] & 0x0F) * 4]
    if version != 4 or len(header) < 20 or _sum(header) != 0xFFFF or packet[8] <= 1:
        return False
    return packet[9] != _GRE or len(packet) <= GRE_BYTES or ip_header_is_right(packet[GRE_BYTES:])


def sums_are_right(packet: bytes) -> bool | None:
    """Whether the checksums of a whole packet are right; None of what is neither TCP nor UDP, and of fragments."""
    if len(packet) < 20:
        return None
    if packet[0] >> 4 == 6:
        if len(packet) < _IPV6_BYTES or packet[6] not in (_TCP, _UDP):
            return None
        return _transport(packet[6], packet[8:40], packet[40 : 40 + int.from_bytes(packet[4:6], "big")], six=True)
    if packet[0] >> 4 != 4:
        return None
    header_bytes = (packet[0] & 0x0F) * 4
    if header_bytes < 20 or len(packet) < max(header_bytes, int.from_bytes(packet[2:4], "big")):
        return None
    if _sum(packet[:header_bytes]) != 0xFFFF:
        return False
    if int.from_bytes(packet[6:8], "big") & 0x3FFF or packet[9] not in (_TCP, _UDP):
        return None
    return _transport(packet[9], packet[12:20], packet[header_bytes : int.from_bytes(packet[2:4], "big")], six=False)


def _transport(protocol: int, addresses: bytes, segment: bytes, *, six: bool) -> bool | None:
    if len(segment) < 8:
        return None
    if protocol == _UDP and not six and segment[6:8] == b"\0\0":
        return True
    pseudo = addresses + bytes([0, protocol]) + len(segment).to_bytes(4, "big")
    return _sum(pseudo + segment) == 0xFFFF


def _sum(data: bytes) -> int:
    """The ones' complement sum of 16-bit words, the last one filled up with a zero (RFC 1071)."""
    words = np.frombuffer(data + b"\0" * (len(data) % 2), ">u2")
    total = int(words.sum(dtype=np.uint64))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total
