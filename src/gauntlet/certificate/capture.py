"""The captured packets of a run, read from `packets.bin` and sorted by tap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gauntlet.certificate import headers

CAPTURE_BYTES = {"headers": 112, "full": 1584}
"""Bytes kept of each packet, by the plan's `record.packets` (docs/formats/record.md)."""

_CHUNK_ROWS = 8_192  # so that the bytes being worked on stay in the processor's cache

Ints = npt.NDArray[np.int64]


_CAPTURED_AT, _PACKET_AT = 10, 16
"""Where these two of `record_dtype` stand."""


def record_dtype(capture_bytes: int) -> np.dtype[np.void]:
    """The layout of one record of `packets.bin`."""
    return np.dtype(
        [
            ("time_ns", "<i8"),
            ("tap", "<u2"),
            ("captured", "<u2"),
            ("length", "<u4"),
            ("packet", "u1", (capture_bytes,)),
        ]
    )


@dataclass(frozen=True)
class TapPackets:
    """What one tap saw, in order of arrival; all arrays have one entry per packet.

    `rows` are their places among the capture's records; `time_ns` since the start of the run; `length` in
    bytes from the outermost IP header on; `key` as in `headers`; `pair` code of the inner addresses;
    `local` concerns this link only; `icmp` an ICMP message.
    """

    link: str
    rows: Ints
    time_ns: Ints
    length: Ints
    key: npt.NDArray[np.uint64]
    pair: npt.NDArray[np.uint64]
    local: npt.NDArray[np.bool_]
    icmp: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.time_ns)


@dataclass(frozen=True)
class Capture:
    """All packets of a run by tapped link direction; `unknown_taps` counts records of taps that the record
    does not list."""

    taps: dict[str, TapPackets]
    records: npt.NDArray[np.void]
    unknown_taps: int
    surplus_bytes: int

    @property
    def last_ns(self) -> int:
        """The latest instant at which any tap saw a packet (0 without packets)."""
        return max((int(tap.time_ns.max()) for tap in self.taps.values() if len(tap)), default=0)

    def packet(self, row: int) -> bytes:
        """What was kept of the packet at a place among the records, from the outermost IP header on."""
        size = self.records.itemsize
        record = self._bytes[row * size : (row + 1) * size]
        captured = int.from_bytes(record[_CAPTURED_AT : _CAPTURED_AT + 2], "little")
        return bytes(record[_PACKET_AT : _PACKET_AT + captured])

    @cached_property
    def _bytes(self) -> memoryview:
        """The records as they lie in the file: to take each packet out of an array takes several times as
        long.
        """
        return self.records.view(np.uint8).data


def read_capture(path: Path, capture_bytes: int, tap_links: Sequence[tuple[int, str]]) -> Capture:
    """Read `packets.bin`; `tap_links` are (tap number, link direction).

    A last record that is cut off is left out and counted in `surplus_bytes`. Raises OSError if the file
    cannot be read.
    """
    dtype = record_dtype(capture_bytes)
    size_bytes = path.stat().st_size
    count = size_bytes // dtype.itemsize
    records: npt.NDArray[np.void] = (
        np.memmap(path, dtype, mode="r", shape=(count,)) if count else np.empty(0, dtype)
    )
    columns = _columns(path, dtype, count)
    order = np.argsort(columns["tap"], kind="stable")
    sorted_taps = columns["tap"][order]
    taps = {}
    for number, link in tap_links:
        first, last = np.searchsorted(sorted_taps, [number, number + 1])
        rows = order[first:last]
        taps[link] = TapPackets(
            link=link,
            rows=rows,
            time_ns=columns["time_ns"][rows],
            length=columns["length"][rows],
            key=columns["key"][rows],
            pair=columns["pair"][rows],
            local=columns["local"][rows],
            icmp=columns["icmp"][rows],
        )
    known = np.isin(columns["tap"], [number for number, _ in tap_links])
    return Capture(taps, records, int(count - known.sum()), size_bytes - count * dtype.itemsize)


def _columns(path: Path, dtype: np.dtype[np.void], count: int) -> dict[str, npt.NDArray[Any]]:
    """What is kept of each packet, read once from the beginning to the end.

    Raises OSError for a file that has become shorter.
    """
    columns: dict[str, npt.NDArray[Any]] = {
        "time_ns": np.empty(count, np.int64),
        "tap": np.empty(count, np.uint16),
        "length": np.empty(count, np.int64),
        "key": np.empty(count, np.uint64),
        "pair": np.empty(count, np.uint64),
        "local": np.empty(count, np.bool_),
        "icmp": np.empty(count, np.bool_),
    }
    for first, chunk in _chunks(path, dtype, count):
        part = slice(first, first + len(chunk))
        for name in ("time_ns", "tap", "length"):
            columns[name][part] = chunk[name]
        inner = headers.inner_packets(chunk["packet"])
        columns["key"][part] = headers.keys(headers.unchanging_words(inner))
        columns["pair"][part] = headers.pair_codes(inner)
        columns["local"][part] = headers.link_local(inner)
        columns["icmp"][part] = headers.icmp(inner)
    return columns


def _chunks(path: Path, dtype: np.dtype[np.void], count: int) -> Iterator[tuple[int, npt.NDArray[np.void]]]:
    """The records in pieces, each with the number of its first, one after another in the same memory."""
    memory = np.empty(min(count, _CHUNK_ROWS), dtype)
    with path.open("rb") as file:
        for first in range(0, count, _CHUNK_ROWS):
            chunk = memory[: count - first]
            if file.readinto(chunk.view(np.uint8).data) != chunk.nbytes:
                raise OSError(f"{path} became shorter while it was read")
            yield first, chunk
