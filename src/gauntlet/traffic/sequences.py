"""Packet sequences of visits: when a packet passed, which way, how long it was and what it was of.

All visits stand in flat arrays, one visit after the other, so that nothing here loops over packets.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

TCP_CONTROL, TCP_DATA, QUIC_HANDSHAKE, QUIC_DATA, OTHER = range(5)
KINDS = ("tcp-control", "tcp-data", "quic-handshake", "quic-data", "other")
"""What a packet is of, as its headers tell: TCP without and with payload (which is TLS's), QUIC with a long
header and with a short one (RFC 9000, section 17), anything else.
"""


@dataclass(frozen=True)
class Sequences:
    """Visits and their packets.

    `site`, `session` and `visit` have an entry for each visit; packets of visit v stand from `starts[v]` to
    `starts[v + 1]` in the other arrays: nanoseconds since the visit's first packet, bytes from the IP header
    on (above 0: towards the server), place in `KINDS`.
    """

    site: Ints
    session: Ints
    visit: Ints
    """Its place in the session."""
    starts: Ints
    time_ns: Ints
    signed_bytes: Ints
    kind: Ints

    def __len__(self) -> int:
        return len(self.site)

    @classmethod
    def of(
        cls,
        visits: Sequence[tuple[int, int, int]],
        packets: Sequence[tuple[Ints, Ints, Ints]],
    ) -> Self:
        """From (site, session, visit) and (nanoseconds, signed bytes, kind) of each visit, by time."""
        lengths = [len(times) for times, *_ in packets]
        columns = [
            np.concatenate([np.asarray(it[place], np.int64) for it in packets])
            if packets
            else np.empty(0, np.int64)
            for place in range(3)
        ]
        known = np.array(visits, np.int64).reshape(-1, 3)
        starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        return cls(known[:, 0], known[:, 1], known[:, 2], starts, *columns)

    @property
    def lengths(self) -> Ints:
        """Packets of each visit."""
        return np.diff(self.starts)

    @property
    def owner(self) -> Ints:
        """The visit of each packet."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @property
    def place(self) -> Ints:
        """The place of each packet in its visit, from 0."""
        return np.arange(self.starts[-1]) - np.repeat(self.starts[:-1], self.lengths)

    def take(self, visits: npt.ArrayLike) -> Self:
        """These visits (places or flags), in this order."""
        chosen = np.arange(len(self))[np.asarray(visits)]
        lengths = self.lengths[chosen]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        rows = np.arange(starts[-1]) + np.repeat(self.starts[:-1][chosen] - starts[:-1], lengths)
        return replace(
            self,
            site=self.site[chosen],
            session=self.session[chosen],
            visit=self.visit[chosen],
            starts=starts,
            time_ns=self.time_ns[rows],
            signed_bytes=self.signed_bytes[rows],
            kind=self.kind[rows],
        )

    def keep(self, packets: Flags) -> Self:
        """The same visits with some of their packets."""
        lengths = np.bincount(self.owner[packets], minlength=len(self))
        return replace(
            self,
            starts=np.concatenate([[0], np.cumsum(lengths)]),
            time_ns=self.time_ns[packets],
            signed_bytes=self.signed_bytes[packets],
            kind=self.kind[packets],
        )

    def first(self, packets: int) -> Self:
        """What an observer has who looks at the first packets only."""
        return self.keep(self.place < packets)

    def without(self, kind: int) -> Self:
        """What is left when packets of a kind are not there."""
        return self.keep(self.kind != kind)

    def present(self, kind: int) -> Flags:
        """Which visits have packets of a kind."""
        return np.bincount(self.owner[self.kind == kind], minlength=len(self)) > 0

    def windows(self, packets: int) -> tuple[Self, Ints]:
        """Each visit cut into windows of so many packets, its rest left out, and the visit of each window."""
        counts = self.lengths // packets
        owners = np.repeat(np.arange(len(self)), counts)
        whole = self.keep(self.place < np.repeat(counts * packets, self.lengths))
        starts = np.arange(len(owners) + 1) * packets
        began_ns = np.repeat(whole.time_ns[starts[:-1]], packets)
        cut = replace(
            whole,
            site=self.site[owners],
            session=self.session[owners],
            visit=self.visit[owners],
            starts=starts,
            time_ns=whole.time_ns - began_ns,
        )
        return cut, owners

    def matrix(self, packets: int) -> Floats:
        """Signed bytes of the first packets, a row a visit; zeros behind the last."""
        made = np.zeros((len(self), packets))
        early = self.place < packets
        made[self.owner[early], self.place[early]] = self.signed_bytes[early]
        return made

    def to_table(self) -> pa.Table:
        """A row a packet."""
        visits = {name: getattr(self, name)[self.owner] for name in ("site", "session", "visit")}
        packets = {name: getattr(self, name) for name in ("time_ns", "signed_bytes", "kind")}
        return pa.table({**visits, **packets})

    @classmethod
    def from_table(cls, table: pa.Table) -> Self:
        """What `to_table` gave, of visits that all have packets."""
        columns = {name: table.column(name).to_numpy().astype(np.int64) for name in table.column_names}
        visits = np.stack([columns.pop(name) for name in ("site", "session", "visit")], axis=1)
        begins = np.flatnonzero(np.any(np.diff(visits, axis=0, prepend=-1) != 0, axis=1))
        starts = np.concatenate([begins, [len(visits)]])
        site, session, visit = visits[begins].T
        return cls(site, session, visit, starts, **columns)


def joined(parts: Sequence[Sequences]) -> Sequences:
    """Visits of several, one after the other."""
    if not parts:
        return Sequences.of([], [])
    ends = np.cumsum([0, *(int(it.starts[-1]) for it in parts)])
    starts = [it.starts[:-1] + end for it, end in zip(parts, ends, strict=False)]
    names = ("site", "session", "visit", "time_ns", "signed_bytes", "kind")
    columns = {name: np.concatenate([getattr(it, name) for it in parts]) for name in names}
    return Sequences(starts=np.concatenate([*starts, ends[-1:]]), **columns)


def paired(one: Sequences, other: Sequences) -> tuple[Sequences, Sequences]:
    """The visits that both have, in one order: the same site, session and place in it."""
    keys = [
        list(zip(it.site.tolist(), it.session.tolist(), it.visit.tolist(), strict=True))
        for it in (one, other)
    ]
    places = {key: place for place, key in enumerate(keys[1])}
    common = [(place, places[key]) for place, key in enumerate(keys[0]) if key in places]
    chosen = np.array(common, np.int64).reshape(-1, 2)
    return one.take(chosen[:, 0]), other.take(chosen[:, 1])
