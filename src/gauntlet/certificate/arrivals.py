"""When the bytes of a flow had arrived at a tap, each byte of a transport that numbers them counted once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gauntlet.certificate.payloads import SCTP, TCP, UDP, Payloads, Pieces

Ints = npt.NDArray[np.int64]

NEVER = np.iinfo(np.int64).max

_APART = 1 << 44
"""Between the numbers of two sessions: more than any of them carries."""

_SHORT = 1 << 30
"""Below this many bytes a session's 32-bit numbers are unambiguous relative to any one of them."""


@dataclass(frozen=True)
class Stretches:
    """Stretches of a numbered stream that do not overlap, in order, and when each first arrived."""

    start: Ints
    end: Ints
    first_ns: Ints

    def readable_ns(self, byte_ends: Ints) -> Ints:
        """When all bytes up to each of `byte_ends` had arrived; `NEVER` behind the first gap. Byte 0 is the
        first one."""
        inside = np.flatnonzero(self.end > 0)
        start, end, first_ns = self.start[inside], self.end[inside], self.first_ns[inside]
        whole = len(end)
        if whole:
            gaps = np.flatnonzero(start > np.concatenate(([0], end[:-1])))
            whole = int(gaps[0]) if len(gaps) else whole
        steps = np.append(np.maximum.accumulate(first_ns[:whole]), NEVER)
        return steps[np.searchsorted(end[:whole], byte_ends, side="left")]


@dataclass(frozen=True)
class Arrivals:
    """What a tap shows of one direction of a flow.

    At `time_ns[i]` (not falling) `new_bytes[i]` arrived that had not been there before. `stream`: the
    bytes in their order, where one session's numbers tell it; else None. `datagrams`: the numbers (rising)
    of the numbered datagrams and when each first arrived; None where they are not numbered.
    `unread_bytes`: part of `new_bytes` that may be payload, or a repetition.
    """

    time_ns: Ints
    new_bytes: Ints
    stream: Stretches | None
    datagrams: tuple[Ints, Ints] | None
    unread_bytes: int

    @property
    def total_bytes(self) -> int:
        """All payload bytes, each counted once as far as can be told."""
        return int(self.new_bytes.sum())

    def datagram_ns(self, numbers: Ints) -> Ints:
        """When each of these datagrams first arrived; `NEVER` for those that did not."""
        known, first_ns = (np.empty(0, np.int64),) * 2 if self.datagrams is None else self.datagrams
        place = np.searchsorted(known, numbers)
        found = np.append(known, -1)[place] == numbers
        return np.where(found, np.append(first_ns, NEVER)[place], NEVER)


def arrivals(
    payloads: Payloads, time_ns: Ints, *, numbered_datagrams: bool, damaged: bool = False
) -> Arrivals:
    """When a flow's bytes arrived, from what its packets (seen at `time_ns`) carry.

    Where packets may be `damaged`, the numbers of chunks are only summed: one wrong number moves all bytes
    behind it. The bytes of TCP keep their places, for a wrong number has only bytes too many.
    """
    times, sizes = [time_ns], [payloads.unread_bytes]
    streams: list[Stretches | None] = []
    datagrams: tuple[Ints, Ints] | None = None
    for protocol, pieces in payloads.pieces.items():
        seen_ns = time_ns[pieces.row]
        if protocol in (TCP, SCTP):
            stretches, alone = _stretches(pieces, seen_ns, counts_bytes=protocol == TCP)
            times.append(stretches.first_ns)
            sizes.append(stretches.end - stretches.start)
            sure = protocol == TCP or not damaged
            streams.append(stretches if alone and sure else None)
        elif protocol == UDP and numbered_datagrams:
            number, first = np.unique(pieces.sequence, return_index=True)
            times.append(seen_ns[first])
            sizes.append(pieces.length[first])
            datagrams = number, seen_ns[first]
        else:
            times.append(seen_ns)
            sizes.append(pieces.length)
    unread = int(payloads.unread_bytes.sum())
    all_ns, new_bytes = np.concatenate(times), np.concatenate(sizes)
    order = np.argsort(all_ns, kind="stable")
    order = order[new_bytes[order] > 0]
    stream = streams[0] if len(payloads.pieces) == 1 and streams and not unread else None
    return Arrivals(all_ns[order], new_bytes[order], stream, None if unread else datagrams, unread)


def _stretches(pieces: Pieces, seen_ns: Ints, *, counts_bytes: bool) -> tuple[Stretches, bool]:
    """What arrived of each session, each byte once; and whether it is one stream whose first byte is known.

    The numbers of SCTP count chunks: their bytes stand one after the other in the order of the numbers.
    """
    sessions, session = np.unique(pieces.session, return_inverse=True)
    sequence = _unwrapped(pieces.sequence, session, int(pieces.length.sum()))
    alone = len(sessions) == 1
    if counts_bytes:
        openings = np.unique(sequence[pieces.opens])
        if alone and len(openings) == 1:
            sequence = sequence - openings[0]
        else:
            alone = False
        start = sequence + session * _APART
        return _without_overlap(start, start + pieces.length, seen_ns), alone
    number, first = np.unique(sequence + session * _APART, return_index=True)
    end = np.cumsum(pieces.length[first])
    # A chunk that never came leaves a gap of unknown length; no byte behind it can be placed.
    gap = np.concatenate(([0], np.cumsum(np.diff(number) != 1))) * (1 if alone else 0)
    return Stretches(end - pieces.length[first] + gap, end + gap, seen_ns[first]), alone


def _unwrapped(sequence: Ints, session: Ints, total: int) -> Ints:
    """32-bit numbers of each session without their jumps from 2^32 - 1 to 0."""
    if not len(sequence):
        return sequence
    if total < _SHORT:
        _, first = np.unique(session, return_index=True)
        relative = sequence - sequence[first][session]
        return (relative + (1 << 31)) % (1 << 32) - (1 << 31)
    order = np.argsort(session, kind="stable")
    steps = np.diff(sequence[order], prepend=sequence[order[0]])
    steps = (steps + (1 << 31)) % (1 << 32) - (1 << 31)
    steps[np.diff(session[order], prepend=session[order[0]]) != 0] = 0
    through = np.cumsum(steps)
    result = np.empty_like(sequence)
    _, first = np.unique(session[order], return_index=True)
    result[order] = through - through[first][session[order]]
    return result


def _without_overlap(start: Ints, end: Ints, seen_ns: Ints) -> Stretches:
    """Stretches cut at each other's ends, with the first arrival of each part; `seen_ns` does not fall."""
    carrying = end > start
    start, end, seen_ns = start[carrying], end[carrying], seen_ns[carrying]
    if not len(start):
        none = np.empty(0, np.int64)
        return Stretches(none, none, none)
    edges = np.unique(np.concatenate((start, end)))
    first, behind = np.searchsorted(edges, start), np.searchsorted(edges, end)
    parts = behind - first
    place = np.repeat(first - np.concatenate(([0], np.cumsum(parts)[:-1])), parts) + np.arange(parts.sum())
    earliest = np.full(len(edges) - 1, NEVER)
    # Written from the latest to the earliest, so that the first arrival stays.
    earliest[place[::-1]] = np.repeat(seen_ns, parts)[::-1]
    there = np.flatnonzero(earliest != NEVER)
    return Stretches(edges[there], edges[there + 1], earliest[there])
