"""What the guest says that its flows handed over, held against their rows and against the packets at the
first tap behind the sender: how many messages, and when.

Loss is computed from what was handed over, and delay from when. So a flow must not have handed over less than
its packets carried, nor later than they passed; and where all of it must have entered the network, not more.
That a message was handed over *earlier* than it left is the sender's own affair: it waited in a buffer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gauntlet.certificate import tolerance
from gauntlet.certificate.answers import Findings, plural, seconds, span
from gauntlet.certificate.arrivals import NEVER
from gauntlet.certificate.capture import Capture
from gauntlet.certificate.seen import AT_SENDER, Claims, Ints, Seen, seen_at

_PLAIN_STREAMS = frozenset({"tcp", "sctp"})
"""Stacks that carry the bytes that the application hands over, each with a number, and none of their own."""

_PLAIN_APPS = frozenset({"cbr", "bulk", "voip", "video", "periodic", "safety"})
"""Applications that put nothing but their messages into a stream."""


@dataclass(frozen=True)
class Sending:
    """A flow's claims and what the plan and the record say of its way to the first tap."""

    claims: Claims
    ways: Sequence[Mapping[str, Any]]
    plan_run: Mapping[str, Any]
    record: Mapping[str, Any]

    @property
    def sent(self) -> int:
        """Messages that were handed over."""
        return int(self.claims.told["sent_messages"])

    @property
    def dropped(self) -> int:
        """Those of them that a queue of the sender's own dropped."""
        return int(self.claims.told.get("sender_dropped_messages") or 0)

    @property
    def first_links(self) -> set[str]:
        """The links up to the first taps: the sender's own, and the tapped ones."""
        own = f"{self.claims.told['from']}>"
        return {
            *AT_SENDER.links(self.ways),
            *(entry["link"] for entry in self.plan_run["timeline"] if entry["link"].startswith(own)),
        }

    @property
    def damaged(self) -> bool:
        """Whether a packet may be damaged before the first tap sees it."""
        changes = self.plan_run["timeline"]
        return any(change.get("corrupt") and change["link"] in self.first_links for change in changes)

    @property
    def lost_before(self) -> int:
        """Packets that these links dropped or still held at the end, whose ever they were."""
        of_first = [entry for entry in self.record["links"] if entry["link"] in self.first_links]
        return sum(int(entry["dropped_packets"]) + int(entry["backlog_packets"]) for entry in of_first)

    @property
    def over(self) -> bool:
        """Whether it came to its end, so that all that it handed over has left it."""
        return bool(self.claims.told.get("outcome", "ok") == "ok")


def check_sent(flow: Sending, capture: Capture | None, findings: Findings) -> None:
    """Judge what one flow says that it handed over."""
    claims = flow.claims
    failure = _miscounted(flow)
    if failure is not None:
        findings.add("sent", None, failure, measured={"sent_messages": flow.sent})
        return
    if not flow.sent:
        return
    seen = _judging(flow, capture)
    if isinstance(seen, _Unjudged):
        count = plural(flow.sent, "message")
        findings.not_checked(
            "sent",
            None,
            f"That {claims.name} handed over {count}, and when, was not held against packets: {seen.why}.",
            missing=seen.missing,
            measured={"sent_messages": flow.sent},
        )
        return
    judged = _of_datagrams(flow, seen) if claims.stack == "udp" else _of_stream(flow, seen)
    failure, measured, expected = judged
    late = _late(flow, seen)
    findings.add(
        "sent",
        seen.links[0],
        failure or late,
        f"{claims.name} handed over {plural(flow.sent, 'message')}, as many as the packets on {seen.where} "
        f"show{', and none later than its packet passed there' if _timed(flow, seen) else ''}.",
        measured=measured,
        expected=expected,
    )


def _rows(claims: Claims) -> int:
    return 0 if claims.messages is None else len(claims.messages["seq"])


def _miscounted(flow: Sending) -> str | None:
    """Whether the record contradicts itself: its totals, and the rows of messages, where there are any."""
    claims, told = flow.claims, flow.claims.told
    if claims.stack == "external":
        return None
    if int(told["received_messages"]) > flow.sent:
        return (
            f"{claims.name} claims {plural(int(told['received_messages']), 'message')} received of "
            f"{flow.sent:,} that were handed over."
        )
    if claims.messages is not None and _rows(claims) != flow.sent:
        rows = plural(_rows(claims), "row")
        return f"{claims.name} claims {plural(flow.sent, 'message')} handed over, but has {rows} of messages."
    return None


@dataclass(frozen=True)
class _Unjudged:
    """Why packets say nothing of what was handed over; `missing` as in `Check`."""

    why: str
    missing: str | None = None


def _judging(flow: Sending, capture: Capture | None) -> Seen | _Unjudged:
    """What the first taps show, if that can be held against what was handed over."""
    claims = flow.claims
    if (why := _hidden(claims)) is not None:
        return _Unjudged(why)
    seen = seen_at(AT_SENDER, claims, flow.ways, capture, damaged=flow.damaged)
    if isinstance(seen, str):
        return _Unjudged(f"the record lacks {seen}", seen)
    if flow.damaged:
        return _Unjudged("they may have been damaged before the first tap saw them")
    if seen.arrivals.unread_bytes:
        return _Unjudged("the captured part of them is too short")
    return seen


def _hidden(claims: Claims) -> str | None:
    """Why packets cannot show what was handed over, whatever was captured of them; None where they can."""
    in_a_stream = claims.stack in _PLAIN_STREAMS and claims.planned.get("app") in _PLAIN_APPS
    if claims.partial:
        return "a message that grew too old in the sender's own queue never enters the network"
    if claims.stack != "udp" and not in_a_stream:
        return "they do not show where a message of this transport or application begins"
    if claims.planned.get("app_params", {}).get("threat") is not None:
        return "an attacker with the sender's keys stands between application and transport"
    return None


_Judged = tuple[str | None, dict[str, Any], dict[str, Any]]
"""A failure or None, what the packets show and what the guest says."""


def _of_datagrams(flow: Sending, seen: Seen) -> _Judged:
    """Each number once; what is missing must be what the sender's own queues dropped."""
    numbers, _ = seen.arrivals.datagrams or (np.empty(0, np.int64),) * 2
    carried, highest = len(numbers), int(numbers[-1]) + 1 if len(numbers) else 0
    told = f"{flow.claims.name} claims {plural(flow.sent, 'message')} handed over"
    dropped = f", {flow.dropped:,} of them dropped by the sender," if flow.dropped else ""
    failure = None
    if highest > flow.sent:
        failure = f"{told}, but a packet on {seen.where} carries the {highest:,}th."
    elif carried > flow.sent - flow.dropped:
        failure = f"{told}{dropped} but the packets on {seen.where} carry {carried:,}."
    elif flow.over and carried + flow.dropped + flow.lost_before < flow.sent:
        lost = f", and {flow.lost_before:,} were lost on the way there" if flow.lost_before else ""
        failure = f"{told}{dropped} but the packets on {seen.where} carry only {carried:,}{lost}."
    expected = {"sent_messages": flow.sent, "sender_dropped_messages": flow.dropped}
    return failure, {"carried_messages": carried, "lost_before_packets": flow.lost_before}, expected


def _of_stream(flow: Sending, seen: Seen) -> _Judged:
    """Each byte once; a flow that came to its end has sent all of them."""
    told_bytes, carried = int(flow.claims.told["sent_bytes"]), seen.arrivals.total_bytes
    told = f"{flow.claims.name} claims {plural(told_bytes, 'byte')} handed over"
    failure = None
    if carried > told_bytes:
        failure = f"{told}, but the packets on {seen.where} carry {carried:,}."
    elif flow.over and carried < told_bytes:
        failure = f"{told}, but the packets on {seen.where} carry only {carried:,}."
    elif (counted := _counted(flow, told_bytes)) is not None:
        failure = counted
    return failure, {"carried_bytes": carried}, {"sent_bytes": told_bytes, "sent_messages": flow.sent}


def _counted(flow: Sending, told_bytes: int) -> str | None:
    """Whether the count of messages is not that of their bytes; the last one may be shorter, and where a flow
    was broken off one may have been handed over in part only, which does not count.
    """
    size = int(flow.claims.told["message_size_bytes"])
    if not size or -(-told_bytes // size) == flow.sent:
        return None
    if not flow.over and told_bytes // size == flow.sent:
        return None
    return (
        f"{flow.claims.name} claims {plural(flow.sent, 'message')} handed over, but {told_bytes:,} bytes in "
        f"messages of {size:,}."
    )


def _timed(flow: Sending, seen: Seen) -> bool:
    """Whether it can be told which packet carried which message."""
    told = seen.arrivals.datagrams is not None or seen.arrivals.stream is not None
    return told and flow.claims.messages is not None


def _late(flow: Sending, seen: Seen) -> str | None:
    """Whether a message was handed over only after its packet had passed: its delay would be too short."""
    messages = flow.claims.messages
    if messages is None:
        return None
    order = np.argsort(messages["seq"], kind="stable")
    number, size, sent_ns = (messages[name][order] for name in ("seq", "size_bytes", "sent_ns"))
    passed_ns = _passed_ns(seen, number, size)
    if passed_ns is None:
        return None
    late = (passed_ns != NEVER) & (sent_ns > passed_ns + tolerance.current().time_ns)
    if not late.any():
        return None
    k = int(np.argmax(np.where(late, sent_ns - passed_ns, -1)))
    return (
        f"{plural(int(late.sum()), 'message')} of {flow.claims.name} passed {seen.where} before being handed "
        f"over: message {number[k]:,}, said to be handed over at {seconds(int(sent_ns[k]))}, "
        f"{span(int(sent_ns[k] - passed_ns[k]))} after its last packet passed."
    )


def _passed_ns(seen: Seen, number: Ints, size: Ints) -> Ints | None:
    """When the last byte of each message passed; None where that cannot be told."""
    if seen.arrivals.datagrams is not None:
        return seen.arrivals.datagram_ns(number)
    return None if seen.arrivals.stream is None else seen.arrivals.stream.readable_ns(np.cumsum(size))
