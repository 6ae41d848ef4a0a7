"""A packet for people, in one line, and for programs, as JSON with the names that chapter 20 gives."""

from enum import IntFlag
from typing import Any

from restp_decoder.extensions import Arq, Crc, Protection, Sack, Snack
from restp_decoder.packet import Packet, PayloadCheck
from restp_decoder.paths import Dss, JoinAck, JoinSyn, JoinSynAck, MpCapable, Priority

Fields = dict[str, Any]
"""A JSON object."""


def names(bits: IntFlag) -> list[str]:
    """Names of the bits that are set, most significant first; one name for bits that have one together."""
    if bits.name in type(bits).__members__:
        return [str(bits.name)]
    return [str(bit.name) for bit in sorted(type(bits), reverse=True) if bit in bits]


def as_json(packet: Packet) -> Fields:
    """The packet as an object with the parts that chapter 20 lists."""
    fields: Fields = {
        "header": _header(packet),
        "header_words": packet.header_words,
        "extensions": _extensions(packet),
        "payload": packet.payload.hex(),
        "payload_check": str(packet.payload_check),
    }
    if packet.tag:
        fields["tag"] = packet.tag.hex()
    return fields


def _header(packet: Packet) -> Fields:
    header = packet.header
    return {
        "version": header.version,
        "flags": names(header.flags),
        "ord": names(header.order),
        "flow": names(header.flow),
        "error": names(header.error),
        "p": names(header.paths),
        "sched": names(header.sched),
        "cong": header.cong,
        "fc": ["WIN"] if header.win else [],
        "k": header.k,
        "mpt": int(header.mpt),
        "d": header.dss,
        "cor": header.cor,
        "source_port": header.source_port,
        "destination_port": header.destination_port,
    }


def _extensions(packet: Packet) -> Fields:
    """Extensions that are present, by name, in their order."""
    fields = _checks(packet.protection, packet.crc)
    if packet.window is not None:
        fields["window"] = packet.window.packets
    if packet.cookie is not None:
        fields["cookie"] = packet.cookie.octets.hex()
    if packet.path_message is not None:
        fields |= _path_message(packet.path_message)
    if packet.dss is not None:
        fields["dss"] = _dss(packet.dss)
    if packet.fec is not None:
        fields["fec"] = {"type": packet.fec.type, "range": packet.fec.range}
    if packet.numbers is not None:
        fields["sequence"] = packet.numbers.sequence
    if isinstance(packet.numbers, Arq):
        fields["acknowledgement"] = packet.numbers.acknowledgement
    return fields | _report(packet)


def _checks(protection: Protection | None, crc: Crc | None) -> Fields:
    fields: Fields = {}
    if protection is not None:
        fields["protection"] = {
            "epoch": protection.epoch,
            "subflow": protection.subflow,
            "packet_number": protection.packet_number,
        }
    if crc is not None:
        fields["crc"] = {"hec": crc.hec}
        if crc.payload_crc is not None:
            fields["crc"]["payload_crc"] = crc.payload_crc
    return fields


def _report(packet: Packet) -> Fields:
    match packet.report:
        case Sack(blocks):
            return {"sack": [list(block) for block in blocks]}
        case Snack(offset, size) as snack:
            missing = list(packet.missing)
            return {
                "snack": {"offset": offset, "size": size, "vector": snack.vector_bits(), "missing": missing}
            }
    return {}


def _path_message(extension: MpCapable | JoinSyn | JoinSynAck | JoinAck | Priority) -> Fields:
    if isinstance(extension, MpCapable):
        capable: Fields = {"flags": names(extension.flags), "key": extension.key.hex()}
        if extension.responder_key is not None:
            capable["responder_key"] = extension.responder_key.hex()
        return {"mp_capable": capable}
    role = extension if isinstance(extension, Priority) else extension.role
    fields: Fields = {"backup": role.backup, "address_id": role.address_id}
    match extension:
        case Priority():
            return {"priority": fields}
        case JoinSyn():
            fields |= {"token": extension.token, "nonce": extension.nonce}
        case JoinSynAck():
            fields |= {"hmac": extension.hmac.hex(), "nonce": extension.nonce}
        case JoinAck():
            fields["hmac"] = extension.hmac.hex()
    return {"mp_join": fields}


def _dss(dss: Dss) -> Fields:
    fields: Fields = {"data_fin": dss.data_fin, "length": dss.length, "payload_crc": dss.checked}
    if dss.data_ack is not None:
        fields["data_ack"] = dss.data_ack
    if dss.mapping is not None:
        fields |= {"dsn": dss.mapping.dsn, "ssn": dss.mapping.ssn}
    return fields


def one_line(packet: Packet) -> str:
    """The packet in one line: ports, bits that are set, extensions, payload."""
    header = packet.header
    bits = [name for field in _bit_fields(packet) for name in names(field)]
    bits += ["COR"] if header.cor else []
    parts = [f"{header.source_port} > {header.destination_port}", " ".join(bits) or "datagram"]
    if header.version:
        parts.insert(0, f"version {header.version}")
    if header.cong:
        parts.append(f"cong {header.cong}")
    if header.paths:
        parts.append(f"k {header.k}")
    parts += [_phrase(name, value) for name, value in _extensions(packet).items() if name != "crc"]
    parts += ["stub"] if packet.is_stub else []
    parts.append(f"payload {len(packet.payload)}" + (" and tag" if packet.tag else ""))
    if packet.payload_check is not PayloadCheck.ABSENT:
        parts[-1] += f" {packet.payload_check}"
    return ", ".join(parts)


def _bit_fields(packet: Packet) -> tuple[IntFlag, ...]:
    header = packet.header
    return header.flags, header.order, header.flow, header.error, header.paths, header.sched


def _phrase(name: str, value: Any) -> str:
    """One extension in words."""
    if name == "sack":
        return "sack " + " ".join(f"[{left},{right}]" for left, right in value)
    if name == "snack":
        vector = f" vector {value['vector']}" if value["vector"] else ""
        return f"hole +{value['offset']} size {value['size']}{vector}"
    if not isinstance(value, dict):
        return f"{name} {value}"
    inner = [
        key if held is True else f"{key} {','.join(held) if isinstance(held, list) else held}"
        for key, held in value.items()
        if held is not False
    ]
    return f"{name} ({', '.join(inner)})"
