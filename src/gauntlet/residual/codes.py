"""The codes whose residual error is known here, where each is used, and how its probability is found."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from gauntlet.errors import UserError


@dataclass(frozen=True)
class Crc:
    """A cyclic redundancy check; start value, reflection and final XOR change nothing of what it finds."""

    key: str
    label: str
    generator: int
    """With its highest term: 0x11021 for x^16 + x^12 + x^5 + 1."""
    used: str

    @property
    def bits(self) -> int:
        """Of the code."""
        return self.generator.bit_length() - 1


@dataclass(frozen=True)
class Sum:
    """A checksum by addition: which errors it finds depends on the data, which are taken as random."""

    key: str
    label: str
    bits: int
    used: str


@dataclass(frozen=True)
class Mac:
    """A message authentication code cut to `bits`, taken as ideal: whoever has no key guesses it with
    2^-bits, whatever the error.
    """

    key: str
    label: str
    bits: int
    used: str


Code = Crc | Sum | Mac

CODES: Mapping[str, Code] = {
    code.key: code
    for code in (
        Crc("crc-16-ccitt", "CRC-16/CCITT", 0x11021, "ResTP's header check; RaSTA's check code d"),
        Crc("crc-16-8005", "CRC-16 (8005)", 0x18005, "RaSTA's check code e"),
        Crc("crc-24-5d6dcb", "CRC-24 (5D6DCB)", 0x15D6DCB, "frames of FlexRay"),
        Crc("crc-24-lte", "CRC-24A", 0x1864CFB, "transport blocks of LTE (3GPP TS 36.212, 5.1.1)"),
        Crc("crc-32", "CRC-32", 0x104C11DB7, "frames of Ethernet (IEEE 802.3, 3.2.9)"),
        Crc("crc-32c", "CRC-32C", 0x11EDC6F41, "SCTP (RFC 9260); ResTP's body; RaSTA's check code c"),
        Crc("crc-32-rasta-b", "CRC-32 (EE5B42FD)", 0x1EE5B42FD, "RaSTA's check code b"),
        Crc("crc-32-f4acfb13", "CRC-32 (F4ACFB13)", 0x1F4ACFB13, "OPC UA Safety (OPC 10000-15, 9.3)"),
        Sum("internet", "Internet checksum", 16, "IP, TCP, UDP (RFC 1071)"),
        Sum("adler-32", "Adler-32", 32, "zlib (RFC 1950, 8.2); SCTP before RFC 3309"),
        Mac("mac-32", "MAC, 32 bits", 32, "a MAC cut to 4 octets"),
        Mac(
            "mac-64",
            "MAC, 64 bits",
            64,
            "RaSTA's half codes with a key (BLAKE2b, SipHash-2-4); EuroRadio (UNISIG SUBSET-037)",
        ),
        Mac(
            "mac-128",
            "MAC, 128 bits",
            128,
            "the tag of TLS 1.3 and QUIC (RFC 8446, RFC 9001), were it ideal; AES-GCM's bound is about l "
            "times as much for l blocks of 16 octets",
        ),
    )
}
"""Every code by its key."""


def code(named: str) -> Code:
    """A code by its key. Raises UserError naming the nearest."""
    if named in CODES:
        return CODES[named]
    close = get_close_matches(named.lower(), CODES, n=1, cutoff=0.5)
    hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(CODES)}."
    raise UserError(f"The code '{named}' is not known; {hint}")
