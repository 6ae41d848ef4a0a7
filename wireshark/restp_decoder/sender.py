"""What a sender must not send although a receiver takes it, as far as one packet alone shows it."""

from collections.abc import Iterator

from restp_decoder import rules
from restp_decoder.extensions import Arq, Sack, Snack
from restp_decoder.header import Error, Flags, Flow, Header, Order, Paths
from restp_decoder.packet import Packet
from restp_decoder.paths import CapableFlags, MpCapable

_MAX_FEC_RANGE = {1: 16, 2: 8}
"""Largest number of packets encoded, by FEC type (R-FEC-2)."""

_SERIAL_HALF = 1 << 31
"""Half of the number space (R-NUM-1)."""


def sender_faults(packet: Packet) -> list[str]:
    """Sentences about what the sender of `packet` did wrong, each with its requirement; empty if nothing."""
    judged = (
        *_header_faults(packet),
        *_opening_faults(packet),
        *_number_faults(packet),
        *_payload_faults(packet),
        *_fec_faults(packet),
        *_dss_faults(packet),
        *_report_faults(packet),
    )
    return [sentence for broken, sentence in judged if broken]


def _header_faults(packet: Packet) -> Iterator[tuple[bool, str]]:
    """Bits that a receiver ignores, and what a packet without connection cannot have."""
    header = packet.header
    yield (
        Flags.URG in header.flags and not (_is_numbered_data(packet) or _asks_for_streams(header)),
        "URG marks only data, and the SYN that asks for streams (R-HDR-7).",
    )
    yield Flow.CXF in header.flow, "CXF must be sent as 0 (R-HDR-7)."
    yield not header.paths and header.k != 1, "k is 1 on a single path (R-HDR-7)."
    yield Error.DEL in header.error and header.order == Order.PAR, "DEL excludes PAR (R-ACK-3)."
    if not header.flow & (Flow.CON | Flow.OPT):
        services = header.error & ~(Error.CRC | Error.FEC | Error.ENC)
        yield header.flags != 0, "Without CON and OPT all Flags must be 0 (R-CM-1)."
        yield (
            bool(header.order or services or header.win or header.paths or header.cong),
            "Without CON and OPT only CRC and FEC are allowed (R-CM-1).",
        )
        yield header.version == 1, "Connectionless packets cannot be protected (R-PROT-1)."


def _opening_faults(packet: Packet) -> Iterator[tuple[bool, str]]:
    """What a SYN may hold."""
    header = packet.header
    if Flags.SYN not in header.flags:
        return
    yield (
        header.version == 0 and Flow.CON in header.flow and bool(packet.payload),
        "A version 0 SYN or SYN-ACK with CON has no payload (R-CM-2).",
    )
    yield (
        Flow.CKI in header.flow
        and bool(packet.payload)
        and (Flags.ACK in header.flags or Flow.OPT in header.flow),
        "A cookie request or grant has no payload (R-OPT-1, R-PROT-9).",
    )
    if Flow.CKI in header.flow and Flags.ACK in header.flags and isinstance(packet.numbers, Arq):
        yield packet.numbers.sequence != 0, "A cookie grant has sequence number 0 (R-OPT-1)."
    if isinstance(packet.path_message, MpCapable):
        known = CapableFlags.G | CapableFlags.H
        yield not packet.path_message.flags & known, "MP_CAPABLE offers no known algorithm (R-MPC-2)."


def _number_faults(packet: Packet) -> Iterator[tuple[bool, str]]:
    """Numbers that mean nothing."""
    if isinstance(packet.numbers, Arq) and Flags.ACK not in packet.header.flags:
        yield (
            packet.numbers.acknowledgement != 0,
            "Without ACK the acknowledgement number must be 0 (R-ARQ-2).",
        )


def _asks_for_streams(header: Header) -> bool:
    """R-STR-1: the SYN of a connection whose Ord is none."""
    opening = header.flags & (Flags.SYN | Flags.ACK) == Flags.SYN
    return opening and Flow.CON in header.flow and not header.order


def _is_numbered_data(packet: Packet) -> bool:
    """Data of a connection that have a number of their own, of which there may be parts (R-SIZE-4)."""
    control = Flags.SYN | Flags.FIN | Flags.RST
    apart = packet.header.flags & control or Error.ENC in packet.header.error or _is_padded(packet)
    connected = packet.header.flow & (Flow.CON | Flow.OPT)
    return bool(packet.payload and connected) and packet.numbers is not None and not apart


def _is_padded(packet: Packet) -> bool:
    """A challenge or the answer to one, whose payload is no data (R-SIZE-1)."""
    return Flow.CKI in packet.header.flow and Flags.SYN not in packet.header.flags


def _payload_faults(packet: Packet) -> Iterator[tuple[bool, str]]:
    """Payloads that are no data, or data in parts; of what is sealed nothing is known."""
    payload = packet.payload
    if packet.protection and packet.protection.epoch > 0:
        return
    yield _is_padded(packet) and any(payload), "What makes a challenge long is zeros (R-SIZE-1)."
    if Flags.RST in packet.header.flags and packet.protection is None:
        yield len(payload) not in (0, 4), "An RST tells a number of four octets or nothing (R-CM-11)."
    if Flags.URG in packet.header.flags and _is_numbered_data(packet):
        offset, total = int.from_bytes(payload[:2]), int.from_bytes(payload[2:4])
        piece_bytes = len(payload) - 4
        yield piece_bytes < 1 or offset + piece_bytes > total, "A part goes beyond its packet (R-SIZE-4)."


def _fec_faults(packet: Packet) -> Iterator[tuple[bool, str]]:
    """Types and ranges (R-FEC-2)."""
    fec = packet.fec
    if fec is None:
        return
    yield fec.type not in (0, *_MAX_FEC_RANGE), f"FEC type {fec.type} is not assigned (R-FEC-2)."
    yield Flags.SYN in packet.header.flags and fec.range != 0, "On a SYN the FEC range is 0 (R-FEC-2)."
    if Error.ENC in packet.header.error:
        limit = _MAX_FEC_RANGE.get(fec.type, 0)
        yield (
            not 1 <= fec.range <= limit,
            f"FEC type {fec.type} cannot encode {fec.range} packets; 1 to {limit} are allowed (R-FEC-2).",
        )


def _dss_faults(packet: Packet) -> Iterator[tuple[bool, str]]:
    """Where a DSS must stand, and how it maps the packet's own number (R-DSS-2, R-DSS-3)."""
    header = packet.header
    encoded = Error.ENC in header.error
    # The payload of epoch 0 is a handshake message and consumes no number (R-PROT-2).
    handshake = packet.protection and packet.protection.epoch == 0
    carries_data = bool(packet.payload) and not handshake and not _is_padded(packet)
    if Paths.MP in header.paths and Flags.RST not in header.flags:
        wanted = carries_data or (Flags.ACK in header.flags and header.mpt == 0)
        yield wanted and packet.dss is None, "With several paths data and ACKs carry a DSS (R-DSS-3)."
    dss = packet.dss
    if dss is None:
        return
    yield encoded and dss.mapping is not None, "An encoded packet has a DSS without M (R-DSS-3)."
    yield (
        dss.data_fin and not packet.payload and dss.length != 0,
        "The length of a DATA_FIN without payload is 0 (R-DSS-2).",
    )
    yield packet.is_stub and dss.checked, "A stub has no payload that C would check (R-MP-15)."
    if (carries_data and not encoded) or packet.is_stub:
        yield dss.mapping is None, "A DSS on data has M (R-DSS-3)."
        yield dss.length != 1, "A DSS on data has length 1 (R-DSS-2)."
        if dss.mapping is not None and packet.numbers is not None:
            yield (
                dss.mapping.ssn != packet.numbers.sequence,
                "The SSN on data is the packet's number (R-DSS-2).",
            )


def _report_faults(packet: Packet) -> Iterator[tuple[bool, str]]:
    """Blocks that run backwards, and vectors that say less than their length (R-SACK-1, R-SNACK-2)."""
    if not rules.may_report(packet.header):
        return
    match packet.report:
        case Sack(blocks=blocks):
            backwards = any((right - left) % (2 * _SERIAL_HALF) >= _SERIAL_HALF for left, right in blocks)
            yield backwards, "The right edge of a SACK block lies before its left edge (R-SACK-1)."
        case Snack(vector=vector) if vector:
            yield vector[-1] == 0, "The last word of the vector holds no 1 (R-SNACK-2)."
            yield (
                all(bit == "1" for bit in packet.report.vector_bits()),
                "A vector is sent only if there is a second hole (R-SNACK-2).",
            )
