"""When the guest says that a flow's session was there, held against the packets that bring it about.

Set-up ends with that instant, and throughput is counted from it: too early makes the one better than it was,
too late the other. Who opens a session cannot have it before the answer came that the handshake waits for.
Where the kernel makes the handshake it has it then and there; and nothing is received over a session that is
not there yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gauntlet.certificate import headers, tolerance
from gauntlet.certificate.answers import Findings, seconds, span
from gauntlet.certificate.arrivals import NEVER
from gauntlet.certificate.capture import Capture
from gauntlet.certificate.opening import ANSWER, answer_of, opens
from gauntlet.certificate.payloads import read_payloads
from gauntlet.certificate.seen import AT_RECEIVER, AT_REQUESTER, Claims, pairs_of

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
Recognise = Callable[[Bytes], Flags]
"""Which of the packets (rows of captured bytes) are the ones that are looked for."""

_SECURED = frozenset({"tls", "rasta-tls"})
"""Stacks whose session needs a handshake of TLS behind that of the transport."""

_BY_KERNEL = frozenset({"tcp", "mptcp", "sctp", *_SECURED})
"""Stacks whose transport's handshake is the kernel's: the program that waits for it is woken by its end."""

_ASKING = "page"
"""The application whose receiver opens the sessions."""

_CHUNK = 256
"""Packets that are looked at in one go: a handshake stands at the beginning."""


@dataclass(frozen=True)
class Opened:
    """A flow's claims and what the plan and the record say of its way."""

    claims: Claims
    ways: Sequence[Mapping[str, Any]]
    damaged: bool
    """Whether packets may be damaged on their way."""

    @property
    def params(self) -> Mapping[str, Any]:
        """Those of its transport."""
        params: Mapping[str, Any] = self.claims.planned.get("stack_params", {})
        return params

    @property
    def asks(self) -> bool:
        """Whether its receiver opens the sessions."""
        return self.claims.planned.get("app") == _ASKING

    @property
    def server_port(self) -> int | None:
        """Where the session is waited for."""
        return self.claims.ports.source if self.asks else self.claims.ports.destination

    @property
    def has_many(self) -> bool:
        """Whether it has many sessions: that of the first message or object need not be there first."""
        return self.asks or self.claims.planned.get("app_params", {}).get("connection") == "fresh"

    @property
    def has_one_before(self) -> bool:
        """Whether its sender had a session before it, between the same ports."""
        return self.claims.planned.get("app_params", {}).get("warm_up_s") is not None

    @property
    def may_not_wait(self) -> bool:
        """Whether data may go before any answer: TCP Fast Open, early data, some handshakes of ResTP, and
        COP-1 with keys and counts from before.
        """
        if self.claims.stack == "sdls-cop1":
            return True
        if self.claims.stack == "restp":
            by_profile = {"web_opt": "opportunistic", "datagram": "connectionless"}
            usual = by_profile.get(str(self.params.get("profile")), "three-way")
            return bool(self.params.get("management", usual) != "three-way")
        return bool(self.params.get("fast_open") or self.params.get("early_data"))


def check_established(flow: Opened, capture: Capture | None, findings: Findings) -> None:
    """Judge when one flow says that its session was there."""
    claims = flow.claims
    established_s, transport_s = (
        claims.told.get(key) for key in ("established_s", "transport_established_s")
    )
    if established_s is None:
        return
    established_ns = round(established_s * 1e9)
    transport_ns = established_ns if transport_s is None else round(transport_s * 1e9)
    told = {"established_s": established_s, "transport_established_s": transport_s}
    if claims.stack == "udp":
        sentence = f"{claims.name} claims a session from {seconds(established_ns)} on, but UDP has none."
        findings.add("established", None, sentence, measured=told)
        return
    place = AT_RECEIVER if flow.asks else AT_REQUESTER
    links = place.links(flow.ways)
    pairs = pairs_of(claims, flow.ways, backward=not flow.asks)
    if claims.stack == "external":
        _leave(flow, "its programs open the session, and their packets are not told apart", None, findings)
        return
    if capture is None or not links or any(link not in capture.taps for link in links) or not pairs:
        missing = "captured packets" if capture is None else place.missing(claims)
        _leave(flow, f"the record lacks {missing}", missing, findings)
        return
    carried = _first_ns(capture, links, pairs, _recognise(flow, of_transport=True))
    secured = carried
    if claims.stack in _SECURED:
        secured = _first_ns(capture, links, pairs, _recognise(flow, of_transport=False))
    where = " and ".join(links)
    failure = _early(flow, transport_ns, carried, "the answer to its request", where)
    if claims.stack in _SECURED:
        failure = failure or _early(flow, established_ns, secured, "the first data of the other side", where)
    failure = failure or _late(flow, established_ns, transport_ns, carried, where)
    needed_ns = max(carried, secured)
    if failure is None and (unknown := _unknown(flow, established_ns, needed_ns)):
        _leave(flow, unknown, None, findings)
        return
    if failure is None and needed_ns == NEVER:
        _leave(flow, f"no packet on {where} is known as the answer to its request", None, findings)
        return
    findings.add(
        "established",
        links[-1],
        failure,
        f"{claims.name} was established at {seconds(established_ns)}, not before the answer to its request "
        f"had passed {where}.",
        measured=told,
        expected={"earliest_s": None if needed_ns == NEVER else needed_ns / 1e9},
    )


def _unknown(flow: Opened, established_ns: int, needed_ns: int) -> str:
    """Why no packet tells when the session was there; empty where one does."""
    if flow.has_one_before:
        return "a session before it had its answer between the same ports"
    if flow.may_not_wait and established_ns + tolerance.current().time_ns < needed_ns:
        return "it need not wait for an answer, so that no packet says when that was"
    return ""


def _leave(flow: Opened, why: str, missing: str | None, findings: Findings) -> None:
    findings.not_checked(
        "established",
        None,
        f"When the session of {flow.claims.name} was there was not held against packets: {why}.",
        missing=missing,
        measured={"established_s": flow.claims.told["established_s"]},
    )


def _recognise(flow: Opened, *, of_transport: bool) -> Recognise:
    """What the answer looks like for which the transport waits; for TLS the first data of the other side."""
    if of_transport:
        answer = answer_of(flow.claims.planned)
        port = flow.server_port or 0
        return lambda inner: opens(inner, answer, ANSWER, port)
    ports = flow.claims.ports if flow.asks else flow.claims.ports.reversed

    def carries(inner: Bytes) -> Flags:
        payloads = read_payloads(inner, np.zeros(len(inner), np.int64), ports)
        found: Flags = payloads.unread_bytes > 0
        for pieces in payloads.pieces.values():
            found[pieces.row[pieces.length > 0]] = True
        return found

    return carries


def _first_ns(capture: Capture, links: Sequence[str], pairs: Sequence[int], recognise: Recognise) -> int:
    """When the first packet of a kind arrived at any of these taps; `NEVER` without one."""
    found = NEVER
    for link in links:
        tap = capture.taps[link]
        mine = np.flatnonzero(np.isin(tap.pair, np.array(pairs, np.uint64)))
        for start in range(0, len(mine), _CHUNK):
            chunk = mine[start : start + _CHUNK]
            inner = headers.inner_packets(capture.records["packet"][tap.rows[chunk]])
            if (those := np.flatnonzero(recognise(inner))).size:
                found = min(found, int(tap.time_ns[chunk[those[0]]]))
                break
    return found


def _early(flow: Opened, told_ns: int, needed_ns: int, what: str, where: str) -> str | None:
    """Whether the session was there before the packet that it needs."""
    if told_ns + tolerance.current().time_ns >= needed_ns or flow.may_not_wait:
        return None
    if needed_ns == NEVER:
        # What protects ResTP's handshake may hide it.
        unsure = flow.claims.stack == "restp"
        return None if unsure else f"{_claims(flow, told_ns)}, but {what} never came on {where}."
    return (
        f"{_claims(flow, told_ns)}, {span(needed_ns - told_ns)} before {what} passed {where} at "
        f"{seconds(needed_ns)}."
    )


def _late(flow: Opened, established_ns: int, transport_ns: int, answered_ns: int, where: str) -> str | None:
    """Whether it was there only after it must have been."""
    if flow.has_many:
        return None
    first_s = flow.claims.told["first_received_s"]
    first_ns = NEVER if first_s is None else round(first_s * 1e9)
    if established_ns > first_ns + tolerance.current().time_ns:
        after = span(established_ns - first_ns)
        return f"{_claims(flow, established_ns)}, {after} after its first byte was received."
    woken_ns = transport_ns - tolerance.current().waking_ns
    if flow.claims.stack not in _BY_KERNEL or flow.damaged or flow.may_not_wait or woken_ns <= answered_ns:
        return None
    return (
        f"{_claims(flow, transport_ns)}, {span(transport_ns - answered_ns)} after the answer to its request "
        f"passed {where} at {seconds(answered_ns)}."
    )


def _claims(flow: Opened, told_ns: int) -> str:
    return f"{flow.claims.name} is said to be established at {seconds(told_ns)}"
