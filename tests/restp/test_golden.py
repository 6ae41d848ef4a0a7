"""Every golden vector of the specification is read as its caption says, and written again octet by octet."""

import re

import pytest

from restp_decoder import DecodeError, Packet, PayloadCheck, Reason, decode, encode
from restp_decoder.extensions import Arq, Cookie, Fec, Protection, Sack, Seq, Snack, Window
from restp_decoder.header import Error, Flags, Flow, Order, PathMessage, Paths, Sched
from restp_decoder.paths import Dss, JoinAck, JoinSyn, JoinSynAck, Mapping, MpCapable, Priority, Role
from tests.restp.document import CAPTIONS, DROPS, PSEUDO_HEADERS, REASONS, ROW_WORDS, VECTORS

GOOD = [name for name in VECTORS if not name.startswith("bad_")]


def read(name: str) -> Packet:
    return decode(VECTORS[name], pseudo_header=PSEUDO_HEADERS.get(name))


def test_the_document_has_vectors_of_both_kinds() -> None:
    assert len(GOOD) > 50
    assert {name for name in VECTORS if name.startswith("bad_")} == set(DROPS)
    assert len(PSEUDO_HEADERS) == 2


def test_reasons_are_those_of_the_document() -> None:
    assert {str(reason) for reason in Reason} == REASONS


@pytest.mark.parametrize("name", DROPS)
def test_bad_vectors_are_dropped_for_their_reason(name: str) -> None:
    with pytest.raises(DecodeError) as dropped:
        decode(VECTORS[name])
    assert dropped.value.reason == DROPS[name], CAPTIONS[name]


@pytest.mark.parametrize("name", GOOD)
def test_good_vectors_survive_the_round_trip(name: str) -> None:
    packet = read(name)
    if name == "payload_corrupt":
        assert packet.payload_check is PayloadCheck.CORRUPT
        return
    assert packet.payload_check is not PayloadCheck.CORRUPT
    assert encode(packet, pseudo_header=PSEUDO_HEADERS.get(name)) == VECTORS[name]


@pytest.mark.parametrize("name", PSEUDO_HEADERS)
def test_the_pseudo_header_counts(name: str) -> None:
    with pytest.raises(DecodeError) as dropped:
        decode(VECTORS[name])
    assert dropped.value.reason is Reason.HEADER_CORRUPT


def test_headers_have_the_sizes_of_the_table() -> None:
    rows = {
        int(row): name for name, caption in CAPTIONS.items() for row in re.findall(r"\brow (\d+)", caption)
    }
    rows_in_table = range(1, len(ROW_WORDS) + 1)
    assert sorted(rows) == list(rows_in_table)
    assert [read(rows[row]).header_words for row in rows_in_table] == ROW_WORDS


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("f4_nack_after_14", (10, 11, 12, 13)),
        ("f4_snack_after_17", (10, 11, 12, 13, 16)),
        ("snack_offset", (0xFFFFFFFB, 0xFFFFFFFC, 0xFFFFFFFE)),
        ("snack_nothing_missing", ()),
    ],
)
def test_missing_numbers(name: str, missing: tuple[int, ...]) -> None:
    assert read(name).missing == missing


@pytest.mark.parametrize(
    ("name", "report"),
    [
        ("f4_sack_after_14", Sack(((14, 14),))),
        ("f4_sack_after_15", Sack(((14, 15),))),
        ("f4_sack_after_17", Sack(((17, 17), (14, 15)))),
        ("f4_nack_after_14", Snack(0, 4)),
        ("f4_snack_after_17", Snack(0, 4, (0xD0000000,))),
        ("snack_nothing_missing", None),
    ],
)
def test_the_example_of_chapter_10(name: str, report: Sack | Snack | None) -> None:
    assert read(name).report == report


def test_a_datagram_has_nothing_but_ports_and_payload() -> None:
    packet = read("datagram")
    assert packet.extensions == ()
    assert (packet.header.source_port, packet.header.destination_port) == (40000, 8080)
    assert packet.payload == b"hello, world"


def test_a_handshake() -> None:
    syn, syn_ack, ack = (read(name) for name in ("syn", "syn_ack", "ack"))
    assert syn.header.flags == Flags.SYN | Flags.CWR | Flags.ECE
    assert syn.header.flow == Flow.CON
    assert syn.header.order == Order.FUL
    assert syn.header.error == Error.ARQ | Error.CRC | Error.SAK
    assert syn_ack.header.flags == Flags.SYN | Flags.ACK | Flags.ECE
    assert isinstance(syn.numbers, Arq)
    assert syn_ack.numbers == Arq(0xFFFFFFFF, syn.numbers.sequence + 1)
    assert ack.numbers == Arq(syn.numbers.sequence + 1, 0)
    assert ack.window == Window(1024)


def test_cookies() -> None:
    assert read("cookie_request").cookie is None
    assert read("cookie_shortest").cookie == Cookie(bytes.fromhex("cafe0001"))
    grant = bytes.fromhex("0102a3a4a5a6a7a8b1b2b3b4b5b6b7b8")
    assert {read(name).cookie for name in ("cookie_grant", "opt_syn", "opt_first_data")} == {Cookie(grant)}
    assert read("opt_first_answer").cookie is None


def test_several_paths() -> None:
    key, answer = bytes.fromhex("1122334455667788"), bytes.fromhex("99aabbccddeeff00")
    capable_syn, capable_ack, abort = (
        read(name).path_message for name in ("mp_capable_syn", "mp_capable_ack", "mp_abort")
    )
    assert isinstance(capable_syn, MpCapable)
    assert capable_syn == MpCapable(capable_syn.flags, key)
    assert capable_ack == MpCapable(capable_syn.flags, key, answer)
    assert abort == MpCapable(capable_syn.flags, answer)
    assert read("mp_join_syn").path_message == JoinSyn(Role(True, 2), 0xDEADBEEF, 0x01020304)
    assert read("mp_join_syn_ack").path_message == JoinSynAck(
        Role(False, 1), bytes(range(0xA0, 0xA8)), 0x05060708
    )
    assert read("mp_join_ack").path_message == JoinAck(Role(True, 2), bytes(range(0xB0, 0xC4)))
    assert read("mp_priority").path_message == Priority(False, 2)
    assert read("mp_priority").header.mpt is PathMessage.PRIORITY


def test_data_sequence_signals() -> None:
    data = Dss(length=1, data_ack=7000, mapping=Mapping(dsn=6000, ssn=550))
    assert read("mp_data").dss == data
    assert read("mp_data").numbers == Arq(550, 950)
    assert read("mp_data_ack").dss == Dss(data_ack=6002)
    assert read("mp_data_fin").dss == Dss(data_fin=True, mapping=Mapping(6001, 0))
    checked = read("mp_data_dss_crc")
    assert checked.dss == Dss(length=1, data_ack=7000, mapping=Mapping(6000, 550), checked=True)
    assert checked.payload_check is PayloadCheck.GOOD
    assert read("mp_unreliable").numbers == Seq(3)
    assert read("mp_unreliable").header.paths == Paths.MP | Paths.MPM


def test_a_copy_and_the_stubs_that_repeat_it() -> None:
    copy, stub, encoded = (read(name) for name in ("mp_copy", "mp_stub", "mp_stub_harq"))
    assert {packet.header.sched for packet in (copy, stub, encoded)} == {Sched.COPIES}
    mapped = Dss(length=1, data_ack=7000, mapping=Mapping(dsn=6000, ssn=77))
    assert {(packet.dss, packet.numbers) for packet in (copy, stub, encoded)} == {(mapped, Arq(77, 31))}
    assert copy.payload == read("mp_data").payload
    assert stub.payload == encoded.payload == b""
    assert encoded.fec == Fec(1, 0)
    assert stub.fec is None
    stubs = {name for name in GOOD if read(name).is_stub}
    assert stubs == {"mp_stub", "mp_stub_harq", "mp_stub_borne"}


def test_the_example_of_chapter_9() -> None:
    payloads = {100: b"alpha", 101: b"be", 102: b"gamma-delta"}
    # Unit of the XOR with PSH clear and one path (R-FEC-3), as a number of 15 octets.
    units = {
        number: int.from_bytes((len(text).to_bytes(2) + bytes(2) + text).ljust(15, b"\0"))
        for number, text in payloads.items()
    }
    encoded, interleaved = read("quasi_encoded"), read("quasi_interleaved")
    assert encoded.fec == Fec(1, 3)
    assert encoded.numbers == Seq(100)
    assert encoded.payload == (units[100] ^ units[101] ^ units[102]).to_bytes(15)
    assert interleaved.fec == Fec(2, 2)
    assert interleaved.payload == (units[100] ^ units[102]).to_bytes(15)


def test_harq() -> None:
    assert read("harq_ack_lost").fec == Fec(1, 2)
    assert read("harq_ack_repaired").fec == Fec(1, 0)
    assert read("harq_data").fec is None
    assert read("harq_syn").fec == Fec(2, 0)


def test_protected_packets() -> None:
    sealed, last, syn = (read(name) for name in ("protected_data", "protected_ack", "protected_syn"))
    assert sealed.protection == Protection(1, 0, 0xDEADBEEF)
    assert (len(sealed.payload), len(sealed.tag)) == (12, 16)
    assert last.protection == Protection(255, 3, 2**48 - 1)
    assert (last.payload, len(last.tag)) == (b"", 16)
    assert (syn.payload, syn.tag) == (b"\xe1" * 48, b"")
