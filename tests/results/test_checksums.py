"""Checksums that a host left to its card are filled in, and no other is touched."""

import struct

import numpy as np
import pytest

from gauntlet.results.checksums import completed

SOURCE, TARGET = bytes([10, 0, 1, 1]), bytes([10, 0, 2, 1])
ROOM = 200


def ones(data: bytes) -> int:
    """The Internet checksum before its complement (RFC 1071)."""
    total: int = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def packet(protocol: int, payload: bytes, checksum: str, options: bytes = b"", fragment: int = 0) -> bytes:
    """TCP or UDP with a checksum that is left to the card, whole, or wrong."""
    head = (
        struct.pack("!HHIIBBHHH", 1, 2, 3, 4, 0x50, 16, 5, 0, 0)
        if protocol == 6
        else struct.pack("!HHHH", 1, 2, 8 + len(payload), 0)
    )
    pseudo = SOURCE + TARGET + struct.pack("!BBH", 0, protocol, len(head) + len(payload))
    whole = ~ones(pseudo + head + payload) & 0xFFFF
    value = {"left": ones(pseudo), "whole": whole or 0xFFFF, "wrong": whole ^ 0x0101}[checksum]
    at = 16 if protocol == 6 else 6
    body = head[:at] + struct.pack("!H", value) + head[at + 2 :] + payload
    length = 20 + len(options)
    return (
        struct.pack(
            "!BBHHHBBH4s4s",
            0x40 | length // 4,
            0,
            length + len(body),
            7,
            fragment,
            64,
            protocol,
            0,
            SOURCE,
            TARGET,
        )
        + options
        + body
    )


def tunnelled(inner: bytes) -> bytes:
    outer = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 24 + len(inner), 7, 0, 64, 47, 0, TARGET, SOURCE)
    return outer + struct.pack("!HH", 0, 0x0800) + inner


def after(*packets: bytes) -> list[bytes]:
    rows = np.zeros((len(packets), ROOM), np.uint8)
    for row, it in zip(rows, packets, strict=True):
        row[: min(len(it), ROOM)] = np.frombuffer(it[:ROOM], np.uint8)
    found = completed(rows, np.array([len(it) for it in packets]))
    return [row.tobytes()[: len(it)] for row, it in zip(found, packets, strict=True)]


@pytest.mark.parametrize("protocol", [6, 17])
@pytest.mark.parametrize("payload", [b"", b"odd", b"even", bytes(range(100))])
@pytest.mark.parametrize("options", [b"", b"\1\1\1\0"])
def test_a_checksum_that_was_left_is_whole(protocol: int, payload: bytes, options: bytes) -> None:
    left, whole = (packet(protocol, payload, it, options) for it in ("left", "whole"))
    assert after(left, tunnelled(left), whole) == [whole, tunnelled(whole), whole]


@pytest.mark.parametrize("protocol", [6, 17])
def test_any_other_packet_stays_as_it_is(protocol: int) -> None:
    wrong = packet(protocol, b"damaged", "wrong")
    fragment = packet(protocol, b"first part", "left", fragment=0x2000)
    too_long = packet(protocol, bytes(ROOM), "left")
    other = packet(132, b"sctp", "left")
    kept = [wrong, tunnelled(wrong), fragment, too_long[:ROOM], other]
    found = after(wrong, tunnelled(wrong), fragment, too_long, other)
    assert [it[:ROOM] for it in found] == kept
