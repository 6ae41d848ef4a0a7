"""What the guest says of a flow, and what taps show of it: the two sides that `claims` and `sent` compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gauntlet.certificate import headers
from gauntlet.certificate.arrivals import Arrivals, arrivals
from gauntlet.certificate.capture import Capture
from gauntlet.certificate.payloads import Ports, read_payloads
from gauntlet.certificate.stages import address_of

Ints = npt.NDArray[np.int64]

_BYTE_STREAMS = frozenset({"tcp", "tls", "sctp"})
"""Stacks whose messages stand in one stream in the order of their numbers, possibly with something added."""


@dataclass(frozen=True)
class Claims:
    """What the guest says of one flow: its entry in the record, its plan, its messages and objects.

    `messages` has columns seq, size_bytes, sent_ns and received_ns (-1: never), `objects` size_bytes and
    completed_ns; None where the record has none.
    """

    told: Mapping[str, Any]
    planned: Mapping[str, Any]
    messages: Mapping[str, Ints] | None
    objects: Mapping[str, Ints] | None

    @property
    def name(self) -> str:
        """The flow's id."""
        return str(self.told["id"])

    @property
    def stack(self) -> str:
        """Its transport; TLS by what carries it is still TLS."""
        return str(self.planned.get("stack", ""))

    @property
    def in_order(self) -> bool:
        """Whether message k cannot be read before all bytes of the messages before it have arrived."""
        streams = int(self.planned.get("stack_params", {}).get("streams", 1))
        return self.stack in _BYTE_STREAMS and streams == 1 and not self.partial

    @property
    def partial(self) -> bool:
        """Whether its transport keeps messages apart and gives up those that are too old."""
        return self.stack == "sctp" and self.planned.get("stack_params", {}).get("lifetime_s") is not None

    @property
    def rtp(self) -> bool:
        """Whether its messages are packets of RTP."""
        return self.planned.get("app") == "video" or "codec" in self.planned.get("app_params", {})

    @cached_property
    def ports(self) -> Ports:
        """Those of its packets; programs choose theirs, and more than one, as MPTCP does for further
        subflows. Of a sender that opens further sessions each has its own."""
        if self.stack == "external":
            return Ports(None, None)
        source, destination = (_port(self.told[end]) for end in ("source", "destination"))
        reopens = self.planned.get("app_params", {}).get("reopen_after_s") is not None
        return Ports(None if self.stack == "mptcp" or reopens else source, destination)

    @property
    def received_bytes(self) -> int:
        """What was received in all."""
        return int(self.told["received_bytes"])

    @property
    def has_messages(self) -> bool:
        """Whether messages were received that have rows of their own; programs need not tell any."""
        told = self.told["received_messages"] and self.told["message_size_bytes"]
        return bool(told) and self.stack != "external"

    @property
    def claims_nothing(self) -> bool:
        """Whether the guest says that nothing was received: no byte, no message, no object."""
        rows = self.messages is not None and bool((self.messages["received_ns"] >= 0).any())
        return not (self.received_bytes or self.told["received_messages"] or rows) and self.objects is None


def _port(endpoint: str) -> int | None:
    return int(endpoint.rpartition(":")[2]) or None


def read_claims(plan_run: Mapping[str, Any], record: Mapping[str, Any], record_dir: Path) -> list[Claims]:
    """The claims of every flow of a record, in its order."""
    planned = {flow["id"]: flow for flow in plan_run["flows"]}
    messages = _columns(record_dir / "messages.arrow", ("seq", "size_bytes", "sent_ns", "received_ns"))
    objects = _columns(record_dir / "exchanges.arrow", ("size_bytes", "completed_ns"))
    return [
        Claims(told, planned.get(told["id"], {}), _of_flow(messages, number), _of_flow(objects, number))
        for number, told in enumerate(record["flows"])
    ]


def _columns(path: Path, names: Sequence[str]) -> dict[str, Ints] | None:
    """Columns of an Arrow file as whole numbers (null: -1), by flow; None without the file."""
    if not path.is_file():
        return None
    with pa.OSFile(str(path)) as source:
        table = pa.ipc.open_file(source).read_all()
    return {name: table[name].cast(pa.int64()).fill_null(-1).to_numpy() for name in ("flow", *names)}


def _of_flow(columns: Mapping[str, Ints] | None, number: int) -> dict[str, Ints] | None:
    if columns is None:
        return None
    rows = np.flatnonzero(columns["flow"] == number)
    return {name: column[rows] for name, column in columns.items()} if len(rows) else None


@dataclass(frozen=True)
class Seen:
    """What taps on a flow's ways show of it."""

    links: tuple[str, ...]
    arrivals: Arrivals

    @property
    def where(self) -> str:
        """The taps in words."""
        return " and ".join(self.links)


@dataclass(frozen=True)
class Place:
    """Which taps of a flow's ways are looked at: the first or the last ones of one direction."""

    direction: Literal["forward", "return"]
    end: Literal["first", "last"]

    def links(self, ways: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
        """One link of each way that has any, each link once."""
        place = -1 if self.end == "last" else 0
        return tuple(dict.fromkeys(way[self.direction][place] for way in ways if way[self.direction]))

    def missing(self, claims: Claims) -> str:
        """The tap in words, where there is none."""
        near = (self.end == "first") == (self.direction == "forward")
        return f"a tap on the {self.end} link {'from' if self.end == 'first' else 'to'} " + str(
            claims.told["from" if near else "to"]
        )


AT_RECEIVER, AT_REQUESTER = Place("forward", "last"), Place("return", "last")
AT_SENDER = Place("forward", "first")


def seen_at(
    place: Place,
    claims: Claims,
    ways: Sequence[Mapping[str, Any]],
    capture: Capture | None,
    *,
    damaged: bool,
) -> Seen | str:
    """What the taps at a place show; or, in words, what the record lacks to know it. `damaged`: packets may
    have come damaged to these taps."""
    if capture is None:
        return "captured packets"
    links = place.links(ways)
    absent = [link for link in links if link not in capture.taps]
    if not links or absent or any(not way[place.direction] for way in ways):
        return place.missing(claims)
    backward = place.direction == "return"
    pairs = pairs_of(claims, ways, backward=backward)
    if not pairs:
        return f"the addresses of {claims.name}"
    times, inners, numbers = [], [], []
    for link in links:
        tap = capture.taps[link]
        for number, pair in enumerate(pairs):
            chosen = np.flatnonzero(tap.pair == np.uint64(pair))
            if len(chosen):
                times.append(tap.time_ns[chosen])
                inners.append(headers.inner_packets(capture.records["packet"][tap.rows[chosen]]))
                numbers.append(np.full(len(chosen), number))
    if not times:
        none = np.empty(0, np.int64)
        return Seen(links, Arrivals(none, none, None, None, 0))
    time_ns, inner, way = (np.concatenate(parts) for parts in (times, inners, numbers))
    if len(times) > 1:
        order = np.argsort(time_ns, kind="stable")
        time_ns, inner, way = time_ns[order], inner[order], way[order]
    ports = claims.ports.reversed if backward else claims.ports
    payloads = read_payloads(inner, way, ports, rtp=claims.rtp)
    numbered = claims.stack == "udp"
    return Seen(links, arrivals(payloads, time_ns, numbered_datagrams=numbered, damaged=damaged))


def pairs_of(claims: Claims, ways: Sequence[Mapping[str, Any]], *, backward: bool) -> list[int]:
    """Codes of every pair of addresses that the flow's packets may have, or those back; none where the record
    does not tell them."""
    try:
        ends = [[address_of(claims.told[end])] for end in ("source", "destination")]
        for way in ways:
            for known, further in zip(ends, way.get("addresses", ()), strict=False):
                known.append(further)
        if backward:
            ends.reverse()
        sources, destinations = (list(dict.fromkeys(end)) for end in ends)
        return [headers.pair_code(a, b) for a in sources for b in destinations]
    except (KeyError, ValueError, AttributeError):
        return []
