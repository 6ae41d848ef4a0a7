"""Whatever octets arrive, the decoder answers with a packet or with the first reason to drop that applies."""

import struct
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restp_decoder import DecodeError, Packet, PseudoHeader, Reason, decode, sender_faults
from restp_decoder.checks import header_check
from restp_decoder.describe import as_json, one_line
from tests.restp.document import VECTORS


def judge(datagram: bytes) -> Packet | Reason:
    try:
        return decode(datagram)
    except DecodeError as error:
        assert str(error).endswith(".")
        return error.reason


@given(st.binary(max_size=200))
def test_arbitrary_octets_raise_nothing_but_decode_error(datagram: bytes) -> None:
    judge(datagram)


@st.composite
def plausible(draw: st.DrawFn) -> bytes:
    """Base headers with a good length, zeros where they must be and a good HEC, and anything behind them."""
    version, header_words = draw(st.integers(0, 1)), draw(st.integers(3, 40))
    first = version << 28 | (header_words & 0xF) << 24 | draw(st.integers(0, 2**24 - 1)) & 0xFFFCFE
    second = draw(st.integers(0, 2**32 - 1)) & 0xFF1F00F0 | header_words >> 4 << 8
    rest = draw(st.binary(min_size=160, max_size=200) | st.integers(160, 200).map(bytes))
    datagram = bytearray(struct.pack(">2I", first, second) + rest)
    offset = 20 if version else 12
    if first & 0x20 and offset + 4 <= 4 * header_words:
        hec = header_check(bytes(datagram[: 4 * header_words]), offset, len(datagram), None)
        datagram[offset : offset + 2] = hec.to_bytes(2)
    return bytes(datagram)


@given(plausible())
def test_plausible_headers_with_arbitrary_extensions(datagram: bytes) -> None:
    header_words = (datagram[6] & 0xF) * 16 + (datagram[0] & 0xF)
    verdict = judge(datagram)
    if isinstance(verdict, Packet):
        assert verdict.header_words == header_words
        assert 4 * header_words + len(verdict.payload) + len(verdict.tag) == len(datagram)
        assert one_line(verdict)
        assert as_json(verdict)
        sender_faults(verdict)


@pytest.mark.parametrize("name", VECTORS)
def test_every_cut_of_a_vector_is_judged(name: str) -> None:
    header_bytes = 4 * (VECTORS[name][0] & 0xF)
    for length in range(len(VECTORS[name])):
        verdict = judge(VECTORS[name][:length])
        if length < 12:
            assert verdict is Reason.TOO_SHORT
        elif length < header_bytes and not name.startswith("bad_"):
            assert verdict is Reason.HEADER_BEYOND_DATAGRAM


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        # Each datagram breaks the rule of its own line and of a later one; the earlier rule is reported.
        (Reason.TOO_SHORT, "23000000 00010000 9c401f"),
        (Reason.UNKNOWN_VERSION, "22000000 00010000 9c401f90"),
        (Reason.HEADER_TOO_SMALL, "02000021 00010000 9c401f90"),
        (Reason.HEADER_BEYOND_DATAGRAM, "04000021 00010000 9c401f90"),
        (Reason.EXTENSION_CUT, "03000021 00010000 9c401f90"),
        (Reason.HEADER_CORRUPT, "04000021 00010000 9c401f90 00000000"),
        (Reason.RESERVED_BITS, "0300c001 00010000 9c401f90"),
        # PAR with FUL before a missing Protection extension, which comes before SYN with FIN.
        (Reason.CONTRADICTION, "1300c000 00010000 9c401f90"),
        (Reason.EXTENSION_CUT, "13031000 00010000 9c401f90"),
        (Reason.TAG_CUT, "15031000 00010000 9c401f90 01000000 00000000"),
        # SYN with FIN before a window that is cut.
        (Reason.CONTRADICTION, "03031000 00110000 9c401f90"),
        # Padding of the window before a cookie of no word, which comes before the ARQ extension that is cut.
        (Reason.RESERVED_BITS, "06020800 00110000 9c401f90 00000001 00000000 00000000"),
        (Reason.COOKIE_LENGTH, "04020800 00010000 9c401f90 00000000"),
        # A DSS that contradicts itself before the missing ARQ extension.
        (Reason.CONTRADICTION, "04105000 80010020 9c401f90 80000000"),
        # An ARQ extension that is cut before a vector without SAK; that before an empty hole.
        (Reason.EXTENSION_CUT, "04105008 00010000 9c401f90 00000000"),
        (Reason.VECTOR_WITHOUT_SAK, "07105008 00010000 9c401f90 00000000 00000000 00000000 80000000"),
    ],
)
def test_the_first_reason_is_reported(reason: Reason, text: str) -> None:
    assert judge(bytes.fromhex(text)) is reason


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        # Zero bits of FC one by one; MPT without MP? where nothing else is wrong.
        (Reason.RESERVED_BITS, "03000000 00210000 9c401f90"),
        (Reason.RESERVED_BITS, "03000000 00410000 9c401f90"),
        (Reason.CONTRADICTION, "08021000 00010040 9c401f90" + "00000000" * 5),
        # MP_JOIN without SYN and ACK; priority with RST.
        (Reason.CONTRADICTION, "09001000 80010080 9c401f90" + "00000000" * 6),
        (Reason.CONTRADICTION, "06141000 800100c0 9c401f90" + "00000000" * 3),
        # MP_CAPABLE without SYN, RST and ACK; MP_JOIN with RST; priority without ACK.
        (Reason.CONTRADICTION, "08001000 80010040 9c401f90" + "00000000" * 5),
        (Reason.CONTRADICTION, "0b141000 80010080 9c401f90" + "00000000" * 8),
        (Reason.CONTRADICTION, "04001000 800100c0 9c401f90 00000000"),
        # Bit B and padding of MP_CAPABLE, padding of MP_JOIN and of DSS.
        (Reason.RESERVED_BITS, "08021000 80010040 9c401f90 42000000" + "00000000" * 4),
        (Reason.RESERVED_BITS, "08021000 80010040 9c401f90 02000001" + "00000000" * 4),
        (Reason.RESERVED_BITS, "08021000 80010080 9c401f90 20000000" + "00000000" * 4),
        (Reason.RESERVED_BITS, "08021000 80010080 9c401f90 01000000" + "00000000" * 4),
        (Reason.RESERVED_BITS, "04001000 80010020 9c401f90 00010000"),
        # A length of DSS without M.
        (Reason.CONTRADICTION, "04001000 80010020 9c401f90 00000005"),
        # C of DSS beside the CRC of version 1; a DSS beside a cookie without M.
        (Reason.CONTRADICTION, "19101000 80010020 9c401f90" + "00000000" * 2 + "50000000" + "00000000" * 3),
        (Reason.CONTRADICTION, "09020800 80010020 9c401f90 c0c0c0c0" + "00000000" * 5),
        # The same with M and A, and with M and C.
        (Reason.CONTRADICTION, "09020800 80010020 9c401f90 c0c0c0c0 60000000" + "00000000" * 4),
        (Reason.CONTRADICTION, "09020800 80010020 9c401f90 c0c0c0c0 50000000" + "00000000" * 4),
        # ENC without payload and on a FIN, COR without CRC, words left over on a SYN.
        (Reason.CONTRADICTION, "04001090 00010000 9c401f90 01000001"),
        (Reason.CONTRADICTION, "06111090 00010000 9c401f90 01000001 00000000 00000000 aa"),
        (Reason.CONTRADICTION, "05101000 00010010 9c401f90 00000000 00000000"),
        (Reason.UNCLAIMED_WORDS, "07021004 00010000 9c401f90" + "00000000" * 4),
    ],
)
def test_rules_without_a_vector(reason: Reason, text: str) -> None:
    assert judge(bytes.fromhex(text)) is reason


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        # Padding of the CRC extension; C of DSS beside it.
        (Reason.RESERVED_BITS, "04000020 00010000 9c401f90 00000001"),
        (Reason.CONTRADICTION, "08001020 80010020 9c401f90 00000000 50000000" + "00000000" * 3),
    ],
)
def test_rules_behind_a_good_header_check(reason: Reason, text: str) -> None:
    datagram = bytes.fromhex(text)
    hec = header_check(datagram, 12, len(datagram), None).to_bytes(2)
    assert judge(datagram[:12] + hec + datagram[14:]) is reason


def test_a_wrong_pseudo_header_is_found() -> None:
    address = ip_address("192.0.2.9")
    with pytest.raises(DecodeError) as dropped:
        decode(VECTORS["data"], pseudo_header=PseudoHeader(address, address))
    assert dropped.value.reason is Reason.HEADER_CORRUPT
