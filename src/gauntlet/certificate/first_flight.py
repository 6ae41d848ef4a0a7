"""Does TCP send as much before the first acknowledgement as the plan's initial window allows, and no more?

A window is counted in segments (RFC 6928; `initcwnd` of ip-route(8)), so the data segments of a connection
that leave either end before the first acknowledgement of data comes back are at most so many; and just so
many where the sender had more to send and nothing else held it back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gauntlet.certificate import headers
from gauntlet.certificate.answers import Findings, plural, seconds
from gauntlet.certificate.capture import Capture
from gauntlet.certificate.seen import AT_RECEIVER, AT_REQUESTER, AT_SENDER, Claims, Place, pairs_of

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

_TCP = 6
_SYN, _ACK = 0x02, 0x10
_HALF = 1 << 31
"""Sequence numbers are compared modulo 2^32 (RFC 9293, section 3.4)."""

_PLAIN = frozenset({"bulk", "cbr"})
"""Applications that hand over all they have at once when they have no rate."""

_AT_ANSWERER = Place("return", "first")
"""Where the packets of a flow's receiver enter the network."""


@dataclass(frozen=True)
class _Segments:
    """TCP's segments at some taps, in order of time; one entry a segment. `window` is not scaled."""

    time_ns: Ints
    port: Ints
    to_port: Ints
    sequence: Ints
    acknowledged: Ints
    flags: Ints
    payload_bytes: Ints
    window_bytes: Ints

    def of(self, port: int, to_port: int) -> _Segments:
        """Those of one direction of one connection."""
        chosen = (self.port == port) & (self.to_port == to_port)
        return _Segments(*(column[chosen] for column in vars(self).values()))


@dataclass(frozen=True)
class _Flight:
    """The first flight of one end of a connection: its `segments`, when the first of them left, whether more
    followed it, and the most that the other end's first window had room for."""

    segments: int
    first_ns: int
    more: bool
    room_segments: int


def check_first_flight(
    claims: Claims,
    ways: Sequence[Mapping[str, Any]],
    capture: Capture | None,
    findings: Findings,
    *,
    damaged: bool,
) -> None:
    """Judge the first flights of a flow for which the plan asks an initial window."""
    params: Mapping[str, Any] = claims.planned.get("stack_params", {})
    segments = params.get("initial_window_segments")
    if segments is None:
        return
    both = ((AT_SENDER, AT_REQUESTER, False), (_AT_ANSWERER, AT_RECEIVER, True))
    missing = _missing(claims, ways, capture, (place for *places, _ in both for place in places))
    if damaged:
        why = "acknowledgements may be damaged or altered on their way, so that none says what it answers"
        _leave(claims, segments, why, None, findings)
        return
    if capture is None or missing is not None:
        _leave(claims, segments, f"the record lacks {missing}", missing, findings)
        return
    flights = []
    for leaving, coming, backward in both:
        data = _segments(claims, ways, capture, leaving.links(ways), backward=backward)
        answers = _segments(claims, ways, capture, coming.links(ways), backward=not backward)
        found = list(_flights(data, answers))
        flights += [(flight, not backward) for flight in found]
    if not flights:
        _leave(claims, segments, "no data came to its first tap", None, findings)
        return
    greedy = _is_greedy(claims)
    worst = max((flight for flight, _ in flights), key=lambda flight: flight.segments)
    short = [
        flight
        for flight, sent in flights
        if sent and greedy and flight.more and flight.segments < segments <= flight.room_segments
    ]
    failure = None
    if worst.segments > segments:
        failure = (
            f"{claims.name} sent {plural(worst.segments, 'segment')} from {seconds(worst.first_ns)} on "
            f"before any was acknowledged; its initial window is {segments:,}."
        )
    elif short:
        failure = (
            f"{claims.name} sent only {plural(short[0].segments, 'segment')} from "
            f"{seconds(short[0].first_ns)} on before any was acknowledged although it had more; its initial "
            f"window is {segments:,}."
        )
    links = AT_SENDER.links(ways)
    findings.add(
        "initial_window",
        links[0],
        failure,
        f"Before the first acknowledgement {claims.name} sent at most "
        f"{plural(worst.segments, 'segment')}; its initial window is {segments:,}.",
        measured={"segments": worst.segments, "flights": len(flights)},
        expected={"segments": segments},
    )


def _missing(
    claims: Claims, ways: Sequence[Mapping[str, Any]], capture: Capture | None, places: Iterator[Place]
) -> str | None:
    if capture is None:
        return "captured packets"
    for place in places:
        links = place.links(ways)
        if not links or any(link not in capture.taps for link in links):
            return place.missing(claims)
    if not pairs_of(claims, ways, backward=False):
        return f"the addresses of {claims.name}"
    return None


def _leave(claims: Claims, segments: int, why: str, missing: str | None, findings: Findings) -> None:
    findings.not_checked(
        "initial_window",
        None,
        f"That the initial window of {claims.name} is {plural(segments, 'segment')} was not checked: {why}.",
        missing=missing,
        expected={"segments": segments},
    )


def _is_greedy(claims: Claims) -> bool:
    """Whether its sender has more than any window from its beginning on, and room for it."""
    app, params = claims.planned.get("app"), claims.planned.get("app_params", {})
    own = claims.planned.get("stack_params", {})
    return (
        claims.stack == "tcp"
        and app in _PLAIN
        and params.get("rate_bps") is None
        and not own.get("fast_open")
        and own.get("send_buffer_bytes") is None
    )


def _segments(
    claims: Claims,
    ways: Sequence[Mapping[str, Any]],
    capture: Capture,
    links: Sequence[str],
    *,
    backward: bool,
) -> _Segments:
    """What a flow's taps show of TCP in one direction."""
    pairs = np.array(pairs_of(claims, ways, backward=backward), np.uint64)
    times, inners = [], []
    for link in links:
        tap = capture.taps[link]
        mine = np.flatnonzero(np.isin(tap.pair, pairs))
        times.append(tap.time_ns[mine])
        inners.append(headers.inner_packets(capture.records["packet"][tap.rows[mine]]))
    time_ns, inner = np.concatenate(times), np.concatenate(inners)
    ports = claims.ports.reversed if backward else claims.ports
    found = _read(time_ns, inner)
    chosen = np.flatnonzero(ports.match(found.port, found.to_port))
    order = chosen[np.argsort(found.time_ns[chosen], kind="stable")]
    return _Segments(*(column[order] for column in vars(found).values()))


def _read(time_ns: Ints, inner: Bytes) -> _Segments:
    """The TCP headers (RFC 9293, section 3.1) of captured packets; what is not TCP is left out."""
    ipv4 = inner[:, 0] >> 4 == 4
    tcp = np.flatnonzero(np.where(ipv4, inner[:, 9], inner[:, 6]) == _TCP)
    time_ns, inner, ipv4 = time_ns[tcp], inner[tcp], ipv4[tcp]
    rows = np.arange(len(inner))
    start = np.where(ipv4, (inner[:, 0] & 15).astype(np.int64) * 4, 40)

    def number(at: Ints | int, count: int) -> Ints:
        value = np.zeros(len(inner), np.int64)
        for offset in range(count):
            value = value * 256 + inner[rows, at + offset]
        return value

    whole = np.where(ipv4, number(2, 2), number(4, 2) + 40)
    header_bytes = start + (inner[rows, start + 12] >> 4).astype(np.int64) * 4
    return _Segments(
        time_ns=time_ns,
        port=number(start, 2),
        to_port=number(start + 2, 2),
        sequence=number(start + 4, 4),
        acknowledged=number(start + 8, 4),
        flags=number(start + 13, 1),
        payload_bytes=whole - header_bytes,
        window_bytes=number(start + 14, 2),
    )


def _flights(data: _Segments, answers: _Segments) -> Iterator[_Flight]:
    """The first flight of each connection whose opening was seen, in the direction of `data`."""
    connections = sorted({*zip(data.port.tolist(), data.to_port.tolist(), strict=True)})
    for port, to_port in connections:
        flight = _flight(data.of(port, to_port), answers.of(to_port, port))
        if flight is not None:
            yield flight


def _flight(data: _Segments, answers: _Segments) -> _Flight | None:
    opening = np.flatnonzero(data.flags & _SYN)
    carries = np.flatnonzero((data.payload_bytes > 0) & (data.flags & _SYN == 0))
    if not len(opening) or not len(carries):
        return None
    # With TCP Fast Open data go with the SYN, outside of the window that counts afterwards.
    opened = data.sequence[opening[0]] + 1 + int(data.payload_bytes[opening].max())
    acknowledges = answers.flags & _ACK != 0
    beyond = (answers.acknowledged - opened) % (2 * _HALF)
    since_ns = int(data.time_ns[opening[-1]])
    back = np.flatnonzero(acknowledges & (answers.time_ns >= since_ns))
    if not len(back):
        return None
    answered = np.flatnonzero(acknowledges & (beyond > 0) & (beyond < _HALF))
    until_ns = int(answers.time_ns[answered[0]]) if len(answered) else np.iinfo(np.int64).max
    first_ns = int(data.time_ns[carries[0]])
    # Beyond a round trip no window speaks any more, but a probe for a lost tail (RFC 8985, section 7.3).
    within_ns = first_ns + int(answers.time_ns[back[0]]) - since_ns
    left_ns = data.time_ns[carries]
    sequences, counts = data.sequence[carries], (left_ns < until_ns) & (left_ns <= within_ns)
    segments = len(np.unique(sequences[counts]))
    longest = int(data.payload_bytes[carries].max())
    return _Flight(
        segments=segments,
        first_ns=first_ns,
        more=len(opening) == 1 and len(np.unique(sequences)) > segments,
        room_segments=int(answers.window_bytes[back[0]]) // longest,
    )
