"""The packets of a run (packets.bin of docs/formats/record.md) as a pcapng file for Wireshark and its kin.

Raw IP packets, one interface a tap named by its link, instants in nanoseconds of virtual time since the start
of the run, packets sorted by instant. Where the run kept the secrets of its sessions they are in the file
too, so that Wireshark shows what TLS and QUIC carried. Block layouts: draft-ietf-opsawg-pcapng, sections 4.1,
4.2, 4.3 and 4.7.
"""

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gauntlet import __version__
from gauntlet.errors import RunError, UserError
from gauntlet.results.checksums import completed
from gauntlet.results.files import read_json
from gauntlet.results.layout import KEYS

CAPTURE_BYTES = {"headers": 112, "full": 1584}
"""Bytes kept of each packet under each setting of the plan's `record.packets` (docs/formats/record.md)."""

_LINKTYPE_RAW = 101
_BYTE_ORDER_MAGIC = 0x1A2B3C4D
_SECTION, INTERFACE, PACKET, _SECRETS = 0x0A0D0D0A, 1, 6, 10
_TLS_KEY_LOG = 0x544C534B
_OPT_END, _OPT_IF_NAME, _OPT_IF_TSRESOL, _OPT_SHB_APPLICATION = 0, 2, 9, 4
_NANOSECONDS = 9
_OPTIONS_AT = 16
"""Where the options of an interface's block begin."""
_PACKETS_PER_CHUNK = 1 << 17
_PACKET_OVERHEAD_WORDS = 8


def packet_type(packets: str) -> np.dtype[np.void]:
    """The layout of one record of packets.bin under a setting of the plan's `record.packets`."""
    return np.dtype(
        [
            ("t_ns", "<i8"),
            ("tap", "<u2"),
            ("captured_bytes", "<u2"),
            ("size_bytes", "<u4"),
            ("data", "u1", (CAPTURE_BYTES[packets],)),
        ]
    )


def convert(record_dir: Path, plan_run: Mapping[str, Any], target: Path) -> int:
    """Write the packets of a record as pcapng and return how many there are.

    Raises UserError when the plan asked for no packets, RunError when the capture is damaged.
    """
    packets = plan_run.get("record", {}).get("packets", "none")
    if packets not in CAPTURE_BYTES:
        raise UserError(
            f"run {plan_run.get('id')} kept no packets; set `packets` to 'headers' or 'full' in [record] "
            "and run it"
        )
    record = read_json(record_dir / "record.json", "the record")
    source = record_dir / "packets.bin"
    layout = packet_type(packets)
    size_bytes = source.stat().st_size if source.exists() else 0
    if size_bytes % layout.itemsize:
        raise RunError(
            f"the capture {source} is damaged: {size_bytes} bytes are not a whole number of "
            f"{layout.itemsize}-byte records"
        )
    rows: npt.NDArray[np.void] = (
        np.memmap(source, dtype=layout, mode="r") if size_bytes else np.empty(0, dtype=layout)
    )
    links = {int(tap["tap"]): str(tap["link"]) for tap in record.get("taps", [])}
    unknown = set(np.unique(rows["tap"]).tolist()) - set(links)
    if unknown:
        raise RunError(
            f"the capture {source} is damaged: it has packets of tap {min(unknown)}, which the record lacks"
        )
    taps = sorted(links)
    interface_of_tap = np.zeros(max(taps, default=0) + 1, dtype=np.uint32)
    interface_of_tap[taps] = np.arange(len(taps), dtype=np.uint32)

    order = np.argsort(rows["t_ns"], kind="stable")
    with target.open("wb") as out:
        out.write(_section_header())
        for tap in taps:
            out.write(_interface(links[tap], CAPTURE_BYTES[packets]))
        keys = record_dir / KEYS
        if keys.exists():
            out.write(_secrets(keys.read_bytes()))
        for start in range(0, len(order), _PACKETS_PER_CHUNK):
            chunk = rows[order[start : start + _PACKETS_PER_CHUNK]]
            if packets == "full":
                chunk["data"] = completed(chunk["data"], chunk["size_bytes"].astype(np.int64))
            out.write(_packets(chunk, interface_of_tap[chunk["tap"]]).tobytes())
    return len(rows)


def _packets(rows: npt.NDArray[np.void], interfaces: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Enhanced packet blocks as 32-bit words: all fields of all blocks are placed at once."""
    captured = np.minimum(rows["captured_bytes"].astype(np.int64), rows["data"].shape[1])
    data_words = (captured + 3) // 4
    block_words = data_words + _PACKET_OVERHEAD_WORDS
    ends = np.cumsum(block_words)
    starts = ends - block_words
    t_ns = rows["t_ns"].astype(np.uint64)

    words = np.zeros(int(ends[-1]) if len(rows) else 0, dtype="<u4")
    words[starts] = PACKET
    words[starts + 1] = words[ends - 1] = block_words * 4
    words[starts + 2] = interfaces
    words[starts + 3] = t_ns >> np.uint64(32)
    words[starts + 4] = t_ns & np.uint64(0xFFFFFFFF)
    words[starts + 5] = captured
    words[starts + 6] = rows["size_bytes"]
    data = np.ascontiguousarray(rows["data"]).view("<u4")
    for count in np.unique(data_words):
        same = np.flatnonzero(data_words == count)
        words[(starts[same] + 7)[:, None] + np.arange(count)] = data[same, :count]
    return words


def _section_header() -> bytes:
    body = struct.pack("<IHHq", _BYTE_ORDER_MAGIC, 1, 0, -1)
    return _block(_SECTION, body + _options([(_OPT_SHB_APPLICATION, f"gauntlet {__version__}".encode())]))


def interface_name(block: bytes) -> str:
    """The name in an interface's block: its first option."""
    _, length = struct.unpack_from("<HH", block, _OPTIONS_AT)
    return block[_OPTIONS_AT + 4 : _OPTIONS_AT + 4 + length].decode()


def _interface(link: str, capture_bytes: int) -> bytes:
    body = struct.pack("<HHI", _LINKTYPE_RAW, 0, capture_bytes)
    return _block(
        INTERFACE, body + _options([(_OPT_IF_NAME, link.encode()), (_OPT_IF_TSRESOL, bytes([_NANOSECONDS]))])
    )


def _secrets(key_log: bytes) -> bytes:
    padded = key_log + b"\0" * (-len(key_log) % 4)
    return _block(_SECRETS, struct.pack("<II", _TLS_KEY_LOG, len(key_log)) + padded)


def _options(options: list[tuple[int, bytes]]) -> bytes:
    parts = [
        struct.pack("<HH", code, len(value)) + value + b"\0" * (-len(value) % 4) for code, value in options
    ]
    return b"".join(parts) + struct.pack("<HH", _OPT_END, 0)


def _block(kind: int, body: bytes) -> bytes:
    length = len(body) + 12
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)
