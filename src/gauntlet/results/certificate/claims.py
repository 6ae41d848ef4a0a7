"""What the guest says its flows received, held against the packets at the last tap before the receiver:
bytes, instants of messages, objects.

A receiver cannot have had more than the packets carried, nor earlier. It may have had less, or later: what
a socket buffer drops, what waits for an earlier byte, what an application reads late is its own affair.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gauntlet.results.certificate import headers, tolerance
from gauntlet.results.certificate.arrivals import NEVER, Arrivals, arrivals
from gauntlet.results.certificate.capture import Capture
from gauntlet.results.certificate.payloads import Ports, read_payloads
from gauntlet.results.certificate.stages import address_of
from gauntlet.results.certificate.verdict import Findings, plural, seconds, span

Ints = npt.NDArray[np.int64]

_BYTE_STREAMS = frozenset({"tcp", "tls", "sctp"})
"""Stacks whose messages stand in one stream in the order of their numbers, possibly with something added."""

_ANSWERED = "web"
"""The application whose objects travel from the receiver of its messages to their sender."""


@dataclass(frozen=True)
class Claims:
    """What the guest says of one flow: its entry in the record, its plan, its messages and objects.

    `messages` has columns seq, size_bytes and received_ns (-1: never), `objects` size_bytes and completed_ns;
    None where the record has none.
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
        return self.stack in _BYTE_STREAMS and streams == 1

    @cached_property
    def ports(self) -> Ports:
        """Those of its packets; programs choose theirs, and more than one, as MPTCP does for further
        subflows."""
        if self.stack == "external":
            return Ports(None, None)
        source, destination = (_port(self.told[end]) for end in ("source", "destination"))
        return Ports(None if self.stack == "mptcp" else source, destination)

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
        """Whether the guest says that nothing was received."""
        return not self.received_bytes and self.objects is None


def _port(endpoint: str) -> int | None:
    return int(endpoint.rpartition(":")[2]) or None


def check_claims(
    plan_run: Mapping[str, Any],
    record: Mapping[str, Any],
    record_dir: Path,
    capture: Capture | None,
    findings: Findings,
) -> None:
    """Judge what the record says of each flow: checks `bytes`, `instants` and `objects`."""
    planned = {flow["id"]: flow for flow in plan_run["flows"]}
    messages = _columns(record_dir / "messages.arrow", ("seq", "size_bytes", "received_ns"))
    objects = _columns(record_dir / "exchanges.arrow", ("size_bytes", "completed_ns"))
    for number, told in enumerate(record["flows"]):
        claims = Claims(
            told, planned.get(told["id"], {}), _of_flow(messages, number), _of_flow(objects, number)
        )
        if claims.claims_nothing:
            findings.add("bytes", None, None, f"{claims.name} claims no received byte.")
            continue
        ways = [path for path in record["paths"] if path["flow"] == claims.name]
        damaged = any(change.get("corrupt") for change in plan_run["timeline"])
        seen = _seen(claims, ways, capture, backward=False, damaged=damaged)
        answers = claims.planned.get("app") == _ANSWERED and claims.objects is not None
        back = _seen(claims, ways, capture, backward=True, damaged=damaged) if answers else seen
        if isinstance(seen, str) or isinstance(back, str):
            _not_checked(claims, seen if isinstance(seen, str) else str(back), findings)
            continue
        _check_bytes(claims, seen, findings)
        _check_instants(claims, seen, plan_run["record"]["messages"], findings)
        _check_objects(claims, back, findings)


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
class _Seen:
    """What the last taps of a flow's ways show of it."""

    links: tuple[str, ...]
    arrivals: Arrivals

    @property
    def where(self) -> str:
        """The taps in words."""
        return " and ".join(self.links)


def _seen(
    claims: Claims,
    ways: Sequence[Mapping[str, Any]],
    capture: Capture | None,
    *,
    backward: bool,
    damaged: bool,
) -> _Seen | str:
    """What arrived; or, in words, what the record lacks to know it."""
    if capture is None:
        return "captured packets"
    direction = "return" if backward else "forward"
    links = tuple(dict.fromkeys(way[direction][-1] for way in ways if way[direction]))
    absent = [link for link in links if link not in capture.taps]
    if not links or absent or any(not way[direction] for way in ways):
        return f"a tap on the last link to {claims.told['from' if backward else 'to']}"
    pairs = _pairs(claims, ways, backward=backward)
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
        return _Seen(links, Arrivals(none, none, None, None, 0))
    time_ns, inner, way = (np.concatenate(parts) for parts in (times, inners, numbers))
    if len(times) > 1:
        order = np.argsort(time_ns, kind="stable")
        time_ns, inner, way = time_ns[order], inner[order], way[order]
    payloads = read_payloads(inner, way, claims.ports.reversed if backward else claims.ports)
    numbered = claims.stack == "udp"
    return _Seen(links, arrivals(payloads, time_ns, numbered_datagrams=numbered, damaged=damaged))


def _pairs(claims: Claims, ways: Sequence[Mapping[str, Any]], *, backward: bool) -> list[int]:
    """Codes of every pair of addresses that the flow's packets may have."""
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


def _not_checked(claims: Claims, missing: str, findings: Findings) -> None:
    received = claims.received_bytes
    findings.not_checked(
        "bytes",
        None,
        f"That {claims.name} received {plural(received, 'byte')}, and when, was not checked: the record "
        "lacks "
        f"{missing}.",
        missing=missing,
        measured={"claimed_bytes": received},
    )


def _check_bytes(claims: Claims, seen: _Seen, findings: Findings) -> None:
    claimed, carried = claims.received_bytes, seen.arrivals.total_bytes
    unread = seen.arrivals.unread_bytes
    aside = (
        f" ({plural(unread, 'byte')} of them behind the captured part of packets, where payload and "
        "repetitions "
        "cannot be told apart)"
        if unread
        else ""
    )
    failure = None
    if claimed > carried:
        failure = (
            f"{claims.name} claims {plural(claimed, 'byte')} received, but the packets on {seen.where} "
            "carried at "
            f"most {carried:,}{aside}."
        )
    findings.add(
        "bytes",
        seen.links[-1],
        failure or _miscounted(claims),
        f"{claims.name} claims {plural(claimed, 'byte')} received; the packets on {seen.where} carried "
        f"{carried:,}{aside}.",
        measured={"claimed_bytes": claimed},
        expected={"carried_bytes": carried, "unread_bytes": unread},
    )


def _miscounted(claims: Claims) -> str | None:
    """Whether more messages are said to be received than have rows that say so: rows are held against packets
    one by one, the total is what loss is computed from.
    """
    if claims.messages is None:
        return None
    told, came = int(claims.told["received_messages"]), int((claims.messages["received_ns"] >= 0).sum())
    if told <= came:
        return None
    return f"{claims.name} claims {plural(told, 'message')} received, but its rows tell of {came:,}."


@dataclass(frozen=True)
class _Early:
    """What was received before it can have been: how many, and the one that came earliest, in words."""

    count: int
    what: str
    told_ns: int
    arrived_ns: int

    @property
    def ahead_ns(self) -> int:
        """By how much."""
        return self.arrived_ns - self.told_ns


def _earliest(told_ns: Ints, arrived_ns: Ints, words: Callable[[int], str]) -> _Early | None:
    """Which of several instants came before their packets; `words` names the k-th of them."""
    early = arrived_ns - tolerance.TIME_NS > told_ns
    if not early.any():
        return None
    k = int(np.argmax(np.where(early, arrived_ns - told_ns, np.iinfo(np.int64).min)))
    return _Early(int(early.sum()), words(k), int(told_ns[k]), int(arrived_ns[k]))


def _check_instants(claims: Claims, seen: _Seen, messages_kept: bool, findings: Findings) -> None:
    """First and last byte, and each message, not before the packets that carried them."""
    timed = 0 if claims.messages is None else int((claims.messages["received_ns"] >= 0).sum())
    found = [_earliest_ends(claims, seen.arrivals), _earliest_messages(claims, seen.arrivals)]
    early = [each for each in found if each is not None]
    failure = None
    if early:
        worst = max(early, key=lambda each: each.ahead_ns)
        failure = (
            f"{plural(sum(each.count for each in early), 'instant')} of {claims.name} came before the "
            "packets on "
            f"{seen.where}: {worst.what}, said to be received at {seconds(worst.told_ns)}, "
            f"{_of_packets(worst)}."
        )
    elif messages_kept and not timed and claims.has_messages:
        findings.not_checked(
            "instants",
            seen.links[-1],
            f"When messages of {claims.name} were received was not checked: the record has no rows of them.",
            missing="messages.arrow",
        )
        return
    of_flow = f"of {claims.name} was received before the packets on {seen.where} that can have carried it"
    findings.add(
        "instants",
        seen.links[-1],
        failure,
        f"None of {plural(timed, 'message')} {of_flow}."
        if timed
        else f"Neither first nor last byte {of_flow}.",
        measured={"messages": timed, "early_instants": sum(each.count for each in early)},
        expected={"early_instants": 0, "tolerance_s": tolerance.TIME_NS / 1e9},
    )


def _of_packets(early: _Early) -> str:
    if early.arrived_ns == NEVER:
        return "which the captured packets never carried"
    return (
        f"{span(early.ahead_ns)} before the last packet that can have carried it arrived at "
        f"{seconds(early.arrived_ns)}"
    )


def _earliest_ends(claims: Claims, arrived: Arrivals) -> _Early | None:
    """First and last byte of the flow."""
    ends = {
        "its first byte": ("first_received_s", 1),
        "its last byte": ("last_received_s", claims.received_bytes),
    }
    told = {words: end for words, end in ends.items() if claims.told[end[0]] is not None and end[1]}
    told_ns = np.array([round(claims.told[key] * 1e9) for key, _ in told.values()], np.int64)
    counts = np.array([count for _, count in told.values()], np.int64)
    return _earliest(told_ns, _when(claims, arrived, counts), list(told).__getitem__)


def _when(claims: Claims, arrived: Arrivals, counts: Ints) -> Ints:
    """When so many bytes of the flow, from its first on, can have been received at the earliest."""
    if claims.in_order and arrived.stream is not None:
        return arrived.stream.readable_ns(counts)
    return _when_in_sum(arrived, counts)


def _when_in_sum(arrived: Arrivals, counts: Ints) -> Ints:
    """When so many bytes had arrived, whichever: for transports that do not tell which packet carried "
    "what."""
    so_far = np.cumsum(arrived.new_bytes)
    return np.append(arrived.time_ns, NEVER)[np.searchsorted(so_far, counts, side="left")]


def _earliest_messages(claims: Claims, arrived: Arrivals) -> _Early | None:
    """Messages that were received before they can have been."""
    if claims.messages is None:
        return None
    order = np.argsort(claims.messages["seq"], kind="stable")
    number, size, received_ns = (
        claims.messages[name][order] for name in ("seq", "size_bytes", "received_ns")
    )
    came = received_ns >= 0
    if arrived.datagrams is not None:
        arrived_ns = arrived.datagram_ns(number)[came]
    elif claims.in_order and arrived.stream is not None:
        arrived_ns = arrived.stream.readable_ns(np.cumsum(size))[came]
    else:
        arrived_ns = _when_in_sum(arrived, _sums(received_ns[came], size[came]))
    return _earliest(received_ns[came], arrived_ns, lambda k: f"message {number[came][k]:,}")


def _sums(instants_ns: Ints, sizes: Ints) -> Ints:
    """How many bytes were received until each instant, in the order in which they were."""
    order = np.argsort(instants_ns, kind="stable")
    sums = np.empty(len(sizes), np.int64)
    sums[order] = np.cumsum(sizes[order])
    return sums


def _check_objects(claims: Claims, seen: _Seen, findings: Findings) -> None:
    """Objects, in the order of their completion, need at least their bytes to have arrived."""
    if claims.objects is None:
        return
    whole = np.flatnonzero(claims.objects["completed_ns"] >= 0)
    completed_ns, sizes = claims.objects["completed_ns"][whole], claims.objects["size_bytes"][whole]
    needed_ns = _when_in_sum(seen.arrivals, _sums(completed_ns, sizes))
    early = _earliest(completed_ns, needed_ns, lambda k: f"object {whole[k]:,}")
    failure = None
    if early is not None:
        enough = (
            "never carried so many bytes"
            if early.arrived_ns == NEVER
            else f"carried so many bytes only at {seconds(early.arrived_ns)}"
        )
        failure = (
            f"{plural(early.count, 'object')} of {claims.name} came before the packets on {seen.where}: "
            f"{early.what} is said to be whole at {seconds(early.told_ns)}; with what was received before "
            "it, the "
            f"packets {enough}."
        )
    findings.add(
        "objects",
        seen.links[-1],
        failure,
        f"None of {plural(len(whole), 'object')} of {claims.name} was whole before the packets on "
        f"{seen.where} "
        "had carried so many bytes.",
        measured={"objects": len(whole), "early_objects": 0 if early is None else early.count},
        expected={"early_objects": 0},
    )
