"""Checksums of captured packets, worked out anew: of IPv4, TCP, UDP and SCTP (RFC 791, RFC 9293, RFC 768,
RFC 9260)."""

from __future__ import annotations

from gauntlet.certificate.headers import GRE_BYTES

_TCP, _UDP, _GRE = 6, 17, 47
_IPV6_BYTES = 40
_IPV4_ADDRESSES_BYTES = 8


def ip_header_is_right(packet: bytes) -> bool:
    """Whether a router goes on with what it sees of this packet: an IP header with a right checksum and some
    time to live, of a tunnel's inner packet too."""
    if not packet:
        return False
    version = packet[0] >> 4
    if version == 6:
        return len(packet) >= _IPV6_BYTES and packet[7] > 1
    header = packet[: (packet[0] & 0x0F) * 4]
    if version != 4 or len(header) < 20 or ones_complement_sum(header) != 0xFFFF or packet[8] <= 1:
        return False
    return packet[9] != _GRE or len(packet) <= GRE_BYTES or ip_header_is_right(packet[GRE_BYTES:])


def sums_are_right(packet: bytes) -> bool | None:
    """Whether the checksums of a whole packet are right; None of what is neither TCP nor UDP, and of
    fragments."""
    version = packet[0] >> 4 if len(packet) >= 20 else 0
    if version == 4:
        header_bytes, total_bytes = (packet[0] & 0x0F) * 4, int.from_bytes(packet[2:4], "big")
        if header_bytes < 20 or not header_bytes <= total_bytes <= len(packet):
            return None
        if ones_complement_sum(packet[:header_bytes]) != 0xFFFF:
            return False
        known = not int.from_bytes(packet[6:8], "big") & 0x3FFF and packet[9] in (_TCP, _UDP)
        return _transport(packet[9], packet[12:20], packet[header_bytes:total_bytes]) if known else None
    if version == 6 and len(packet) >= _IPV6_BYTES and packet[6] in (_TCP, _UDP):
        end = _IPV6_BYTES + int.from_bytes(packet[4:6], "big")
        return _transport(packet[6], packet[8:_IPV6_BYTES], packet[_IPV6_BYTES:end])
    return None


def _transport(protocol: int, addresses: bytes, segment: bytes) -> bool | None:
    if len(segment) < 8:
        return None
    if protocol == _UDP and len(addresses) == _IPV4_ADDRESSES_BYTES and segment[6:8] == b"\0\0":
        return True
    pseudo = addresses + bytes([0, protocol]) + len(segment).to_bytes(4, "big")
    return ones_complement_sum(pseudo + segment) == 0xFFFF


def ones_complement_sum(data: bytes) -> int:
    """The ones' complement sum of 16-bit words, the last one filled up with a zero (RFC 1071)."""
    # 2^16 is 1 modulo 0xFFFF, so that a number leaves what its words add up to; that is 0 of zeros alone.
    number = int.from_bytes(data, "big") << (8 * (len(data) % 2))
    return number % 0xFFFF or (0xFFFF if number else 0)


def _crc32c_table() -> list[int]:
    """Of the polynomial of RFC 9260, appendix A, lowest bit first."""
    table = list(range(256))
    for _ in range(8):
        table = [value >> 1 ^ (0x82F63B78 if value & 1 else 0) for value in table]
    return table


_CRC32C = _crc32c_table()


def crc32c(data: bytes) -> int:
    """The checksum of SCTP."""
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ _CRC32C[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF
