"""The sealed vectors open with the nonce and the associated data that the specification describes."""

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

from restp_decoder import decode
from restp_decoder.extensions import Protection
from restp_decoder.protection import Aead, associated_data, nonce
from tests.restp.document import VECTORS

KEY = bytes(range(32))
"""The key that the caption of `protected_data` gives."""


def test_nonces() -> None:
    protection = Protection(epoch=7, subflow=3, packet_number=0x0102_0304_0506)
    assert nonce(protection, Aead.CHACHAPOLY).hex() == "000000000605040302010300"
    assert nonce(protection, Aead.AESGCM).hex() == "000000000003010203040506"


def test_associated_data_are_the_header() -> None:
    datagram = VECTORS["protected_data"]
    assert associated_data(datagram, decode(datagram)) == datagram[:32]
    assert decode(datagram).crc is None


def test_version_0_has_no_associated_data() -> None:
    with pytest.raises(ValueError, match="only version 1"):
        associated_data(VECTORS["data"], decode(VECTORS["data"]))


@pytest.mark.parametrize(
    ("name", "aead", "plaintext"),
    [
        ("protected_data", Aead.CHACHAPOLY, b"hello, world"),
        ("protected_data_aes", Aead.AESGCM, b"hello, world"),
        ("protected_ack", Aead.CHACHAPOLY, b""),
    ],
)
def test_sealed_vectors_open(name: str, aead: Aead, plaintext: bytes) -> None:
    cipher = (ChaCha20Poly1305 if aead is Aead.CHACHAPOLY else AESGCM)(KEY)
    packet = decode(VECTORS[name])
    assert packet.protection
    sealed = packet.payload + packet.tag
    assert (
        cipher.decrypt(nonce(packet.protection, aead), sealed, associated_data(VECTORS[name], packet))
        == plaintext
    )
