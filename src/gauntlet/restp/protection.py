"""What the AEAD of a sealed packet needs beside the key (chapter 16); sealing is for a crypto library."""

from enum import Enum

from gauntlet.restp.extensions import Protection
from gauntlet.restp.header import BASE_WORDS
from gauntlet.restp.packet import Packet
from gauntlet.restp.words import WORD_BYTES


class Aead(Enum):
    """The ciphers of R-PROT-2."""

    CHACHAPOLY = "ChaChaPoly"
    AESGCM = "AESGCM"


def nonce(protection: Protection, aead: Aead) -> bytes:
    """The 12 octets of the nonce: 4 zero octets and the number 0 | subflow | packet number (R-PROT-5)."""
    number = protection.subflow << 48 | protection.packet_number
    return bytes(4) + number.to_bytes(8, "little" if aead is Aead.CHACHAPOLY else "big")


def associated_data(datagram: bytes, packet: Packet) -> bytes:
    """All header words, HEC and payload CRC taken as zero (R-PROT-6); `packet` is what `datagram` decodes to.

    Raises ValueError if the packet has no Protection extension.
    """
    if packet.protection is None:
        raise ValueError("The packet is of version 0; only version 1 has associated data.")
    header = bytearray(datagram[: packet.header_words * WORD_BYTES])
    if packet.crc is not None:
        start = (BASE_WORDS + len(packet.protection.words())) * WORD_BYTES
        header[start : start + 2] = bytes(2)
        if packet.crc.payload_crc is not None:
            header[start + WORD_BYTES : start + 2 * WORD_BYTES] = bytes(WORD_BYTES)
    return bytes(header)
