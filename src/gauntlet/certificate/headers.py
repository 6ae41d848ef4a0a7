"""What the certificate reads from a packet's bytes: who sent it to whom, and a key that stays the same on the
whole way.

The key is a hash over the inner IP packet (behind a plain 20 + 4 byte IPv4 and GRE header where there is one)
without the fields that change on the way: TTL or hop limit, DSCP and ECN, IPv4 header checksum, and SCTP
checksum (which the kernel fills in late, when a packet reaches a device that cannot). It covers as many bytes
as a tap inside a tunnel still holds.
"""

from __future__ import annotations

import ipaddress

import numpy as np
import numpy.typing as npt

GRE_BYTES = 24
"""IPv4 header without options (20, RFC 791) and GRE header without options (4, RFC 2784)."""

_PROTOCOL_ICMP = 1
_PROTOCOL_TCP = 6
_PROTOCOL_UDP = 17
_PROTOCOL_GRE = 47
_PROTOCOL_ICMPV6 = 58
_PROTOCOL_SCTP = 132

_MULTIPLIER = np.uint64(
    0x9E3779B97F4A7C15
)  # odd, 2^64 divided by the golden ratio: the usual multiplicative hash
_HALF = np.uint64(32)

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]


def _word(kept: list[int]) -> np.uint64:
    return np.uint64(int.from_bytes(bytes(kept), "little"))


# Bytes 0-7 and 8-15 of a header with everything set to zero that may change on the way.
_KEEP_IPV4 = (_word([255, 0, 255, 255, 255, 255, 255, 255]), _word([0, 255, 0, 0, 255, 255, 255, 255]))
_KEEP_IPV6 = (_word([0xF0, 0x0F, 255, 255, 255, 255, 255, 0]), _word([255] * 8))


# The SCTP checksum is in bytes 8 to 11 of the SCTP header (RFC 9260), behind 20 bytes of IPv4 or 40 of IPv6.
_KEEP_SCTP_IPV4 = (3, _word([255, 255, 255, 255, 0, 0, 0, 0]))
_KEEP_SCTP_IPV6 = (6, _word([0, 0, 0, 0, 255, 255, 255, 255]))


def in_tunnel(packets: Bytes) -> Flags:
    """Which rows of captured bytes (rows x capture length) have a plain IPv4 and GRE header in front."""
    plain_ipv4 = (packets[:, 0] == 0x45) & (packets[:, 9] == _PROTOCOL_GRE)
    no_options = (packets[:, 20] == 0) & (packets[:, 21] == 0)
    carries_ip = ((packets[:, 22] == 0x08) & (packets[:, 23] == 0x00)) | (
        (packets[:, 22] == 0x86) & (packets[:, 23] == 0xDD)
    )
    tunnelled: Flags = plain_ipv4 & no_options & carries_ip
    return tunnelled


def inner_packets(packets: Bytes) -> Bytes:
    """The inner IP packet of each row of captured bytes.

    The result has 24 columns less, since this is what a tap inside a tunnel holds of the inner packet.
    """
    width = packets.shape[1] - GRE_BYTES
    inner = np.ascontiguousarray(packets[:, :width])
    rows = np.flatnonzero(in_tunnel(packets))
    if rows.size:
        inner[rows] = packets[rows, GRE_BYTES:]
    return inner


def unchanging_words(inner: Bytes) -> Words:
    """The inner packets as 64-bit words, with the fields that change on the way set to zero (rows × width
    / 8)."""
    # Word by word in memory: each word of all packets is worked on at once.
    words = np.array(inner.view("<u8"), np.uint64, order="F")
    ipv4 = inner[:, 0] >> 4 == 4
    for column in (0, 1):
        words[:, column] &= np.where(ipv4, _KEEP_IPV4[column], _KEEP_IPV6[column])
    sctp_ipv4 = np.flatnonzero(ipv4 & (inner[:, 9] == _PROTOCOL_SCTP))
    sctp_ipv6 = np.flatnonzero(~ipv4 & (inner[:, 6] == _PROTOCOL_SCTP))
    for rows, (column, kept) in ((sctp_ipv4, _KEEP_SCTP_IPV4), (sctp_ipv6, _KEEP_SCTP_IPV6)):
        words[rows, column] &= kept
    return words


def keys(words: Words) -> Words:
    """A 64-bit hash per row; rows that differ in one word never collide, others with a chance of about
    2^-64."""
    state = np.zeros(len(words), np.uint64)
    shifted = np.empty_like(state)
    for column in range(words.shape[1]):
        state ^= words[:, column]
        state *= _MULTIPLIER
        np.right_shift(state, _HALF, out=shifted)
        state ^= shifted
    return state


def pair_codes(inner: Bytes) -> Words:
    """One number per row for its (source, destination) addresses; equal to `pair_code` of the same
    addresses."""
    ipv4 = inner[:, 0] >> 4 == 4
    codes = inner[:, 12:20].copy().view("<u8")[:, 0].astype(np.uint64)
    rows = np.flatnonzero(~ipv4)
    if rows.size:
        codes[rows] = keys(inner[rows, 8:40].copy().view("<u8").astype(np.uint64))
    return codes


def pair_code(source: str, destination: str) -> int:
    """The code of two addresses written as text. Raises ValueError for what is not an IP address."""
    packed = ipaddress.ip_address(source).packed + ipaddress.ip_address(destination).packed
    words = np.frombuffer(packed, "<u8").astype(np.uint64)
    return int(words[0]) if len(words) == 1 else int(keys(words[None, :])[0])


def flow_codes(inner: Bytes) -> Words:
    """One number per row for its flow: addresses, protocol, ports where it has any, DSCP."""
    ipv4 = inner[:, 0] >> 4 == 4
    protocol = np.where(ipv4, inner[:, 9], inner[:, 6])
    ports = np.where(ipv4[:, None], inner[:, 20:24], inner[:, 40:44]).astype(np.uint64)
    whole = ~ipv4 | ((inner[:, 6] & 0x3F == 0) & (inner[:, 7] == 0))
    with_ports = whole & np.isin(protocol, (_PROTOCOL_TCP, _PROTOCOL_UDP, _PROTOCOL_SCTP))
    words = np.empty((len(inner), 3), np.uint64)
    words[:, 0] = pair_codes(inner)
    words[:, 1] = np.where(with_ports, ports @ np.array([1 << 24, 1 << 16, 1 << 8, 1], np.uint64), 0)
    words[:, 2] = protocol.astype(np.uint64) << np.uint64(8) | (_class(inner) >> 2).astype(np.uint64)
    return keys(words)


def ecn(packets: Bytes) -> npt.NDArray[np.int64]:
    """The ECN field of the outermost header of each row: 0 where the ends do not know it, 3 where marked."""
    return (_class(packets) & 3).astype(np.int64)


def _class(packets: Bytes) -> Bytes:
    """The octet of DSCP and ECN: IPv4's second, IPv6's traffic class."""
    ipv6 = (packets[:, 0] << 4) | (packets[:, 1] >> 4)
    return np.where(packets[:, 0] >> 4 == 4, packets[:, 1], ipv6)


def link_local(inner: Bytes) -> Flags:
    """Which packets concern their own link only (multicast, broadcast, IPv6 link-local): no router hands
    them on."""
    ipv4 = inner[:, 0] >> 4 == 4
    multicast = np.where(ipv4, inner[:, 16] >= 224, inner[:, 24] == 0xFF)
    from_link = (inner[:, 8] == 0xFE) & (inner[:, 9] & 0xC0 == 0x80)
    to_link = (inner[:, 24] == 0xFE) & (inner[:, 25] & 0xC0 == 0x80)
    flags: Flags = multicast | (~ipv4 & (from_link | to_link))
    return flags


def icmp(inner: Bytes) -> Flags:
    """Which packets are ICMP or ICMPv6 messages, the only ones that a router sends of its own accord."""
    ipv4 = inner[:, 0] >> 4 == 4
    flags: Flags = np.where(ipv4, inner[:, 9] == _PROTOCOL_ICMP, inner[:, 6] == _PROTOCOL_ICMPV6)
    return flags
