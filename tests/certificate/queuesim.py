"""Queues that a shaper of `linksim` may have in place of its own: packet by packet, as their RFCs tell it."""

from __future__ import annotations

import math
import struct
from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from tests.certificate.linksim import SECOND, Packet

FULL_PACKET_BYTES = 1514


class Discipline(Protocol):
    """What a shaper asks of its queue."""

    dropped: int

    def put(self, packet: Packet, ahead: int) -> None:
        """Take a packet in, or drop one. So many were handed out and wait for tokens: the kernel's queues
        count them as theirs.
        """

    def take(self, now_ns: int) -> Packet | None:
        """Hand out the next packet."""

    @property
    def waiting(self) -> list[Packet]:
        """What is queued."""


def discipline(asked: Mapping[str, Any]) -> Discipline:
    """The queue that a timeline asks for."""
    if asked["kind"] == "pfifo":
        return Fifo(asked["limit_packets"])
    codel: dict[str, Any] = {
        key: asked.get(key) for key in ("target_s", "interval_s", "ecn", "ce_threshold_s")
    }
    made = Codel(limit=asked["limit_packets"], **codel)
    return made if asked["kind"] == "codel" else Fair(asked["limit_packets"], codel)


def marked(packet: Packet) -> Packet | None:
    """The packet with a mark in its outer header; None if it takes none."""
    wire = bytearray(packet.wire)
    if not wire[1] & 3:
        return None
    wire[1] |= 3
    return replace(packet, wire=bytes(wire))


@dataclass
class Fifo:
    """So many packets."""

    limit: int
    dropped: int = 0
    packets: deque[Packet] = field(default_factory=deque)

    def put(self, packet: Packet, ahead: int) -> None:
        """Drop it when there is no room."""
        if len(self.packets) + ahead >= self.limit:
            self.dropped += 1
        else:
            self.packets.append(packet)

    def take(self, now_ns: int) -> Packet | None:
        """The oldest."""
        return self.packets.popleft() if self.packets else None

    @property
    def waiting(self) -> list[Packet]:
        """What is queued."""
        return list(self.packets)


@dataclass
class Codel(Fifo):
    """RFC 8289, section 5."""

    target_s: float = 0.005
    interval_s: float = 0.1
    ecn: bool = False
    ce_threshold_s: float | None = None
    first_above_ns: int = 0
    drop_next_ns: int = 0
    count: int = 0
    last_count: int = 0
    dropping: bool = False

    def _next(self, now_ns: int) -> tuple[Packet | None, bool]:
        packet = super().take(now_ns)
        if packet is None:
            self.first_above_ns = 0
            return None, False
        size = sum(len(it.wire) for it in self.packets)
        if now_ns - packet.time_ns < self.target_s * SECOND or size <= FULL_PACKET_BYTES:
            self.first_above_ns = 0
        elif not self.first_above_ns:
            self.first_above_ns = now_ns + round(self.interval_s * SECOND)
        else:
            return packet, now_ns >= self.first_above_ns
        return packet, False

    def _law(self, from_ns: int) -> int:
        return from_ns + round(self.interval_s * SECOND / math.sqrt(self.count))

    def _signal(self, packet: Packet) -> Packet | None:
        """The packet with a mark, or none: it is dropped."""
        with_mark = marked(packet) if self.ecn else None
        self.dropped += with_mark is None
        return with_mark

    def take(self, now_ns: int) -> Packet | None:
        """The next one that is not dropped."""
        packet, above = self._next(now_ns)
        signalled = False
        if self.dropping:
            self.dropping = above
            while packet is not None and self.dropping and now_ns >= self.drop_next_ns and not signalled:
                self.count += 1
                self.drop_next_ns = self._law(self.drop_next_ns)
                with_mark = self._signal(packet)
                signalled = with_mark is not None
                packet = with_mark
                if packet is None:
                    packet, self.dropping = self._next(now_ns)
        elif packet is not None and above:
            with_mark = self._signal(packet)
            packet = with_mark if with_mark is not None else self._next(now_ns)[0]
            self.dropping = True
            delta = self.count - self.last_count
            recent = now_ns - self.drop_next_ns < 16 * self.interval_s * SECOND
            self.count = delta if delta > 1 and recent else 1
            self.last_count = self.count
            self.drop_next_ns = self._law(now_ns)
        if (
            packet is not None
            and self.ce_threshold_s is not None
            and now_ns - packet.time_ns > self.ce_threshold_s * SECOND
        ):
            packet = marked(packet) or packet
        return packet


@dataclass
class Fair:
    """A CoDel for each source port, in turns of a packet."""

    limit: int
    codel: Mapping[str, Any]
    dropped: int = 0
    flows: OrderedDict[int, Codel] = field(default_factory=OrderedDict)

    def put(self, packet: Packet, ahead: int) -> None:
        """When it is full, the longest flow makes room."""
        (port,) = struct.unpack_from(">H", packet.wire, 44)
        self.flows.setdefault(port, Codel(limit=1 << 30, **self.codel)).packets.append(packet)
        if len(self.waiting) + ahead > self.limit:
            max(self.flows.values(), key=lambda flow: len(flow.packets)).packets.popleft()
            self.dropped += 1

    def take(self, now_ns: int) -> Packet | None:
        """The next one of the flow whose turn it is."""
        for port in list(self.flows):
            flow = self.flows[port]
            before = flow.dropped
            packet = flow.take(now_ns)
            self.dropped += flow.dropped - before
            self.flows.move_to_end(port)
            if packet is not None:
                return packet
        return None

    @property
    def waiting(self) -> list[Packet]:
        """What is queued."""
        return [packet for flow in self.flows.values() for packet in flow.packets]
