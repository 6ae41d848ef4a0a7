"""From a packet to a datagram: the words of all extensions in order, with checks that are right."""

import struct
from dataclasses import replace

from restp_decoder.checks import PseudoHeader, crc32c, header_check
from restp_decoder.decode import decode
from restp_decoder.extensions import Crc
from restp_decoder.faults import DecodeError, EncodeError
from restp_decoder.header import BASE_WORDS
from restp_decoder.packet import Packet
from restp_decoder.words import WORD_BYTES


def encode(packet: Packet, *, pseudo_header: PseudoHeader | None = None) -> bytes:
    """Write `packet`; `pseudo_header` as for `decode`.

    HEC and CRC-32C are calculated, whatever values the packet holds for them.

    Raises EncodeError if a value does not fit its field, or if a receiver would drop the datagram or read
    another packet from it.
    """
    datagram = _write(_with_payload_checks(packet), pseudo_header)
    try:
        read = decode(datagram, pseudo_header=pseudo_header)
    except DecodeError as error:
        raise EncodeError(f"A receiver would drop the packet: {error}") from error
    if read != packet:
        raise EncodeError(
            "A receiver would read another packet: a value is too large, or an extension not announced."
        )
    return datagram


def _with_payload_checks(packet: Packet) -> Packet:
    """The packet with the CRC-32C values of its payload, and without HEC."""
    return replace(
        packet,
        crc=packet.crc and Crc(payload_crc=crc32c(packet.payload) if packet.payload else None),
        dss=packet.dss and replace(packet.dss, payload_crc=crc32c(packet.payload)),
    )


def _write(packet: Packet, pseudo_header: PseudoHeader | None) -> bytes:
    """The octets of a packet whose payload checks are right, with the HEC put in last."""
    body = packet.payload + packet.tag
    words = packet.header.words(packet.header_words)
    for extension in packet.extensions:
        words += extension.words()
    try:
        header = struct.pack(f">{len(words)}I", *words)
    except struct.error as error:
        raise EncodeError("A number of an extension is negative or has more than 32 bits.") from error
    if packet.crc:
        offset = (BASE_WORDS + (len(packet.protection.words()) if packet.protection else 0)) * WORD_BYTES
        hec = header_check(header, offset, len(header) + len(body), pseudo_header)
        header = header[:offset] + hec.to_bytes(2) + header[offset + 2 :]
    return header + body
