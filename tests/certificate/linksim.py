"""A small packet-level simulator of links: it makes captures as an honest emulator would, for tests to spoil.

Event by event and packet by packet, on purpose unlike the closed forms of the certificate.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

SECOND = 1_000_000_000

DEFAULTS: dict[str, Any] = {
    "rate_bps": None,
    "burst_bytes": 1580,
    "queue_limit_bytes": 512_000,
    "queue": None,
    "delay_s": 0.0,
    "jitter_s": 0.0,
    "reorder": False,
    "loss": 0.0,
    "gilbert_elliott": None,
    "duplicate": 0.0,
    "corrupt": 0.0,
    "limit_packets": 100_000,
    "up": True,
}


@dataclass(frozen=True)
class Packet:
    """A packet on the wire at one instant; `wire` holds the bytes from the outermost IP header on."""

    time_ns: int
    wire: bytes


@dataclass
class Counters:
    """What a queue counts."""

    dropped: int = 0
    backlog: int = 0
    backlog_bytes: int = 0


@dataclass(frozen=True)
class Change:
    """All parameters of a link from an instant on."""

    time_ns: int
    values: Mapping[str, Any]


def changes_of(timeline: Sequence[Mapping[str, Any]], link: str) -> list[Change]:
    """The parameters of a link over time; keys that an entry does not name keep their value."""
    values, changes = dict(DEFAULTS), []
    for entry in timeline:
        if entry["link"] == link:
            values = {**values, **{key: value for key, value in entry.items() if key not in ("at_s", "link")}}
            changes.append(Change(round(entry["at_s"] * SECOND), values))
    return changes


@dataclass
class Shaper:
    """A token bucket filter with a byte-limited queue, as the kernel runs it: tokens in time and a timer."""

    values: Mapping[str, Any]
    queue: deque[Packet] = field(default_factory=deque)
    backlog_bytes: int = 0
    tokens_ns: int = 0
    last_ns: int = 0
    timer_ns: int | None = None
    out: list[Packet] = field(default_factory=list)
    dropped: int = 0
    leaf: Any = None
    """What queues in place of its own queue (`queuesim`)."""
    held: Packet | None = None
    """What the leaf has handed out and waits for tokens."""

    def change(self, values: Mapping[str, Any]) -> None:
        """New parameters fill the bucket; the queue is not woken."""
        self.values = values
        self.tokens_ns = self._cost_ns(values["burst_bytes"])

    def _cost_ns(self, size_bytes: int) -> int:
        rate = self.values["rate_bps"]
        return 0 if rate is None else size_bytes * SECOND // (rate // 8)

    def arrive(self, packet: Packet) -> None:
        """Take a packet in, or drop it when the queue has no room."""
        if self.leaf is not None:
            self.leaf.put(packet, int(self.held is not None))
            self.serve(packet.time_ns)
            return
        if self.backlog_bytes + len(packet.wire) > self.values["queue_limit_bytes"]:
            self.dropped += 1
            return
        self.queue.append(packet)
        self.backlog_bytes += len(packet.wire)
        self.serve(packet.time_ns)

    def serve(self, now_ns: int) -> None:
        """Send what the tokens allow and set the timer for the rest."""
        self.timer_ns = None
        while (head := self._head(now_ns)) is not None:
            full = self._cost_ns(self.values["burst_bytes"])
            tokens = min(min(now_ns - self.last_ns, full) + self.tokens_ns, full)
            tokens -= self._cost_ns(len(head.wire))
            if tokens < 0:
                self.timer_ns = now_ns - tokens
                return
            self.tokens_ns, self.last_ns = tokens, now_ns
            if self.leaf is not None:
                self.held = None
            else:
                self.queue.popleft()
                self.backlog_bytes -= len(head.wire)
            self.out.append(replace(head, time_ns=now_ns))

    def _head(self, now_ns: int) -> Packet | None:
        if self.leaf is None:
            return self.queue[0] if self.queue else None
        if self.held is None:
            self.held = self.leaf.take(now_ns)
        return self.held


def shape(packets: Sequence[Packet], changes: Sequence[Change], end_ns: int) -> tuple[list[Packet], Counters]:
    """Run packets through a token bucket filter until `end_ns`."""
    shaper = Shaper(changes[0].values)
    shaper.change(changes[0].values)
    if changes[0].values.get("queue") is not None:
        from tests.certificate.queuesim import discipline

        shaper.leaf = discipline(changes[0].values["queue"])
    events = [(change.time_ns, 0, change) for change in changes[1:]] + [(p.time_ns, 1, p) for p in packets]
    events.sort(key=lambda event: event[:2])
    for time_ns, _, event in [*events, (end_ns, 2, None)]:
        while shaper.timer_ns is not None and shaper.timer_ns <= time_ns:
            shaper.serve(shaper.timer_ns)
        if isinstance(event, Change):
            shaper.change(event.values)
        elif isinstance(event, Packet) and time_ns <= end_ns:
            shaper.arrive(event)
    if shaper.leaf is not None:
        left = [*shaper.leaf.waiting, *([shaper.held] if shaper.held else [])]
        return shaper.out, Counters(shaper.leaf.dropped, len(left), sum(len(it.wire) for it in left))
    return shaper.out, Counters(shaper.dropped, len(shaper.queue), shaper.backlog_bytes)


class Dice:
    """Losses of a netem: independent, or in the bursts of a Gilbert-Elliott chain."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.bad = False

    def lost(self, values: Mapping[str, Any]) -> bool:
        """Whether the next packet is lost."""
        if not values["up"]:
            return True
        model = values["gilbert_elliott"]
        if model is None:
            return self.chance.random() < float(values["loss"])
        loss = model["loss_bad" if self.bad else "loss_good"]
        if self.chance.random() < model["r" if self.bad else "p"]:
            self.bad = not self.bad
        return self.chance.random() < float(loss)


def damaged(packet: Packet, chance: random.Random) -> Packet:
    """The packet with one bit flipped, anywhere behind the first header and within its own first 100
    bytes."""
    wire = bytearray(packet.wire)
    wire[chance.randrange(24 + 12, min(len(wire), 124))] ^= 1 << chance.randrange(8)
    return replace(packet, wire=bytes(wire))


def impair(
    packets: Sequence[Packet], changes: Sequence[Change], end_ns: int, seed: int
) -> tuple[list[Packet], Counters]:
    """Run packets through delay, jitter, loss, duplication and corruption until `end_ns`."""
    chance = random.Random(seed)
    dice = Dice(chance)
    under_way: list[tuple[int, int, Packet]] = []
    out: list[Packet] = []
    counters = Counters()
    pending = deque(changes)
    values: Mapping[str, Any] = DEFAULTS
    latest_ns, number = 0, 0
    for packet in packets:
        while pending and (pending[0].time_ns <= packet.time_ns):
            values = pending.popleft().values
        while under_way and under_way[0][0] <= packet.time_ns:
            out.append(heapq.heappop(under_way)[2])
        copies = 1 + (chance.random() < values["duplicate"])
        copies -= dice.lost(values)
        if copies == 2 and dice.lost(values):
            copies = 1
            counters.dropped += 1
        if copies == 0 or len(under_way) >= values["limit_packets"]:
            counters.dropped += 1
            continue
        for _ in range(copies):
            delay_s = values["delay_s"] + values["jitter_s"] * chance.uniform(-1, 1)
            due_ns = packet.time_ns + max(0, round(delay_s * SECOND))
            if not values["reorder"]:
                due_ns = max(due_ns, latest_ns)
            latest_ns = due_ns
            number += 1
            sent = replace(packet, time_ns=due_ns)
            if chance.random() < values["corrupt"]:
                sent = damaged(sent, chance)
            heapq.heappush(under_way, (due_ns, number, sent))
    while under_way and under_way[0][0] <= end_ns:
        out.append(heapq.heappop(under_way)[2])
    counters.backlog = len(under_way)
    counters.backlog_bytes = sum(len(packet.wire) for _, _, packet in under_way)
    return out, counters
