"""What a tap shows of a flow's bytes: each counted once, and readable when all before it had arrived."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.certificate.arrivals import NEVER, Arrivals, Stretches, arrivals
from gauntlet.certificate.payloads import Ports, read_payloads
from gauntlet.certificate.seen import Claims

ENDS = ("10.0.1.1", "10.0.2.1")
PORTS = Ports(40000, 5000)
WIDTH = 88
"""Captured bytes of an inner packet."""


def ip(protocol: int, content: bytes, *, ends: tuple[str, str] = ENDS, fragment: int = 0) -> bytes:
    source, destination = (ipaddress.ip_address(end) for end in ends)
    if source.version == 6:
        header = struct.pack(">IHBB", 0x6000_0000, len(content), protocol, 64)
    else:
        header = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(content), 0, fragment, 64, protocol, 0)
    return header + source.packed + destination.packed + content


def tcp(
    sequence: int,
    size: int,
    *,
    syn: bool = False,
    options: int = 12,
    ports: tuple[int, int] = (40000, 5000),
    **ends: Any,
) -> bytes:
    words = (20 + options) // 4
    header = struct.pack(">HHIIBB", *ports, sequence % 2**32, 0, words << 4, 0x02 if syn else 0x10)
    return ip(6, header.ljust(words * 4, b"\0") + bytes(size), **ends)


def udp(number: int, size: int, *, ports: tuple[int, int] = (40000, 5000), **ends: Any) -> bytes:
    return ip(
        17, struct.pack(">HHHH", *ports, 8 + size, 0) + struct.pack("<I", number).ljust(size, b"\0"), **ends
    )


def rtp(number: int, size: int) -> bytes:
    """A datagram with a packet of RTP, `size` bytes with its header."""
    header = struct.pack(">BBHII", 0x80, 96, number % 2**16, number * 3600 % 2**32, 7)
    return ip(17, struct.pack(">HHHH", 40000, 5000, 8 + size, 0) + header.ljust(size, b"\0"))


def data_chunk(tsn: int, size: int) -> bytes:
    return (struct.pack(">BBHIHHI", 0, 3, 16 + size, tsn % 2**32, 0, 0, 0) + bytes(size)).ljust(
        (16 + size + 3) // 4 * 4, b"\0"
    )


def sctp(*chunks: bytes, ports: tuple[int, int] = (40000, 5000)) -> bytes:
    return ip(132, struct.pack(">HHII", *ports, 1, 0) + b"".join(chunks))


def restp(size: int, *, ports: tuple[int, int] = (40000, 5000)) -> bytes:
    """The start of a base header (docs/restp-spec.md, chapter 2), and what follows it."""
    return ip(253, struct.pack(">QHH", 0, *ports) + bytes(size))


SACK = struct.pack(">BBHIIHH", 3, 0, 16, 0, 0, 0, 0)


def seen(
    packets: Sequence[bytes],
    *,
    ports: Ports = PORTS,
    numbered: bool = False,
    damaged: bool = False,
    way: Sequence[int] | None = None,
    every_ns: int = 1000,
    rtp: bool = False,
) -> Arrivals:
    """Arrivals of packets that came one after the other, a microsecond apart."""
    rows = np.zeros((len(packets), WIDTH), np.uint8)
    for row, packet in zip(rows, packets, strict=True):
        kept = packet[:WIDTH]
        row[: len(kept)] = np.frombuffer(kept, np.uint8)
    ways = np.zeros(len(packets), np.int64) if way is None else np.array(way)
    payloads = read_payloads(rows, ways, ports, rtp=rtp)
    times_ns = np.arange(len(packets)) * every_ns
    return arrivals(payloads, times_ns, numbered_datagrams=numbered, damaged=damaged)


def stream(found: Arrivals) -> Stretches:
    """The bytes in their order, which have to be known."""
    assert found.stream is not None
    return found.stream


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 25)), min_size=1, max_size=30),
)
def test_bytes_of_a_stream_count_once_and_wait_for_those_before_them(
    first: int, segments: list[tuple[int, int]]
) -> None:
    found = seen([tcp(first, 0, syn=True), *(tcp(first + 1 + start, size) for start, size in segments)])
    came: dict[int, int] = {}
    for number, (start, size) in enumerate(segments):
        for byte in range(start, start + size):
            came.setdefault(byte, (number + 1) * 1000)
    assert found.total_bytes == len(came)
    counts = np.arange(1, 90)
    readable = [max((came.get(byte, NEVER) for byte in range(count)), default=0) for count in counts]
    assert stream(found).readable_ns(counts).tolist() == readable
    sums = np.cumsum(found.new_bytes)
    for instant in set(came.values()):
        arrived = sum(at <= instant for at in came.values())
        assert sums[np.searchsorted(found.time_ns, instant, side="right") - 1] == arrived


def test_data_of_a_syn_are_the_first_of_the_stream() -> None:
    found = seen([tcp(7, 500, syn=True), tcp(8 + 500, 100)])
    assert stream(found).readable_ns(np.array([1, 500, 501, 600, 601])).tolist() == [0, 0, 1000, 1000, NEVER]


def test_a_stream_without_its_first_packet_is_only_summed() -> None:
    found = seen([tcp(5000, 100), tcp(5100, 100), tcp(5000, 100)])
    assert found.stream is None
    assert found.total_bytes == 200


def test_sessions_and_ways_have_bytes_of_their_own() -> None:
    assert seen([tcp(1, 100), tcp(1, 100, ports=(40001, 5000))], ports=Ports(None, 5000)).total_bytes == 200
    assert seen([tcp(1, 100), tcp(1, 100)], way=[0, 1]).total_bytes == 200


def test_only_of_a_sender_that_opens_further_sessions_any_port_counts() -> None:
    told = {"source": "10.0.1.1:40000", "destination": "10.0.2.1:5000"}
    of_one = Claims(told, {"stack": "tls", "app_params": {}}, None, None)
    of_further = Claims(told, {"stack": "tls", "app_params": {"reopen_after_s": 1.0}}, None, None)
    assert (of_one.ports, of_further.ports) == (PORTS, Ports(None, 5000))


@pytest.mark.parametrize("ports", [(40001, 5000), (40000, 5001), (5000, 40000)])
def test_other_flows_are_left_out(ports: tuple[int, int]) -> None:
    packets = [tcp(1, 100, ports=ports), udp(1, 100, ports=ports), restp(100, ports=ports)]
    assert seen(packets).total_bytes == 0


def test_restp_over_ip_has_its_ports_behind_flags_and_lengths() -> None:
    found = seen([tcp(1, 100, ports=(40001, 5000)), restp(100), restp(60, ports=(40001, 5000))])
    assert found.total_bytes == 12 + 100


def test_ipv6_has_its_header_elsewhere() -> None:
    ends = ("fd00::1", "fd00::2")
    found = seen([tcp(1, 0, syn=True, ends=ends), tcp(2, 100, ends=ends), udp(3, 50, ends=ends)])
    assert found.total_bytes == 150


def test_numbered_datagrams_are_known_by_their_number() -> None:
    found = seen([udp(5, 100), udp(4, 100), udp(5, 100), udp(9, 100)], numbered=True)
    assert found.total_bytes == 300
    assert found.datagram_ns(np.array([4, 5, 6, 9])).tolist() == [1000, 0, NEVER, 3000]


def test_packets_of_rtp_are_known_beyond_the_sixteen_bits_of_their_numbers() -> None:
    # The 16 bits begin anew twice. Packets change places there, and one comes twice.
    numbers = [0, 30_000, 60_000, 65_536, 65_535, 65_536, 90_000, 120_000, 131_071, 131_073, 131_072]
    found = seen([rtp(number, 112) for number in numbers], numbered=True, rtp=True)
    assert found.total_bytes == 112 * 10
    places = np.array([0, 65_535, 65_536, 131_071, 131_072, 131_073, 1])
    assert found.datagram_ns(places).tolist() == [0, 4000, 3000, 8000, 10_000, 9000, NEVER]


def test_which_flows_carry_rtp_and_which_give_messages_up() -> None:
    def claims(stack: str, app: str, app_params: dict[str, Any], **stack_params: Any) -> Claims:
        planned = {"stack": stack, "app": app, "app_params": app_params, "stack_params": stack_params}
        return Claims({}, planned, None, None)

    assert claims("udp", "video", {}).rtp and claims("udp", "voip", {"codec": "g711"}).rtp
    assert not claims("udp", "voip", {"duration_s": 1.0}).rtp
    reliable, partial = claims("sctp", "cbr", {}), claims("sctp", "cbr", {}, lifetime_s=0.16)
    assert (reliable.partial, reliable.in_order) == (False, True)
    assert (partial.partial, partial.in_order) == (True, False)


def test_other_datagrams_are_summed_with_their_repetitions() -> None:
    found = seen([udp(5, 100), udp(5, 100)])
    assert (found.total_bytes, found.datagrams) == (200, None)


def test_fragments_count_as_what_may_be_payload() -> None:
    first = udp(5, 100, fragment=0x2000)
    found = seen([first, ip(17, bytes(60), fragment=0x0010)], numbered=True)
    assert found.total_bytes == found.unread_bytes == 108 + 60
    assert found.datagrams is None


def test_chunks_stand_in_the_order_of_their_numbers() -> None:
    found = seen([sctp(data_chunk(2**32 - 1, 30)), sctp(data_chunk(1, 20)), sctp(SACK, data_chunk(0, 10))])
    assert found.total_bytes == 60
    assert stream(found).readable_ns(np.array([30, 31, 40, 60, 61])).tolist() == [0, 2000, 2000, 2000, NEVER]


def test_behind_a_chunk_that_never_came_nothing_can_be_read() -> None:
    found = seen([sctp(data_chunk(5, 30)), sctp(data_chunk(7, 20)), sctp(data_chunk(5, 30))])
    assert found.total_bytes == 50
    assert stream(found).readable_ns(np.array([30, 31])).tolist() == [0, NEVER]


def test_chunks_behind_the_captured_part_are_the_most_they_can_be() -> None:
    found = seen([sctp(data_chunk(1, 100), data_chunk(2, 40), data_chunk(3, 41))])
    # The second chunk and the third begin behind the captured bytes: all but one header may be payload.
    assert found.total_bytes == 100 + (16 + 40) + (16 + 44) - 16
    assert found.unread_bytes == found.total_bytes - 100
    assert found.stream is None


def test_chunks_with_damaged_numbers_are_only_summed() -> None:
    packets = [sctp(data_chunk(5, 30)), sctp(data_chunk(5 ^ (1 << 20), 20)), sctp(data_chunk(6, 20))]
    found = seen(packets, damaged=True)
    assert found.stream is None
    assert found.total_bytes == 70


@pytest.mark.parametrize("bit", [0, 10, 20, 31])
def test_damaged_numbers_of_bytes_take_none_away(bit: int) -> None:
    whole = [tcp(9, 0, syn=True), *(tcp(10 + 100 * k, 100) for k in range(20))]
    damaged = tcp((10 + 100 * 7) ^ (1 << bit), 100)
    found = seen([*whole[:8], damaged, *whole[8:]], damaged=True)
    counts = np.arange(1, 2001)
    honest = np.concatenate((1 + np.arange(700) // 100, 9 + np.arange(1300) // 100)) * 1000
    assert (stream(found).readable_ns(counts) <= honest).all()


def test_a_damaged_segment_that_looks_like_an_opening_leaves_only_sums() -> None:
    found = seen([tcp(9, 0, syn=True), tcp(10, 100), tcp(110, 100, syn=True), tcp(110, 100)], damaged=True)
    assert found.stream is None
    assert found.total_bytes >= 200
