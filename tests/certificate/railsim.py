"""Client and server behind a tunnel over a radio and a core router; writes plan and record as a run would.

cli - sa - gw ==tunnel== radio ==== core ==== tgw - lan - srv
           shaper gw>radio, delay radio>core; back: shaper tgw>core, delay core>radio
"""

from __future__ import annotations

import ipaddress
import json
import random
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.certificate.linksim import SECOND, Counters, Packet, changes_of, impair, shape

FORWARD = ["sa>gw", "gw>radio", "radio>core", "lan>srv"]
RETURN = ["lan>tgw", "tgw>core", "core>radio", "sa>cli"]
TUNNELLED = {"gw>radio", "radio>core", "tgw>core", "core>radio"}
SHAPED = {"gw>radio", "tgw>core"}

NETWORK: dict[str, Any] = {
    "nodes": [{"name": name} for name in ("cli", "gw", "radio", "core", "tgw", "srv")]
    + [{"name": "sa", "switch": True}, {"name": "lan", "switch": True}],
    "links": [
        {"a": "cli", "b": "sa", "mtu_bytes": 1476},
        {"a": "sa", "b": "gw", "mtu_bytes": 1476},
        {"a": "gw", "b": "radio"},
        {"a": "radio", "b": "core"},
        {"a": "core", "b": "tgw"},
        {"a": "tgw", "b": "lan", "mtu_bytes": 1476},
        {"a": "lan", "b": "srv", "mtu_bytes": 1476},
    ],
}

QUIET_TIMELINE: list[dict[str, Any]] = [
    {"at_s": 0.0, "link": "gw>radio", "rate_bps": 5_200_000},
    {"at_s": 0.0, "link": "radio>core", "delay_s": 0.025},
    {"at_s": 0.0, "link": "tgw>core", "rate_bps": 5_200_000},
    {"at_s": 0.0, "link": "core>radio", "delay_s": 0.025},
]


def ip_packet(source: str, destination: str, number: int, size_bytes: int, protocol: int = 17) -> bytes:
    """An IPv4 or IPv6 packet of a size with a UDP header and a payload that begins with its number."""
    ends = ipaddress.ip_address(source), ipaddress.ip_address(destination)
    udp_bytes = size_bytes - (20 if ends[0].version == 4 else 40)
    payload = struct.pack(">HHHH", 40000, 5000, udp_bytes, 0) + struct.pack("<Q", number)
    if ends[0].version == 4:
        header = struct.pack(">BBHHHBBH", 0x45, 0, size_bytes, number & 0xFFFF, 0x4000, 64, protocol, 0)
    else:
        header = struct.pack(">IHBB", 0x6000_0000, size_bytes - 40, protocol, 64)
    start = header + ends[0].packed + ends[1].packed + payload
    return start + bytes(size_bytes - len(start))


def in_tunnel(packet: bytes) -> bytes:
    """A packet behind an IPv4 and a GRE header."""
    protocol = 0x0800 if packet[0] >> 4 == 4 else 0x86DD
    ecn = packet[1] & 3 if packet[0] >> 4 == 4 else 0
    outer = struct.pack(">BBHHHBBH", 0x45, ecn, len(packet) + 24, 0, 0x4000, 64, 47, 0)
    return outer + bytes([10, 1, 0, 1, 10, 2, 0, 1]) + struct.pack(">HH", 0, protocol) + hop(packet)


def hop(packet: bytes) -> bytes:
    """A packet after one router: TTL or hop limit is one less, and the checksum is another."""
    changed = bytearray(packet)
    if packet[0] >> 4 == 4:
        changed[8] -= 1
        changed[10:12] = struct.pack(">H", random.Random(bytes(changed[:8])).getrandbits(16))
    else:
        changed[7] -= 1
    return bytes(changed)


@dataclass
class Claims:
    """What the guest says that its flow received; by message number: size and instant."""

    received_bytes: int
    messages: dict[int, tuple[int, int]]
    further_messages: int = 0
    """Received messages that have no row."""
    sent: dict[int, tuple[int, int]] = field(default_factory=dict)
    """What was handed over, by message number: size and instant. What was received and is not here was handed
    over at 0.
    """
    further_sent: int = 0
    """Messages that were handed over and have no row."""
    sender_dropped: int | None = None
    """Those that the sender dropped; None where its transport does not tell."""

    @property
    def rows(self) -> list[tuple[int, int, int, int]]:
        """Number, size, instants of hand-over and of receipt (-1: never) of each message."""
        every = {number: (size, 0) for number, (size, _) in self.messages.items()} | self.sent
        return [
            (number, size, sent_ns, self.messages.get(number, (0, -1))[1])
            for number, (size, sent_ns) in sorted(every.items())
        ]


@dataclass
class Run:
    """A finished run, for tests to spoil and write: `taps` in path order, `record` as the guest writes it.

    Unless a test gives `claims`, the guest tells what its last tap shows. `idle` links have counters of zero.
    """

    plan: dict[str, Any]
    taps: dict[str, list[Packet]]
    counters: dict[str, Counters]
    end_s: float
    source: str
    destination: str
    missed: dict[str, int] = field(default_factory=dict)
    timeline: list[dict[str, Any]] | None = None
    claims: Claims | None = None
    idle: Sequence[str] = ()
    queues: Mapping[str, str] = field(default_factory=dict)
    """What queues under a shaper, as its kernel says."""

    def honest_claims(self) -> Claims:
        """What a receiver behind the last tap has: each datagram once, when it first came."""
        messages: dict[int, tuple[int, int]] = {}
        header = 48 if ":" in self.source else 28
        sent: dict[int, tuple[int, int]] = {}
        for packet in self.taps.get(FORWARD[0], ()):
            (number,) = struct.unpack_from("<I", packet.wire, header)
            sent.setdefault(number, (len(packet.wire) - header, packet.time_ns))
        # A damaged datagram fails its checksum.
        whole = {packet.wire[12:] for packet in self.taps.get(FORWARD[0], ())}
        for packet in self.taps.get(FORWARD[-1], ()):
            if packet.wire[12:] in whole:
                (number,) = struct.unpack_from("<I", packet.wire, header)
                messages.setdefault(number, (len(packet.wire) - header, packet.time_ns))
        return Claims(sum(size for size, _ in messages.values()), messages, sent=sent)

    def write(self, folder: Path) -> Path:
        """Write `record.json` and `packets.bin`."""
        record = folder / str(self.plan["id"])
        record.mkdir(parents=True)
        numbers = {link: number for number, link in enumerate(self.taps)}
        with (record / "packets.bin").open("wb") as out:
            for link, packets in self.taps.items():
                for packet in packets:
                    kept = packet.wire[:112]
                    out.write(
                        struct.pack("<qHHI", packet.time_ns, numbers[link], len(kept), len(packet.wire))
                    )
                    out.write(kept.ljust(112, b"\0"))
        claims = self.honest_claims() if self.claims is None else self.claims
        _write_messages(record / "messages.arrow", claims)
        (record / "record.json").write_text(json.dumps(self._record(numbers, claims)))
        return record

    def _record(self, numbers: Mapping[str, int], claims: Claims) -> dict[str, Any]:
        links = []
        for link, counters in self.counters.items():
            sizes = [len(packet.wire) + (0 if link in SHAPED else 14) for packet in self.taps[link]]
            links.append(
                {
                    "link": link,
                    "kind": "tbf" if link in SHAPED else "netem",
                    **({"queue": self.queues[link]} if link in self.queues else {}),
                    "sent_packets": len(sizes),
                    "sent_bytes": sum(sizes),
                    "dropped_packets": counters.dropped,
                    "overlimits": 0,
                    "backlog_bytes": counters.backlog_bytes,
                    "backlog_packets": counters.backlog,
                }
            )
        nothing = dict.fromkeys(
            (
                "sent_packets",
                "sent_bytes",
                "dropped_packets",
                "overlimits",
                "backlog_bytes",
                "backlog_packets",
            ),
            0,
        )
        links += [{"link": link, "kind": "netem", **nothing} for link in self.idle]
        instants = [instant for _, instant in claims.messages.values()]
        ipv6 = ":" in self.source
        ends = [f"[{end}]" if ipv6 else end for end in (self.source, self.destination)]
        return {
            "format": "gauntlet-record",
            "version": 1,
            "run": self.plan["id"],
            "seed": self.plan["seed"],
            "outcome": "ok",
            "virtual_s": self.end_s,
            "flows": [
                {
                    "id": "f0",
                    "from": "cli",
                    "to": "srv",
                    "source": f"{ends[0]}:40000",
                    "destination": f"{ends[1]}:5000",
                    "outcome": "ok",
                    "sent_messages": len(claims.rows) + claims.further_sent,
                    "sent_bytes": sum(size for _, size, _, _ in claims.rows),
                    "sender_dropped_messages": claims.sender_dropped,
                    "received_bytes": claims.received_bytes,
                    "received_messages": len(claims.messages) + claims.further_messages,
                    "message_size_bytes": 1448,
                    "first_received_s": _seconds(min(instants, default=None)),
                    "last_received_s": _seconds(max(instants, default=None)),
                }
            ],
            "links": links,
            "taps": [
                {
                    "tap": number,
                    "link": link,
                    "captured_packets": len(self.taps[link]),
                    "missed_packets": self.missed.get(link, 0),
                }
                for link, number in numbers.items()
            ],
            "paths": [
                {
                    "flow": "f0",
                    "forward": [link for link in FORWARD if link in numbers],
                    "return": [link for link in RETURN if link in numbers],
                }
            ],
            "timeline": self.plan["timeline"] if self.timeline is None else self.timeline,
        }


def _seconds(time_ns: int | None) -> float | None:
    return None if time_ns is None else time_ns / SECOND


def _write_messages(path: Path, claims: Claims) -> None:
    rows = claims.rows
    columns = list(zip(*rows, strict=True)) or [()] * 4
    table = pa.table(
        {
            "flow": pa.array([0] * len(rows), pa.uint16()),
            "seq": pa.array(columns[0], pa.uint32()),
            "size_bytes": pa.array(columns[1], pa.uint32()),
            "sent_ns": pa.array(columns[2], pa.int64()),
            "received_ns": pa.array([None if at < 0 else at for at in columns[3]], pa.int64()),
        }
    )
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


Traffic = Callable[[random.Random], list[tuple[float, int]]]


def steady(rate_bps: float, size_bytes: int, duration_s: float) -> Traffic:
    """Packets of one size at one rate."""
    count = int(duration_s * rate_bps / 8 / size_bytes)
    return lambda _: [(0.01 + k * size_bytes * 8 / rate_bps, size_bytes) for k in range(count)]


def bursty(count: int, duration_s: float) -> Traffic:
    """Bursts of packets of many sizes at random instants."""

    def make(chance: random.Random) -> list[tuple[float, int]]:
        packets: list[tuple[float, int]] = []
        while len(packets) < count:
            start_s = chance.uniform(0.01, duration_s)
            packets += [(start_s, chance.choice([60, 100, 576, 1476])) for _ in range(chance.randint(1, 30))]
        return sorted(packets[:count])

    return make


def run_network(
    timeline: Sequence[Mapping[str, Any]],
    traffic: Traffic,
    *,
    really: Sequence[Mapping[str, Any]] | None = None,
    end_s: float = 60.0,
    seed: int = 1,
    addresses: tuple[str, str] = ("10.0.1.1", "10.0.2.1"),
    dress: Callable[[int, bytes], bytes] = lambda _, wire: wire,
) -> Run:
    """Play traffic and its small answers; `really`: what the network does if not what `timeline` asks;
    `dress` changes a packet of the traffic before it is sent, by its number."""
    chance = random.Random(seed)
    source, destination = addresses
    data = [
        Packet(round(at_s * SECOND), dress(number, ip_packet(source, destination, number, size)))
        for number, (at_s, size) in enumerate(traffic(chance))
    ]
    taps: dict[str, list[Packet]] = {}
    counters: dict[str, Counters] = {}
    played = timeline if really is None else really
    _pass_along(data, FORWARD, timeline=played, end_s=end_s, seed=seed, taps=taps, counters=counters)
    answers = [
        Packet(packet.time_ns, ip_packet(destination, source, number, 72))
        for number, packet in enumerate(taps[FORWARD[-1]])
    ]
    _pass_along(answers, RETURN, timeline=played, end_s=end_s, seed=seed + 1, taps=taps, counters=counters)
    plan = {
        "id": "run-1",
        "seed": seed,
        "limit_s": 1000.0,
        "network": NETWORK,
        "timeline": [dict(entry) for entry in timeline],
        "sysctls": {},
        "flows": [{"id": "f0", "stack": "udp", "stack_params": {}, "app": "cbr"}],
        "record": {"messages": True, "socket_interval_s": None, "packets": "headers", "taps": None},
    }
    return Run(plan, taps, counters, end_s, source, destination)


def _pass_along(
    packets: list[Packet],
    path: list[str],
    *,
    timeline: Sequence[Mapping[str, Any]],
    end_s: float,
    seed: int,
    taps: dict[str, list[Packet]],
    counters: dict[str, Counters],
) -> None:
    end_ns = round(end_s * SECOND)
    entry, shaped, delayed, last = path
    taps[entry] = [packet for packet in packets if packet.time_ns <= end_ns]
    inside = [replace(packet, wire=in_tunnel(packet.wire)) for packet in taps[entry]]
    taps[shaped], counters[shaped] = shape(inside, changes_of(timeline, shaped), end_ns)
    onward = [replace(packet, wire=hop(packet.wire)) for packet in taps[shaped]]
    taps[delayed], counters[delayed] = impair(onward, changes_of(timeline, delayed), end_ns, seed)
    taps[last] = [replace(packet, wire=hop(packet.wire[24:])) for packet in taps[delayed]]
