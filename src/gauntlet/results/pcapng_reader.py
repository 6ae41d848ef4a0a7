"""Reads back what `gauntlet.results.pcapng` writes: the instants, sizes and first bytes of packets.

For notebooks, not for Wireshark's files in general: one section, instants in nanoseconds.
"""

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from gauntlet.errors import RunError
from gauntlet.results import pcapng

HEADER_BYTES = 64
"""First bytes of a packet that hold its addresses: an IPv6 header (40) behind those of a GRE tunnel (24)."""


@dataclass(frozen=True)
class Capture:
    """Packets in the order of the file; arrays have one entry a packet."""

    links: list[str]
    """Names of the interfaces."""
    interfaces: npt.NDArray[np.int32]
    """Places in `links`."""
    t_ns: npt.NDArray[np.int64]
    size_bytes: npt.NDArray[np.int64]
    """From the outermost IP header on."""
    headers: npt.NDArray[np.uint8]
    """The first bytes of each packet (packets x `header_bytes`), zeros where fewer were captured."""


def read(file: Path, header_bytes: int) -> Capture:
    """Read a capture. Raises RunError when it is damaged."""
    content = file.read_bytes()
    links: list[str] = []
    starts: list[int] = []
    place = 0
    try:
        while place < len(content):
            kind, length = struct.unpack_from("<II", content, place)
            if length < 12 or length % 4 or place + length > len(content):
                raise ValueError
            if kind == pcapng.INTERFACE:
                links.append(pcapng.interface_name(content[place : place + length]))
            elif kind == pcapng.PACKET:
                starts.append(place)
            place += length
    except (struct.error, ValueError):
        raise RunError(f"the capture {file} is damaged at byte {place}; run the same command again") from None
    return _packets(content, np.array(starts, np.int64), links, header_bytes)


def _packets(content: bytes, starts: npt.NDArray[np.int64], links: list[str], header_bytes: int) -> Capture:
    # Blocks are whole words; zeros behind the last one keep every header inside.
    words = np.frombuffer(content + b"\0" * header_bytes, "<u4")
    first = starts // 4
    data = words[first[:, None] + 7 + np.arange(header_bytes // 4)]
    headers = np.ascontiguousarray(data).view(np.uint8).reshape(len(starts), header_bytes)
    captured = words[first + 5]
    headers[np.arange(header_bytes) >= captured[:, None]] = 0
    return Capture(
        links,
        words[first + 2].astype(np.int32),
        (words[first + 3].astype(np.int64) << 32) | words[first + 4].astype(np.int64),
        words[first + 6].astype(np.int64),
        headers,
    )
