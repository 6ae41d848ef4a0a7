"""The payload that a tap shows of a flow: which bytes of its transport each packet carries.

Read from the packets' own headers (TCP: RFC 9293, UDP: RFC 768, SCTP: RFC 9260), by the addresses and
ports of the flow. What a transport encrypts is not told apart from what it adds: its whole payload counts,
so that the sums are the most that the application can have received.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

TCP, UDP, SCTP, RESTP = 6, 17, 132, 253
"""IP protocol numbers; 253 is for experiments (RFC 3692), ResTP's over raw IP (docs/formats/plan.md)."""

_PORTS_AT = {RESTP: 8}
"""Where the source port stands in a header, the other one behind it: at its beginning, but in ResTP's behind
flags and lengths (docs/restp-spec.md, chapter 2)."""

_IPV6_FRAGMENT = 44
_UDP_HEADER_BYTES = 8
_SCTP_HEADER_BYTES, _DATA_HEADER_BYTES, _CHUNK_DATA = 12, 16, 0


@dataclass(frozen=True)
class Ports:
    """Ports of a flow's packets; None: any."""

    source: int | None
    destination: int | None

    @property
    def reversed(self) -> Ports:
        """Those of the packets back."""
        return Ports(self.destination, self.source)

    def match(self, source: Ints, destination: Ints) -> Flags:
        """Which packets have these ports."""
        found: Flags = np.ones(len(source), np.bool_)
        if self.source is not None:
            found &= source == self.source
        if self.destination is not None:
            found &= destination == self.destination
        return found


@dataclass(frozen=True)
class Pieces:
    """Stretches of payload, one entry a stretch, in order of arrival.

    `row` is the packet; `session` tells connections apart (by ports, and for TCP by addresses); `sequence` is
    the number that the transport gives the stretch: of its first byte (TCP), of its chunk (SCTP), of its
    message (UDP). `opens` marks TCP's SYN.
    """

    row: Ints
    session: Ints
    sequence: Ints
    length: Ints
    opens: Flags

    @classmethod
    def none(cls) -> Pieces:
        """No stretch at all."""
        empty = np.empty(0, np.int64)
        return cls(empty, empty, empty, empty, np.empty(0, np.bool_))


@dataclass(frozen=True)
class Payloads:
    """What a flow's packets carry: `pieces` by transport (IP protocol), and `unread_bytes`, by packet: what
    may be payload but cannot be told apart (behind the captured bytes, or a fragment without header)."""

    pieces: dict[int, Pieces]
    unread_bytes: Ints


@dataclass(frozen=True)
class _Transport:
    """Packets that share a transport and the place of its header: `rows` of them, captured bytes from that
    header on, and how long header and payload are."""

    rows: Ints
    part: Bytes
    length: Ints

    def word(self, offset: int, size: int) -> Ints:
        """A number of `size` bytes in network order at an offset of the header."""
        value = np.zeros(len(self.part), np.int64)
        for column in range(offset, offset + size):
            value = value * 256 + self.part[:, column]
        return value

    def only(self, chosen: Flags) -> _Transport:
        """Some of the packets."""
        return _Transport(self.rows[chosen], self.part[chosen], self.length[chosen])


def read_payloads(inner: Bytes, way: Ints, ports: Ports, *, rtp: bool = False) -> Payloads:
    """The payload of packets (rows of captured bytes from the inner IP header on) between a flow's addresses.

    `way` numbers the pair of addresses of each packet. Datagrams are numbered as Gauntlet's own, or with
    `rtp` as RTP's.
    """
    unread = np.zeros(len(inner), np.int64)
    pieces: dict[int, Pieces] = {}
    for protocol, packets in _by_transport(inner, unread):
        ports_at = _PORTS_AT.get(protocol, 0)
        mine = packets.only(ports.match(packets.word(ports_at, 2), packets.word(ports_at + 2, 2)))
        if not len(mine.rows):
            continue
        if protocol == RESTP:
            count = len(mine.rows)
            none = np.zeros(count, np.int64)
            pieces[protocol] = Pieces(
                mine.rows, none, np.arange(count), mine.length, np.zeros(count, np.bool_)
            )
            continue
        session = mine.word(0, 4)
        if protocol == TCP:
            found = _tcp(mine, session + (way[mine.rows] << 32))
        elif protocol == UDP:
            found = _udp(mine, session, rtp=rtp)
        else:
            found = _sctp(mine, session, unread)
        pieces[protocol] = found
    return Payloads(pieces, unread)


def _by_transport(inner: Bytes, unread: Ints) -> Iterator[tuple[int, _Transport]]:
    """Packets with a header of a known transport, by protocol; fragments are noted in `unread` instead."""
    ipv4 = inner[:, 0] >> 4 == 4
    start = np.where(ipv4, (inner[:, 0] & 15).astype(np.int64) * 4, 40)
    total = np.where(ipv4, _two(inner, 2), _two(inner, 4) + 40)
    protocol = np.where(ipv4, inner[:, 9], inner[:, 6])
    fragment = np.where(ipv4, _two(inner, 6) & 0x3FFF != 0, protocol == _IPV6_FRAGMENT)
    unread[fragment] = (total - start)[fragment]
    place = protocol.astype(np.int64) * 256 + start
    place[fragment | (start < 20) | (total < start + 8)] = -1
    for kind in np.unique(place):
        number, offset = divmod(int(kind), 256)
        if kind < 0 or number not in (TCP, UDP, SCTP, RESTP):
            continue
        rows = np.flatnonzero(place == kind)
        yield number, _Transport(rows, inner[rows, offset:], total[rows] - offset)


def _two(inner: Bytes, column: int) -> Ints:
    value: Ints = inner[:, column].astype(np.int64) * 256 + inner[:, column + 1]
    return value


def _tcp(packets: _Transport, session: Ints) -> Pieces:
    opens = packets.part[:, 13] & 0x02 != 0
    header = (packets.part[:, 12] >> 4).astype(np.int64) * 4
    length = np.maximum(packets.length - header, 0)
    # The data of a SYN begin one number behind it.
    sequence = packets.word(4, 4) + opens
    kept = (length > 0) | opens
    return Pieces(packets.rows[kept], session[kept], sequence[kept], length[kept], opens[kept])


def _udp(packets: _Transport, session: Ints, *, rtp: bool) -> Pieces:
    if rtp:
        number = _unwrapped_16(packets.word(_UDP_HEADER_BYTES + 2, 2))
    else:
        # Gauntlet's own datagrams begin with the number of their message, 32 bits little endian.
        number = packets.part[:, 8:12].copy().view("<u4")[:, 0].astype(np.int64)
    none = np.zeros(len(packets.rows), np.bool_)
    return Pieces(packets.rows, session, number, packets.length - 8, none)


def _unwrapped_16(sequence: Ints) -> Ints:
    """RTP's numbers, which begin at 0, without their jumps from 2^16 - 1 to 0 (RFC 3550, appendix A.1): each
    is less than 2^15 from the one that arrived before it.
    """
    steps = np.diff(sequence, prepend=0)
    return np.cumsum((steps + (1 << 15)) % (1 << 16) - (1 << 15))


def _sctp(packets: _Transport, session: Ints, unread: Ints) -> Pieces:
    """Every DATA chunk whose header was captured; of packets with more chunks than were captured the rest
    is unread."""
    found = []
    alive, at = np.arange(len(packets.rows)), np.full(len(packets.rows), _SCTP_HEADER_BYTES)
    width = packets.part.shape[1]
    while len(alive):
        rest = packets.length[alive] - at
        visible = at + _DATA_HEADER_BYTES <= width
        hidden = ~visible & (rest > _DATA_HEADER_BYTES)
        unread[packets.rows[alive[hidden]]] += rest[hidden] - _DATA_HEADER_BYTES
        going = visible & (rest >= 4)
        alive, at = alive[going], at[going]
        kind = packets.part[alive, at]
        size = _at(packets.part, alive, at + 2, 2)
        data = (kind == _CHUNK_DATA) & (size > _DATA_HEADER_BYTES)
        chosen = alive[data]
        if len(chosen):
            found.append(
                (chosen, _at(packets.part, chosen, at[data] + 4, 4), size[data] - _DATA_HEADER_BYTES)
            )
        going = size >= 4
        alive, at = alive[going], at[going] + (size[going] + 3) // 4 * 4
    if not found:
        return Pieces.none()
    row, sequence, length = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.argsort(row, kind="stable")
    row = row[order]
    none = np.zeros(len(row), np.bool_)
    return Pieces(packets.rows[row], session[row], sequence[order], length[order], none)


def _at(part: Bytes, rows: Ints, start: Ints, size: int) -> Ints:
    value = np.zeros(len(rows), np.int64)
    for column in range(size):
        value = value * 256 + part[rows, start + column]
    return value
