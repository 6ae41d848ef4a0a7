"""Algorithms, by the library `cryptography`."""

from __future__ import annotations

import hmac as standard_hmac
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESCCM, AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from cryptography.hazmat.primitives.cmac import CMAC

from gauntlet.space.sdls.errors import Refused

ENCRYPTING = ("aes-gcm", "aes-ccm")


@dataclass(frozen=True)
class Suite:
    """An algorithm with its key and the length of its code in octets."""

    algorithm: str
    key: bytes
    mac_octets: int

    def code(self, covered: bytes, iv: bytes) -> bytes:
        """The code of an algorithm that only authenticates what it covers."""
        if self.algorithm == "aes-gcm":
            return AESGCM(self.key).encrypt(iv, b"", covered)
        if self.algorithm == "aes-cmac":
            cmac = CMAC(AES(self.key))
            cmac.update(covered)
            return cmac.finalize()[: self.mac_octets]
        keyed = hmac.HMAC(self.key, hashes.SHA256())
        keyed.update(covered)
        return keyed.finalize()[: self.mac_octets]

    def same_code(self, covered: bytes, iv: bytes, code: bytes) -> None:
        """Refuses a wrong code."""
        if not standard_hmac.compare_digest(self.code(covered, iv), code):
            raise Refused("mac")

    def seal(self, text: bytes, covered: bytes, iv: bytes) -> bytes:
        """Ciphertext and code."""
        if self.algorithm == "aes-gcm":
            return AESGCM(self.key).encrypt(iv, text, covered)
        return AESCCM(self.key, self.mac_octets).encrypt(iv, text, covered)

    def open(self, sealed: bytes, covered: bytes, iv: bytes) -> bytes:
        """The text, or a refusal."""
        try:
            if self.algorithm == "aes-gcm":
                return AESGCM(self.key).decrypt(iv, sealed, covered)
            return AESCCM(self.key, self.mac_octets).decrypt(iv, sealed, covered)
        except InvalidTag:
            raise Refused("mac") from None

    def keystream(self, text: bytes, iv: bytes) -> bytes:
        """Counter mode alone: GCM with 12 octets counts from 2, CCM from 1 (NIST SP 800-38D and 800-38C)."""
        if self.algorithm == "aes-gcm":
            first = iv + (2).to_bytes(4, "big")
        else:
            first = bytes([14 - len(iv)]) + iv + (1).to_bytes(15 - len(iv), "big")
        return Cipher(AES(self.key), CTR(first)).encryptor().update(text)
