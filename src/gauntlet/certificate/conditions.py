"""Did each rule of an in-path node match just the packets that the plan names? Read anew from the captured
headers.

Judged are rules whose conditions the captured bytes tell, up to the first rule that may have altered what
later ones saw. `probability` is judged as a share: too many or too few are told from chance.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from gauntlet.certificate import tolerance
from gauntlet.certificate.chance import Trials, allowed_range
from gauntlet.certificate.headers import GRE_BYTES
from gauntlet.certificate.in_path_log import Log, Row
from gauntlet.certificate.rules import CHANGING, Rules, takes_away

_PROTOCOLS = {"icmp": 1, "tcp": 6, "udp": 17, "gre": 47, "icmpv6": 58, "sctp": 132, "restp": 253}
_WITH_PORTS = frozenset({6, 17, 132})
_UDP_BYTES = 8


class Standing(Protocol):
    """A node as the plan has it."""

    @property
    def name(self) -> str: ...
    @property
    def between(self) -> tuple[str, str]: ...
    @property
    def rules(self) -> Rules: ...


@dataclass(frozen=True)
class _Head:
    """What captured bytes tell of a packet: of the inner one, where a tunnel carries it."""

    head: bytes
    inner_at: int
    protocol: int
    source: str
    destination: str
    transport_at: int
    ports: tuple[int, ...]
    """Source and destination, where the protocol has any."""


@dataclass(frozen=True)
class _Packet(_Head):
    row: Row


Connection = tuple[int, frozenset[tuple[str, int]]]
"""A protocol, and the addresses and ports of either end."""


@lru_cache(maxsize=65_536)
def connection(head: bytes, length: int) -> Connection | None:
    """Which connection the captured bytes of a packet of so many bytes are of, whichever way; None of what
    has no ports, and of what is cut or damaged so that nobody finds them.
    """
    found = _read_head(head)
    if found is None or not found.ports:
        return None
    inner = head[found.inner_at :]
    if inner[0] >> 4 == 4:
        header, total = (inner[0] & 0x0F) * 4, int.from_bytes(inner[2:4], "big")
    else:
        header, total = 40, 40 + int.from_bytes(inner[4:6], "big")
    if header < 20 or not header <= total <= length - found.inner_at:
        return None
    source_port, destination_port = found.ports
    return found.protocol, frozenset({(found.source, source_port), (found.destination, destination_port)})


def check_conditions(
    node: Standing, log: Log, heads: Sequence[bytes], plan_run: Mapping[str, Any], record: Mapping[str, Any]
) -> tuple[int, list[str], list[str]]:
    """How many rules were judged, the names of those that could not be, and what is wrong, a sentence each.

    `heads`: the captured bytes of every packet in the log.
    """
    packets = [_read(row, head) for row, head in zip(log.seen, heads, strict=True)]
    by_packet = {
        number: {row.rule for row in rows if row.event == "matched"} for number, rows in log.by_packet.items()
    }
    gone: set[int] = set()
    altered = False
    judged, left, failures = 0, [], []
    for number, rule in enumerate(node.rules):
        conditions, action = rule.get("match", {}), rule["do"]["action"]
        matched = {packet for packet, rules in by_packet.items() if number in rules and packet >= 0}
        if "at_s" in conditions:
            continue
        test = None if altered else _test(conditions, node, plan_run, record)
        if test is None:
            left.append(f"{rule['id']!r}")
        else:
            judged += 1
            candidates = [packet for packet in packets if packet is None or packet.row.packet not in gone]
            meant = [packet.row.packet for packet in candidates if packet is not None and test(packet)]
            failures += _compared(str(rule["id"]), conditions, meant, matched)
        if action in CHANGING:
            altered = altered or bool(matched)
        if action == "hold" or takes_away(rule):
            gone |= matched
    return judged, left, failures


def _compared(name: str, conditions: Mapping[str, Any], meant: Sequence[int], matched: set[int]) -> list[str]:
    """`meant` are the packets, in order, for which all holds but what counts or draws."""
    if "nth" in conditions:
        first, last = _range(conditions["nth"])
        meant = meant[first - 1 : last]
    if "every" in conditions:
        period = int(conditions["every"])
        meant = meant[period - 1 :: period]
    if "probability" in conditions:
        strangers = matched - set(meant)
        low, high = allowed_range(
            [Trials(len(meant), conditions["probability"], conditions["probability"])], tolerance.ALPHA
        )
        if strangers:
            return [f"The rule {name!r} matched packet {min(strangers):,}, which its conditions do not name."]
        if not low <= len(matched) <= high:
            found = f"{len(matched):,} of {len(meant):,} packets"
            return [f"The rule {name!r} matched {found}; chance leaves {low:,} to {high:,}."]
        return []
    wrong = matched ^ set(meant)
    if not wrong:
        return []
    first_wrong = min(wrong)
    said = "matched" if first_wrong in matched else "did not match"
    return [
        f"The rule {name!r} {said} packet {first_wrong:,}, against its conditions ({len(wrong):,} in all)."
    ]


def _range(value: Any) -> tuple[int, int]:
    first, last = value if isinstance(value, list) else (value, value)
    return int(first), int(last)


def _read(row: Row, head: bytes) -> _Packet | None:
    found = _read_head(head)
    return None if found is None else _Packet(**vars(found), row=row)


def _read_head(head: bytes) -> _Head | None:
    """None of what is cut before its ports, and what is no IP."""
    at = 0
    if len(head) > GRE_BYTES + 20 and head[0] == 0x45 and head[9] == 47 and head[20:22] == b"\0\0":
        at = GRE_BYTES
    inner = head[at:]
    if len(inner) < 20:
        return None
    if inner[0] >> 4 == 6:
        if len(inner) < 40:
            return None
        protocol, addresses, header = inner[6], (inner[8:24], inner[24:40]), 40
        later_fragment = False
    elif inner[0] >> 4 == 4:
        protocol, addresses, header = inner[9], (inner[12:16], inner[16:20]), (inner[0] & 0x0F) * 4
        later_fragment = bool(int.from_bytes(inner[6:8], "big") & 0x1FFF)
    else:
        return None
    source, destination = map(_written, addresses)
    transport = inner[header:]
    ports: tuple[int, ...] = ()
    if protocol in _WITH_PORTS and len(transport) >= 4 and not later_fragment:
        ports = int.from_bytes(transport[:2], "big"), int.from_bytes(transport[2:4], "big")
    return _Head(head, at, protocol, source, destination, at + header, ports)


@lru_cache(maxsize=4096)
def _written(address: bytes) -> str:
    return str(ipaddress.ip_address(address))


_Test = Callable[[_Packet], bool]


def _test(
    conditions: Mapping[str, Any], node: Standing, plan_run: Mapping[str, Any], record: Mapping[str, Any]
) -> _Test | None:
    """All conditions but those that count or draw, as one question; None if one of them cannot be asked."""
    tests: list[_Test] = []
    for key, value in conditions.items():
        if key in ("nth", "every", "probability"):
            continue
        made = _of_message(value, plan_run, record) if key == "message" else _single(key, value, node)
        if made is None:
            return None
        tests.append(made)

    def test(packet: _Packet) -> bool:
        # A loop: there are many packets and rules, and to make a generator for each takes longer than to ask.
        for asked in tests:  # noqa: SIM110
            if not asked(packet):
                return False
        return True

    return test


def _single(key: str, value: Any, node: Standing) -> _Test | None:
    made = _TESTS.get(key)
    return None if made is None else made(value, node)


_Make = Callable[[Any, Standing], _Test]


def _ports(chosen: slice) -> _Make:
    def made(value: Any, _: Standing) -> _Test:
        first, last = _range(value)
        return lambda packet: any(first <= port <= last for port in packet.ports[chosen])

    return made


def _address(end: Callable[[_Packet], str]) -> _Make:
    def made(value: Any, _: Standing) -> _Test:
        net = ipaddress.ip_network(value, strict=False)
        return lambda packet: ipaddress.ip_address(end(packet)) in net

    return made


def _length(value: Any, _: Standing) -> _Test:
    least, most = _range(value)
    return lambda packet: least <= packet.row.length_bytes <= most


_TESTS: Mapping[str, _Make] = {
    "towards": lambda value, node: lambda packet: node.between[packet.row.towards] == value,
    "protocol": lambda value, _: lambda packet: packet.protocol == _PROTOCOLS.get(value, value),
    "source": _address(lambda packet: packet.source),
    "destination": _address(lambda packet: packet.destination),
    "source_port": _ports(slice(0, 1)),
    "destination_port": _ports(slice(1, 2)),
    "port": _ports(slice(0, 2)),
    "length_bytes": _length,
    "from_s": lambda value, _: lambda packet: packet.row.t_ns >= round(value * 1e9),
    "until_s": lambda value, _: lambda packet: packet.row.t_ns < round(value * 1e9),
}
"""Conditions that one packet's captured bytes tell."""


def _of_message(
    value: Mapping[str, Any], plan_run: Mapping[str, Any], record: Mapping[str, Any]
) -> _Test | None:
    """Messages of UDP alone: where those of a stream begin hangs on all that came before."""
    flow = next((flow for flow in plan_run["flows"] if flow["id"] == value["flow"]), None)
    told = next((flow for flow in record["flows"] if flow["id"] == value["flow"]), None)
    if flow is None or told is None or flow["stack"] != "udp" or not value.get("repetitions", True):
        return None
    source, source_port = told["source"].rsplit(":", 1)
    destination, destination_port = told["destination"].rsplit(":", 1)
    ends = (source.strip("[]"), destination.strip("[]"), int(source_port), int(destination_port))
    numbers = _range(value["number"]) if "number" in value else (1, 2**32)

    def of_flow(packet: _Packet) -> bool:
        if packet.protocol != 17 or (packet.source, packet.destination, *packet.ports) != ends:
            return False
        payload = packet.head[packet.transport_at + _UDP_BYTES :]
        return len(payload) >= 4 and numbers[0] <= int.from_bytes(payload[:4], "little") + 1 <= numbers[1]

    return of_flow
