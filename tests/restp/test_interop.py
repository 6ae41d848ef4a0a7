"""The decoder against the files that test the Rust codec: the same fields, the same reasons to drop."""

import json
from enum import IntFlag
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from restp_decoder import DecodeError, Packet, PseudoHeader, decode, encode
from restp_decoder.extensions import Arq, Sack, Snack
from restp_decoder.header import Order, Paths, Sched
from restp_decoder.paths import Dss, JoinAck, JoinSyn, JoinSynAck, MpCapable, Priority
from restp_decoder.words import octets_of
from tests.restp.document import VECTORS as PRINTED

Json = dict[str, Any]

FOLDER = Path(__file__).parents[2] / "crates" / "restp-proto" / "tests" / "vectors"
VECTORS: dict[str, Json] = {path.stem: json.loads(path.read_text()) for path in FOLDER.glob("*.json")}
SENT = sorted(name for name, vector in VECTORS.items() if "drop" not in vector)
DROPPED = sorted(set(VECTORS) - set(SENT))
DAMAGED = [line.split() for line in (FOLDER / "damaged.txt").read_text().splitlines()]

# Spellings of the vector files (chapter 20) for the bits of this decoder.
ORDERS = {Order(0): "none", Order.PAR: "PAR", Order.FUL: "FUL", Order.PAR | Order.FUL: "streams"}
PATH_MODES = {Paths(0): "single", Paths.MP: "standby", Paths.MP | Paths.MPM: "spreading"}
SCHEDULERS = {Sched(0): "none", Sched.RRS: "RRS", Sched.FRS: "FRS", Sched.COPIES: "copies"}


def octets(name: str) -> bytes:
    return bytes.fromhex((FOLDER / f"{name}.hex").read_text())


def pseudo_header(name: str) -> PseudoHeader | None:
    outer = VECTORS[name].get("pseudo_header")
    if outer is None:
        return None
    return PseudoHeader(ip_address(outer["source"]), ip_address(outer["destination"]), outer["protocol"])


def names(bits: IntFlag) -> list[str]:
    """Names of the bits that are set, most significant first."""
    return [str(bit.name) for bit in sorted(type(bits), reverse=True) if bit in bits]


def in_words_of_the_files(packet: Packet) -> Json:
    fields = {
        "header": header(packet),
        "header_words": packet.header_words,
        "extensions": extensions(packet),
        "payload": packet.payload.hex(),
        "payload_check": str(packet.payload_check),
    }
    return fields | ({"tag": packet.tag.hex()} if packet.tag else {})


def header(packet: Packet) -> Json:
    base = packet.header
    return {
        "version": base.version,
        "flags": names(base.flags),
        "order": ORDERS[base.order],
        "flow": names(base.flow),
        "error": names(base.error),
        "path_mode": PATH_MODES[base.paths],
        "scheduler": SCHEDULERS[base.sched],
        "cong": base.cong,
        "k": base.k,
        "corruption_echo": base.cor,
        "source_port": base.source_port,
        "destination_port": base.destination_port,
    }


def extensions(packet: Packet) -> Json:
    fields: Json = {}
    if packet.protection:
        fields["protection"] = {
            "epoch": packet.protection.epoch,
            "subflow": packet.protection.subflow,
            "packet_number": packet.protection.packet_number,
        }
    if packet.window:
        fields["window"] = packet.window.packets
    if packet.cookie:
        fields["cookie"] = packet.cookie.octets.hex()
    if packet.path_message:
        fields |= path_message(packet.path_message)
    if packet.dss:
        fields["dss"] = signal(packet.dss)
    if packet.fec:
        fields["fec"] = {"type": packet.fec.type, "range": packet.fec.range}
    if packet.numbers:
        fields["sequence"] = packet.numbers.sequence
    if isinstance(packet.numbers, Arq):
        fields["acknowledgement"] = packet.numbers.acknowledgement
    if isinstance(packet.report, Sack):
        fields["sack"] = [list(block) for block in packet.report.blocks]
    if isinstance(packet.report, Snack):
        fields["snack"] = {
            "offset": packet.report.offset,
            "size": packet.report.size,
            "vector": octets_of(packet.report.vector).hex(),
            "missing": list(packet.missing),
        }
    return fields


def path_message(message: MpCapable | JoinSyn | JoinSynAck | JoinAck | Priority) -> Json:
    if isinstance(message, MpCapable):
        keys = [key.hex() for key in (message.key, message.responder_key) if key is not None]
        return {"mp_capable": {"flags": names(message.flags), "keys": keys}}
    role = message if isinstance(message, Priority) else message.role
    fields: Json = {"backup": role.backup, "address_id": role.address_id}
    match message:
        case Priority():
            return {"mp_priority": fields}
        case JoinSyn():
            fields |= {"token": message.token, "nonce": message.nonce}
        case JoinSynAck():
            fields |= {"mac": message.hmac.hex(), "nonce": message.nonce}
        case JoinAck():
            fields["mac"] = message.hmac.hex()
    return {"mp_join": fields}


def signal(dss: Dss) -> Json:
    fields: Json = {}
    if dss.data_ack is not None:
        fields["data_ack"] = dss.data_ack
    if dss.mapping is not None:
        fields |= {
            "data_sequence": dss.mapping.dsn,
            "subflow_sequence": dss.mapping.ssn,
            "length": dss.length,
        }
    if dss.data_fin:
        fields["data_fin"] = True
    if dss.checked:
        fields["payload_crc"] = True
    return fields


def verdict(datagram: bytes, outer: PseudoHeader | None = None) -> str:
    try:
        decode(datagram, pseudo_header=outer)
    except DecodeError as error:
        return str(error.reason)
    return "ok"


def test_there_are_files_of_every_kind() -> None:
    assert len(SENT) > 55
    assert len(DROPPED) > 30
    assert len(DAMAGED) > 400
    assert {path.stem for path in FOLDER.glob("*.hex")} == set(VECTORS)


@pytest.mark.parametrize("name", sorted(VECTORS))
def test_files_and_document_show_the_same_octets(name: str) -> None:
    assert PRINTED[name] == octets(name)


@pytest.mark.parametrize("name", SENT)
def test_every_field_is_what_the_file_says(name: str) -> None:
    wanted = {
        key: value
        for key, value in VECTORS[name].items()
        if key not in {"about", "pseudo_header", "sealing", "frames", "frames_fault"}
    }
    assert in_words_of_the_files(decode(octets(name), pseudo_header=pseudo_header(name))) == wanted


# A writer computes the right payload CRC, so a corrupt payload cannot come out again.
@pytest.mark.parametrize("name", [name for name in SENT if VECTORS[name]["payload_check"] != "corrupt"])
def test_every_packet_is_written_as_in_its_file(name: str) -> None:
    outer = pseudo_header(name)
    packet = decode(octets(name), pseudo_header=outer)
    assert encode(packet, pseudo_header=outer) == octets(name)


@pytest.mark.parametrize("name", DROPPED)
def test_every_reason_to_drop_is_that_of_the_file(name: str) -> None:
    assert verdict(octets(name), pseudo_header(name)) == VECTORS[name]["drop"]


def test_damaged_datagrams_are_judged_as_the_file_says() -> None:
    wrong = [
        (datagram, judged, found)
        for datagram, judged in DAMAGED
        if (found := verdict(bytes.fromhex(datagram))) != judged
    ]
    assert wrong == []
