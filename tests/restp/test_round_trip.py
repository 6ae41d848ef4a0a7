"""What is written is read again, what is read is written again, and what cannot be said is refused."""

from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from restp_decoder import (
    DecodeError,
    EncodeError,
    Packet,
    PayloadCheck,
    PseudoHeader,
    Reason,
    decode,
    encode,
)
from restp_decoder.extensions import Arq, Cookie, Protection, Sack, Snack, Window
from restp_decoder.header import Flags
from tests.restp.document import VECTORS
from tests.restp.strategies import packets

PSEUDO_HEADERS = st.none() | st.one_of(
    st.builds(PseudoHeader, st.ip_addresses(v=4), st.ip_addresses(v=4), st.integers(0, 255)),
    st.builds(PseudoHeader, st.ip_addresses(v=6), st.ip_addresses(v=6), st.integers(0, 255)),
)


@given(packets(), PSEUDO_HEADERS)
def test_written_packets_are_read_again(packet: Packet, pseudo_header: PseudoHeader | None) -> None:
    datagram = encode(packet, pseudo_header=pseudo_header)
    read = decode(datagram, pseudo_header=pseudo_header)
    assert read == packet
    checked = (packet.crc and packet.payload + packet.tag) or (packet.dss and packet.dss.checked)
    assert read.payload_check is (PayloadCheck.GOOD if checked else PayloadCheck.ABSENT)
    assert len(datagram) == 4 * packet.header_words + len(packet.payload) + len(packet.tag)


@given(packets(), st.data())
def test_every_accepted_header_has_one_spelling(packet: Packet, data: st.DataObject) -> None:
    datagram = bytearray(encode(packet))
    place = data.draw(st.integers(0, len(datagram) - 1))
    datagram[place] ^= data.draw(st.integers(1, 0xFF))
    try:
        changed = decode(bytes(datagram))
    except DecodeError:
        return
    if changed.payload_check is not PayloadCheck.CORRUPT:
        assert encode(changed) == bytes(datagram)


@given(packets(), st.data())
def test_every_burst_of_16_bits_in_a_checked_header_is_found(packet: Packet, data: st.DataObject) -> None:
    # A CRC finds all bursts no longer than itself, wherever the bits lie.
    datagram = bytearray(encode(packet))
    if packet.crc is None:
        return
    # Bits that say how long the header is and where its check stands are not protected by it.
    place = data.draw(st.integers(8, 4 * packet.header_words - 2))
    burst = data.draw(st.integers(1, 0xFFFF))
    datagram[place] ^= burst >> 8
    datagram[place + 1] ^= burst & 0xFF
    with pytest.raises(DecodeError) as dropped:
        decode(bytes(datagram))
    # Damage to the epoch may make a packet claim a tag that it has no room for; that is seen before the HEC.
    assert dropped.value.reason in {Reason.HEADER_CORRUPT, Reason.TAG_CUT}


@given(st.binary(min_size=1, max_size=30), st.data())
def test_a_corrupt_payload_is_reported_and_not_dropped(payload: bytes, data: st.DataObject) -> None:
    for name in ("datagram_crc", "mp_data_dss_crc", "protected_syn"):
        packet = replace(decode(VECTORS[name]), payload=payload)
        datagram = bytearray(encode(packet))
        datagram[data.draw(st.integers(4 * packet.header_words, len(datagram) - 1))] ^= 1
        corrupt = decode(bytes(datagram))
        assert corrupt.payload_check is PayloadCheck.CORRUPT
        assert corrupt.header == packet.header


CLEAR = decode(VECTORS["ack"])


@pytest.mark.parametrize(
    ("packet", "words"),
    [
        (replace(CLEAR, window=None), "drop"),
        (replace(CLEAR, cookie=Cookie(b"1234")), "drop"),
        (replace(CLEAR, cookie=Cookie(b"123")), "whole words"),
        (replace(CLEAR, window=Window(0x10000)), "32 bits"),
        (replace(CLEAR, numbers=Arq(-1, 0)), "32 bits"),
        (replace(CLEAR, report=Snack(0, 1)), "drop"),
        (replace(CLEAR, report=Sack(((1, 2),) * 130)), "header's length"),
        (replace(CLEAR, protection=Protection(1, 0, 0)), "drop"),
        (replace(CLEAR, tag=bytes(16)), "drop"),
        (replace(CLEAR, header=replace(CLEAR.header, k=16)), "k is 16"),
        (replace(CLEAR, header=replace(CLEAR.header, source_port=1 << 16)), "Source port"),
        (replace(CLEAR, header=replace(CLEAR.header, version=2)), "version is 2"),
        (replace(CLEAR, header=replace(CLEAR.header, flags=Flags.SYN | Flags.FIN)), "At most one"),
        (replace(decode(VECTORS["protected_ack"]), protection=Protection(1, 256, 0)), "another packet"),
    ],
)
def test_what_cannot_be_said_is_refused(packet: Packet, words: str) -> None:
    with pytest.raises(EncodeError, match=words):
        encode(packet)


@given(
    st.integers(0, 0xFFFFFFFF), st.integers(0, 200), st.integers(1, 200), st.lists(st.booleans(), max_size=96)
)
@example(acknowledgement=0xFFFFFFFF, offset=0, size=1, received=[True, False, True])
def test_a_snack_reports_hole_1_and_the_zeros_before_the_last_1(
    acknowledgement: int, offset: int, size: int, received: list[bool]
) -> None:
    text = "".join("1" if bit else "0" for bit in received)
    vector = tuple(int(text[start : start + 32].ljust(32, "0"), 2) for start in range(0, len(text), 32))
    start = acknowledgement + offset
    expected = set(range(start, start + size))
    last = max((place for place, bit in enumerate(received) if bit), default=0)
    expected |= {start + size + place for place in range(last) if not received[place]}
    missing = Snack(offset, size, vector).missing(acknowledgement)
    assert sorted(missing) == sorted(number % 2**32 for number in expected)


def test_a_pseudo_header_has_one_family_and_a_protocol_of_one_octet() -> None:
    four, six = IPv4Address("192.0.2.1"), IPv6Address("2001:db8::1")
    with pytest.raises(ValueError, match="both must be IPv4 or both IPv6"):
        PseudoHeader(four, six)
    with pytest.raises(ValueError, match="0 to 255"):
        PseudoHeader(four, four, 256)


def test_a_pseudo_header_is_laid_out_as_drawn() -> None:
    four = PseudoHeader(IPv4Address("192.0.2.1"), IPv4Address("198.51.100.2"), 253)
    assert four.octets(0x1234) == bytes.fromhex("c0000201 c6336402 00 fd 1234")
    six = PseudoHeader(IPv6Address("2001:db8::1"), IPv6Address("2001:db8::2"), 253)
    addresses = ip_address("2001:db8::1").packed + ip_address("2001:db8::2").packed
    assert six.octets(0x12345) == addresses + bytes.fromhex("00012345 000000 fd")
