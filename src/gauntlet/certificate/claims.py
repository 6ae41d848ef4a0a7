"""What the guest says its flows received, held against the packets at the last tap before the receiver:
bytes, instants of messages, objects.

A receiver cannot have had more than the packets carried, nor earlier. It may have had less, or later: what
a socket buffer drops, what waits for an earlier byte, what an application reads late is its own affair.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gauntlet.certificate import tolerance
from gauntlet.certificate.answers import Findings, plural, seconds, span
from gauntlet.certificate.arrivals import NEVER, Arrivals
from gauntlet.certificate.capture import Capture
from gauntlet.certificate.established import Opened, check_established
from gauntlet.certificate.first_flight import check_first_flight
from gauntlet.certificate.rerouting import ways_in
from gauntlet.certificate.seen import (
    AT_RECEIVER,
    AT_REQUESTER,
    Claims,
    Ints,
    Seen,
    read_claims,
    seen_at,
)
from gauntlet.certificate.sent import Sending, check_sent

_ANSWERED = "web"
"""The application whose objects travel from the receiver of its messages to their sender."""


def check_claims(
    plan_run: Mapping[str, Any],
    record: Mapping[str, Any],
    record_dir: Path,
    capture: Capture | None,
    findings: Findings,
) -> None:
    """Judge what the record says of each flow: `sent`, `established`, `initial_window`, `bytes`, `instants`
    and `objects`."""
    for claims in read_claims(plan_run, record, record_dir):
        ways = [path for path in record["paths"] if path["flow"] == claims.name]
        check_sent(Sending(claims, ways, plan_run, record), capture, findings)
        # What stands in the way may alter packets as a damaging link does.
        damaged = bool(plan_run.get("in_path")) or any(
            change.get("corrupt") for change in plan_run["timeline"]
        )
        check_established(Opened(claims, ways, damaged), capture, findings)
        check_first_flight(claims, ways, capture, findings, damaged=damaged)
        if claims.claims_nothing:
            findings.add("bytes", None, None, f"{claims.name} claims no received byte.")
            continue
        arriving = ways_in(claims.told, ways, record)
        seen = seen_at(AT_RECEIVER, claims, arriving, capture, damaged=damaged)
        answers = claims.planned.get("app") == _ANSWERED and claims.objects is not None
        back = seen_at(AT_REQUESTER, claims, ways, capture, damaged=damaged) if answers else seen
        if isinstance(seen, str) or isinstance(back, str):
            _not_checked(claims, seen if isinstance(seen, str) else str(back), findings)
            continue
        _check_bytes(claims, seen, findings)
        _check_instants(claims, seen, plan_run["record"]["messages"], findings)
        _check_objects(claims, back, findings)


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


def _check_bytes(claims: Claims, seen: Seen, findings: Findings) -> None:
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
        return _without_bytes(claims)
    told, came = int(claims.told["received_messages"]), int((claims.messages["received_ns"] >= 0).sum())
    if told <= came:
        return None
    return f"{claims.name} claims {plural(told, 'message')} received, but its rows tell of {came:,}."


def _without_bytes(claims: Claims) -> str | None:
    """Without rows: whether more messages are said to be received than their bytes make; the last one may be
    shorter.
    """
    size, told = int(claims.told["message_size_bytes"]), int(claims.told["received_messages"])
    if not claims.has_messages or claims.received_bytes > (told - 1) * size:
        return None
    received = plural(claims.received_bytes, "byte")
    return f"{claims.name} claims {plural(told, 'message')} of {size:,} bytes received, but {received}."


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
    early = arrived_ns - tolerance.current().time_ns > told_ns
    if not early.any():
        return None
    k = int(np.argmax(np.where(early, arrived_ns - told_ns, np.iinfo(np.int64).min)))
    return _Early(int(early.sum()), words(k), int(told_ns[k]), int(arrived_ns[k]))


def _check_instants(claims: Claims, seen: Seen, messages_kept: bool, findings: Findings) -> None:
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
        expected={"early_instants": 0, "tolerance_s": tolerance.current().time_ns / 1e9},
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


def _check_objects(claims: Claims, seen: Seen, findings: Findings) -> None:
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
