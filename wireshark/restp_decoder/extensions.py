"""The extensions of chapters 3 and 16 but for those about several paths: what each says and how it is spelt.

Every class reads itself from a `Words` cursor by `read` and writes itself by `words`. Numbers of packets
count modulo 2^32 (R-NUM-1).
"""

from dataclasses import dataclass, field
from typing import Self

from restp_decoder.words import Words, octets_of, require_zero, words_of

_SERIAL = 1 << 32


@dataclass(frozen=True, slots=True)
class Protection:
    """Protection extension of version 1 (chapter 16): 8-bit epoch and subflow, 48-bit packet number."""

    epoch: int
    subflow: int
    packet_number: int

    @classmethod
    def read(cls, words: Words) -> Self:
        """Take two words; raises DecodeError `extension_cut`."""
        first, second = words.take(2, "Protection")
        return cls(first >> 24, first >> 16 & 0xFF, (first & 0xFFFF) << 32 | second)

    def words(self) -> list[int]:
        """The two words."""
        return [
            self.epoch << 24 | self.subflow << 16 | self.packet_number >> 32,
            self.packet_number & 0xFFFFFFFF,
        ]


@dataclass(frozen=True, slots=True)
class Crc:
    """CRC extension (3.1) as received; the second word is there only if there is a body (R-CRC-4).

    The values follow from the rest of the datagram, so they take no part in comparisons.
    """

    hec: int = field(default=0, compare=False)
    payload_crc: int | None = field(default=None, compare=False)

    @classmethod
    def read(cls, words: Words, has_body: bool) -> Self:
        """Take one word, or two if there is a body; raises DecodeError `extension_cut` or `reserved_bits`."""
        taken = words.take(2 if has_body else 1, "CRC")
        require_zero(taken[0] & 0xFFFF, "CRC")
        return cls(taken[0] >> 16, taken[1] if has_body else None)

    def words(self) -> list[int]:
        """One or two words."""
        return [self.hec << 16] + ([] if self.payload_crc is None else [self.payload_crc])


@dataclass(frozen=True, slots=True)
class Window:
    """Window extension (3.2): how many `packets` its sender is willing to receive (R-WIN-1)."""

    packets: int

    @classmethod
    def read(cls, words: Words) -> Self:
        """Take one word; raises DecodeError `extension_cut` or `reserved_bits`."""
        (word,) = words.take(1, "Window")
        require_zero(word & 0xFFFF, "Window")
        return cls(word >> 16)

    def words(self) -> list[int]:
        """The one word."""
        return [self.packets << 16]


@dataclass(frozen=True, slots=True)
class Cookie:
    """Cookie extension (3.3): 4 to 16 octets in whole words (R-COOKIE-2)."""

    octets: bytes

    @classmethod
    def read(cls, words: Words, count: int) -> Self:
        """Take `count` words, which the caller found by subtraction."""
        return cls(octets_of(words.take(count, "Cookie")))

    def words(self) -> list[int]:
        """One to four words; EncodeError if the cookie is not whole words."""
        return words_of(self.octets, "A cookie")


@dataclass(frozen=True, slots=True)
class Fec:
    """FEC extension (3.8): type 0 none, 1 basic XOR, 2 interleaved XOR; range of 24 bits (R-FEC-2)."""

    type: int
    range: int

    @classmethod
    def read(cls, words: Words) -> Self:
        """Take one word; raises DecodeError `extension_cut`."""
        (word,) = words.take(1, "FEC")
        return cls(word >> 24, word & 0xFFFFFF)

    def words(self) -> list[int]:
        """The one word."""
        return [self.type << 24 | self.range]


@dataclass(frozen=True, slots=True)
class Seq:
    """SEQ extension (3.9): the number of the packet."""

    sequence: int

    @classmethod
    def read(cls, words: Words) -> Self:
        """Take one word; raises DecodeError `extension_cut`."""
        return cls(words.take(1, "SEQ")[0])

    def words(self) -> list[int]:
        """The one word."""
        return [self.sequence]


@dataclass(frozen=True, slots=True)
class Arq:
    """ARQ extension (3.9): the number of the packet, and the next number expected if the packet has ACK.

    Without ACK the acknowledgement number means nothing (R-ARQ-2); it is kept as received, so that every
    datagram can be written again octet by octet.
    """

    sequence: int
    acknowledgement: int = 0

    @classmethod
    def read(cls, words: Words) -> Self:
        """Take two words; raises DecodeError `extension_cut`."""
        return cls(*words.take(2, "ARQ"))

    def words(self) -> list[int]:
        """The two words."""
        return [self.sequence, self.acknowledgement]


@dataclass(frozen=True, slots=True)
class Sack:
    """SACK extension (3.10): blocks of received numbers, (left, right), both edges included (R-SACK-1)."""

    blocks: tuple[tuple[int, int], ...]

    @classmethod
    def read(cls, words: Words) -> Self:
        """Take all words left over, whose number is even."""
        edges = words.take(words.left, "SACK")
        return cls(tuple(zip(edges[::2], edges[1::2], strict=True)))

    def words(self) -> list[int]:
        """Two words a block."""
        return [edge for block in self.blocks for edge in block]


@dataclass(frozen=True, slots=True)
class Snack:
    """NACK or SNACK extension (3.11): the first hole, and the vector as words, empty for a NACK.

    Hole 1 is `size` packets from acknowledgement number + `offset` on; the vector says of each later packet,
    most significant bit first, 1 received or 0 missing (R-SNACK-1, R-SNACK-2).
    """

    offset: int
    size: int
    vector: tuple[int, ...] = ()

    @classmethod
    def read(cls, words: Words) -> Self:
        """Take all words left over, at least one."""
        hole, *vector = words.take(words.left, "SNACK")
        return cls(hole >> 16, hole & 0xFFFF, tuple(vector))

    def words(self) -> list[int]:
        """One word for the hole and the words of the vector."""
        return [self.offset << 16 | self.size, *self.vector]

    def vector_bits(self) -> str:
        """The vector as characters 0 and 1, up to its last 1: what follows says nothing (R-SNACK-2)."""
        return "".join(f"{word:032b}" for word in self.vector).rstrip("0")

    def missing(self, acknowledgement: int) -> tuple[int, ...]:
        """Numbers missing according to a packet with this `acknowledgement` number (R-SNACK-3)."""
        start = acknowledgement + self.offset
        after = start + self.size
        holes = (after + place for place, bit in enumerate(self.vector_bits()) if bit == "0")
        return tuple(number % _SERIAL for number in (*range(start, after), *holes))
