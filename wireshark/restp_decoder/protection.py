"""What the AEAD of a sealed packet needs beside the key (chapter 16); sealing is for a crypto library."""

from enum import Enum

from restp_decoder.extensions import Protection
from restp_decoder.packet import Packet
from restp_decoder.words import WORD_BYTES


class Aead(Enum):
    """The ciphers of R-PROT-2."""

    CHACHAPOLY = "ChaChaPoly"
    AESGCM = "AESGCM"


def nonce(protection: Protection, aead: Aead) -> bytes:
    """The 12 octets of the nonce: 4 zero octets and the number 0 | subflow | packet number (R-PROT-5)."""
    number = protection.subflow << 48 | protection.packet_number
    return bytes(4) + number.to_bytes(8, "little" if aead is Aead.CHACHAPOLY else "big")


def associated_data(datagram: bytes, packet: Packet) -> bytes:
    """All header words (R-PROT-6); `packet` is what `datagram` decodes to.

    Raises ValueError if the packet has no Protection extension.
    """
    if packet.protection is None:
        raise ValueError("The packet is of version 0; only version 1 has associated data.")
    return datagram[: packet.header_words * WORD_BYTES]
