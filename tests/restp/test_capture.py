"""ResTP is found in pcap files of every kind that is read, and everything else in them is passed over."""

import struct
from ipaddress import ip_address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restp_decoder import DecodeError, Reason, decode
from restp_decoder.capture import Captured, _ip_packet, _ip_payload, read_capture
from restp_decoder.faults import InputError
from tests.restp.document import PSEUDO_HEADERS, VECTORS

FOUR = ip_address("192.0.2.1").packed + ip_address("198.51.100.2").packed
SIX = ip_address("2001:db8::1").packed + ip_address("2001:db8::2").packed


def udp(datagram: bytes, port: int = 61253) -> bytes:
    return struct.pack(">4H", 40000, port, 8 + len(datagram), 0) + datagram


def ipv4(octets: bytes, protocol: int = 17, fragment: int = 0, options: bytes = b"") -> bytes:
    head = 20 + len(options)
    return (
        struct.pack(">2B3H2BH", 0x40 | head // 4, 0, head + len(octets), 1, fragment, 64, protocol, 0)
        + FOUR
        + options
        + octets
    )


def ipv6(octets: bytes, following: int = 17) -> bytes:
    return struct.pack(">IH2B", 6 << 28, len(octets), following, 64) + SIX + octets


def ethernet(packet: bytes, kind: int = 0x0800, tags: bytes = b"") -> bytes:
    return bytes(12) + tags + kind.to_bytes(2) + packet + bytes(max(0, 46 - len(packet)))


def write(path: Path, link: int, *frames: bytes, order: str = "<", magic: int = 0xA1B2C3D4) -> Path:
    octets = struct.pack(f"{order}I2H4I", magic, 2, 4, 0, 0, 65535, link)
    for frame in frames:
        octets += struct.pack(f"{order}4I", 1700000000, 5, len(frame), len(frame)) + frame
    path.write_bytes(octets)
    return path


def found(path: Path) -> list[Captured]:
    return list(read_capture(path))


DATA = VECTORS["data"]


@pytest.mark.parametrize(
    ("link", "frame"),
    [
        (1, ethernet(ipv4(udp(DATA)))),
        (1, ethernet(ipv4(udp(DATA)), tags=bytes.fromhex("8100 0005"))),
        (1, ethernet(ipv6(udp(DATA)), kind=0x86DD)),
        (101, ipv4(udp(DATA), options=bytes(8))),
        (229, ipv6(bytes.fromhex("11 00") + bytes(6) + udp(DATA), following=60)),
        (113, bytes(14) + bytes.fromhex("0800") + ipv4(udp(DATA))),
        (276, bytes.fromhex("0800") + bytes(18) + ipv4(udp(DATA))),
    ],
)
def test_datagrams_inside_udp(tmp_path: Path, link: int, frame: bytes) -> None:
    (captured,) = found(write(tmp_path / "a.pcap", link, frame))
    assert captured.datagram == DATA
    assert captured.pseudo_header is None
    assert captured.destination.endswith(" port 61253")


def test_datagrams_directly_over_ip_bring_their_pseudo_header(tmp_path: Path) -> None:
    four, six = VECTORS["datagram_crc_ipv4"], VECTORS["datagram_crc_ipv6"]
    path = write(tmp_path / "a.pcap", 101, ipv4(four, protocol=253), ipv6(six, following=253))
    captured = found(path)
    assert [one.pseudo_header for one in captured] == list(PSEUDO_HEADERS.values())
    for one in captured:
        assert one.datagram is not None
        assert decode(one.datagram, pseudo_header=one.pseudo_header).payload == b"hello, world"


def test_short_frames_are_freed_of_their_padding(tmp_path: Path) -> None:
    (captured,) = found(write(tmp_path / "a.pcap", 1, ethernet(ipv4(udp(VECTORS["datagram_empty"])))))
    assert captured.datagram == VECTORS["datagram_empty"]


@pytest.mark.parametrize(
    ("order", "magic", "time_ns"),
    [
        ("<", 0xA1B2C3D4, 1_700_000_000_000_005_000),
        (">", 0xA1B2C3D4, 1_700_000_000_000_005_000),
        (">", 0xA1B23C4D, 1_700_000_000_000_000_005),
    ],
)
def test_times_and_numbers(tmp_path: Path, order: str, magic: int, time_ns: int) -> None:
    other = ipv4(udp(DATA, port=53))
    path = write(tmp_path / "a.pcap", 101, other, b"", ipv4(udp(DATA)), order=order, magic=magic)
    (captured,) = found(path)
    assert (captured.number, captured.time_ns) == (3, time_ns)


def test_parts_of_datagrams_are_named_and_not_given(tmp_path: Path) -> None:
    fragment = ipv4(udp(DATA), fragment=0x2000)
    sixth = ipv6(bytes.fromhex("fd 00 00 01 00 00 00 01") + DATA, following=44)
    path = write(tmp_path / "a.pcap", 101, fragment, sixth, ipv4(udp(DATA))[:-5])
    captured = found(path)
    assert [one.datagram for one in captured] == [None] * 3
    assert [one.incomplete for one in captured] == [
        "a fragment of an IP packet",
        "a fragment of an IP packet",
        f"cut by the capture to {len(DATA) - 5} of {len(DATA)} octets",
    ]


@pytest.mark.parametrize(
    ("octets", "words"),
    [
        (b"", "no pcap file"),
        (bytes.fromhex("0a0d0d0a") + bytes(28), "no pcap file"),
        (struct.pack("<I2H4I", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 105), "link type 105"),
        (struct.pack("<I2H4I", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + bytes(15), "head of frame 1"),
        (struct.pack("<I2H8I", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1, 0, 0, 9, 9) + bytes(8), "inside frame 1"),
    ],
)
def test_what_is_no_pcap_is_refused_in_a_sentence(tmp_path: Path, octets: bytes, words: str) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(octets)
    with pytest.raises(InputError, match=words):
        found(path)


def test_a_missing_file_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        found(tmp_path / "none.pcap")


@given(st.sampled_from([1, 101, 113, 276]), st.sampled_from([b"", b"\x45", b"\x60"]), st.binary(max_size=90))
def test_arbitrary_frames_do_no_harm(link: int, start: bytes, rest: bytes) -> None:
    payload = _ip_payload(_ip_packet(start + rest, link))
    assert payload is None or len(payload.octets) <= len(rest)


def test_a_wrong_protocol_number_spoils_the_header_check(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pcap", 101, ipv4(VECTORS["datagram_crc_ipv4"], protocol=254))
    assert found(path) == []
    (captured,) = read_capture(path, protocol=254)
    assert captured.datagram is not None
    with pytest.raises(DecodeError) as dropped:
        decode(captured.datagram, pseudo_header=captured.pseudo_header)
    assert dropped.value.reason is Reason.HEADER_CORRUPT
