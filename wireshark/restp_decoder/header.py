"""Base header (chapter 2): three words of bit fields, read and written most significant bit first."""

from dataclasses import dataclass, field
from enum import IntEnum, IntFlag

from restp_decoder.faults import EncodeError

BASE_WORDS = 3
"""Words of the base header (R-HDR-1)."""

MAX_HEADER_WORDS = 0xFF
"""Largest header that HLX * 16 + HL can say (R-HDR-3)."""

_RESERVED_BITS = (0x0000_0301, 0x00E0_F00F)
"""Bits of the first and second word that are drawn as zero (R-HDR-4, chapter 18)."""


class Flags(IntFlag):
    """Field Flags (chapter 18)."""

    CWR = 0x80
    ECE = 0x40
    URG = 0x20
    ACK = 0x10
    PSH = 0x08
    RST = 0x04
    SYN = 0x02
    FIN = 0x01


class Order(IntFlag):
    """Field Ord (chapter 18); both bits together are streams (R-STR-1)."""

    PAR = 0b10
    FUL = 0b01


class Flow(IntFlag):
    """Field Flow (chapter 18)."""

    CKI = 0x20
    CON = 0x10
    OPT = 0x08
    CXF = 0x04


class Error(IntFlag):
    """Field Error (chapter 18): which errors are repaired and reported, and how."""

    ENC = 0x80
    ARQ = 0x40
    CRC = 0x20
    FEC = 0x10
    NAK = 0x08
    SAK = 0x04
    DEL = 0x02


class Paths(IntFlag):
    """Field P (chapter 18): MP alone is hot standby, with MPM it is spreading."""

    MP = 0b10
    MPM = 0b01


class Sched(IntFlag):
    """Field Sched (chapter 18); both bits together are copies (R-MP-14)."""

    RRS = 0b10
    FRS = 0b01
    COPIES = 0b11


class PathMessage(IntEnum):
    """Field MPT (chapter 18): which extension about paths stands in the header."""

    NONE = 0
    MP_CAPABLE = 1
    MP_JOIN = 2
    PRIORITY = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """All that a sender chooses in the base header; its length follows from the extensions.

    `version` 0 is clear, 1 protected. `cong` is a code point (chapter 18) and `k` the number of established
    subflows, both 0 to 15 and for information only (R-HDR-7). `win`, `dss`, `cor` are the bits WIN, D, COR.
    """

    source_port: int
    destination_port: int
    version: int = 0
    flags: Flags = field(default=Flags(0))
    order: Order = field(default=Order(0))
    flow: Flow = field(default=Flow(0))
    error: Error = field(default=Error(0))
    paths: Paths = field(default=Paths(0))
    sched: Sched = field(default=Sched(0))
    cong: int = 0
    win: bool = False
    k: int = 1
    mpt: PathMessage = PathMessage.NONE
    dss: bool = False
    cor: bool = False

    @classmethod
    def from_words(cls, first: int, second: int, third: int) -> "Header":
        """Read the three words of a base header; bits drawn as zero are left out, see `reserved_bits`."""
        return cls(
            version=first >> 28,
            flags=Flags(first >> 16 & 0xFF),
            order=Order(first >> 14 & 0x3),
            flow=Flow(first >> 8 & 0x3C),
            error=Error(first & 0xFE),
            paths=Paths(second >> 30),
            sched=Sched(second >> 28 & 0x3),
            cong=second >> 24 & 0xF,
            win=bool(second >> 20 & 1),
            k=second >> 16 & 0xF,
            mpt=PathMessage(second >> 6 & 0x3),
            dss=bool(second >> 5 & 1),
            cor=bool(second >> 4 & 1),
            source_port=third >> 16,
            destination_port=third & 0xFFFF,
        )

    def words(self, header_words: int) -> list[int]:
        """The three words of a base header whose whole header, extensions included, has `header_words` words.

        Raises EncodeError if a number does not fit its field.
        """
        for name, value, limit in (
            ("Version", self.version, 0xF),
            ("Cong", self.cong, 0xF),
            ("k", self.k, 0xF),
            ("Source port", self.source_port, 0xFFFF),
            ("Destination port", self.destination_port, 0xFFFF),
            ("The header's length", header_words, MAX_HEADER_WORDS),
        ):
            if not 0 <= value <= limit:
                raise EncodeError(f"{name} is {value}; the base header holds 0 to {limit}.")
        first = (
            self.version << 28
            | (header_words & 0xF) << 24
            | self.flags << 16
            | self.order << 14
            | self.flow << 8
            | self.error
        )
        second = (
            self.paths << 30
            | self.sched << 28
            | self.cong << 24
            | self.win << 20
            | self.k << 16
            | (header_words >> 4) << 8
            | self.mpt << 6
            | self.dss << 5
            | self.cor << 4
        )
        return [first, second, self.source_port << 16 | self.destination_port]


def header_length_words(first: int, second: int) -> int:
    """Words of the whole header, extensions included: HLX * 16 + HL (R-HDR-3)."""
    return (second >> 8 & 0xF) * 16 + (first >> 24 & 0xF)


def reserved_bits(first: int, second: int) -> bool:
    """Whether a bit drawn as zero is set in the first two words of a base header (R-HDR-4)."""
    return bool(first & _RESERVED_BITS[0] or second & _RESERVED_BITS[1])
