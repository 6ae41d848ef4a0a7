"""What a node forges, worked out by the certificate: known answers, and what cannot be forged."""

import struct

import pytest

from gauntlet.certificate.forging import forged, swapped_ids
from gauntlet.certificate.rewriting import headers_of, repaired

CLIENT, SERVER = bytes([10, 0, 1, 1]), bytes([10, 0, 2, 1])
DESTINATION, SOURCE = bytes(range(1, 9)), bytes([9, 10, 11])


def ip(protocol: int, transport: bytes, ends: bytes = CLIENT + SERVER) -> bytes:
    """A packet over IPv4 with right checksums."""
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(transport), 7, 0x4000, 64, protocol, 0)
    return repaired(head + ends + transport)


def datagram(payload: bytes, ports: tuple[int, int] = (7, 443), ends: bytes = CLIENT + SERVER) -> bytes:
    return ip(17, struct.pack(">HHHH", *ports, 8 + len(payload), 0xFFFF) + payload, ends)


def segment(flags: int, *, window: int = 500, options: bytes = b"", payload: bytes = b"") -> bytes:
    offset = (20 + len(options)) << 2
    head = struct.pack(">HHIIBBHHH", 7, 80, 5, 1000, offset, flags, window, 0, 0)
    return ip(6, head + options + payload)


def long(first: int, version: int = 1, destination: bytes = DESTINATION) -> bytes:
    ids = bytes([len(destination)]) + destination + bytes([len(SOURCE)]) + SOURCE
    return datagram(bytes([first]) + version.to_bytes(4, "big") + ids + b"\0\x44\x50payload")


def test_an_exact_reset_has_the_number_that_its_receiver_waits_for_and_nothing_else() -> None:
    packet = segment(0x10, options=b"\1\1\1\0", payload=b"data")
    head = struct.pack(">HHIIBBHHH", 80, 7, 1000, 0, 0x50, 0x04, 0, 0, 0)
    assert forged(packet, {"action": "reset"}) == (True, ip(6, head, SERVER + CLIENT))


@pytest.mark.parametrize("guess", ["window", "any"])
def test_of_a_guess_only_whether_it_can_be_made_is_known(guess: str) -> None:
    assert forged(segment(0x10), {"action": "reset", "guess": guess}) == (True, None)


def test_a_version_negotiation_has_the_connection_ids_the_other_way_round() -> None:
    payload = b"\xc0\0\0\0\0\3" + SOURCE + b"\x08" + DESTINATION
    for versions, written in (({}, "1a2a3a4a"), ({"versions": ["00000001", "6b3343cf"]}, "000000016b3343cf")):
        expected = datagram(payload + bytes.fromhex(written), (443, 7), SERVER + CLIENT)
        assert forged(long(0xC3), {"action": "version_negotiation", **versions}) == (True, expected)


@pytest.mark.parametrize(
    ("packet", "action"),
    [
        (segment(0x02), "reset"),
        (datagram(b"no segment"), "reset"),
        (segment(0x10), "stateless_reset"),
        (long(0xC3, version=0), "version_negotiation"),
        (datagram(bytes([0x43] * 40)), "version_negotiation"),
        (datagram(b""), "version_negotiation"),
        (long(0xE3), "retry"),
        (long(0xC3, version=2), "retry"),
        (long(0xC3, destination=bytes(21)), "retry"),
        (b"no packet", "reset"),
    ],
)
def test_what_cannot_be_answered_is_known(packet: bytes, action: str) -> None:
    assert forged(packet, {"action": action}) == (False, None)


def test_no_window_gives_no_guess_within_it() -> None:
    assert forged(segment(0x10, window=1), {"action": "reset", "guess": "window"}) == (False, None)


def test_connection_ids_change_places_and_nothing_else_does() -> None:
    packet = long(0xE3)
    swapped = swapped_ids(packet)
    assert swapped is not None
    headers = headers_of(swapped)
    assert headers is not None and headers.payload_at is not None
    at = headers.payload_at + 5
    assert swapped[:at] == packet[:at]
    assert swapped[at:].startswith(b"\3" + SOURCE + b"\x08" + DESTINATION + b"\0\x44\x50")
    assert swapped_ids(swapped) == packet
    assert swapped_ids(datagram(bytes([0x43] * 40))) is None
    assert swapped_ids(segment(0x10)) is None
    cut = long(0xC3)[: 20 + 8 + 10]
    assert swapped_ids(ip(17, struct.pack(">HHHH", 7, 443, len(cut) - 20, 0) + cut[28:])) is None
