"""Words of 32 bits: a cursor over those of a header, and the way between words and octets."""

import struct

from restp_decoder.faults import DecodeError, EncodeError, Reason

WORD_BYTES = 4
"""Octets of a word (chapter 1)."""


class Words:
    """The words of a header behind the base header, taken one extension after the other."""

    def __init__(self, words: tuple[int, ...]) -> None:
        self._words = words
        self._next = 0

    @property
    def left(self) -> int:
        """Number of words not taken yet."""
        return len(self._words) - self._next

    def take(self, count: int, extension: str) -> tuple[int, ...]:
        """The next `count` words, which belong to the named extension; else DecodeError `extension_cut`."""
        taken = self.peek(count, extension)
        self._next += count
        return taken

    def peek(self, count: int, extension: str) -> tuple[int, ...]:
        """As `take`, but the words stay where they are."""
        if count > self.left:
            raise DecodeError(
                Reason.EXTENSION_CUT,
                f"The {extension} extension needs {count} words of the header, but {self.left} are left.",
            )
        return self._words[self._next : self._next + count]


def require_zero(bits: int, extension: str) -> None:
    """DecodeError `reserved_bits` if padding of the named extension is not zero (R-EXT-2)."""
    if bits:
        raise DecodeError(
            Reason.RESERVED_BITS, f"Bits of the {extension} extension that must be zero are set."
        )


def octets_of(words: tuple[int, ...]) -> bytes:
    """Big-endian octets of words."""
    return struct.pack(f">{len(words)}I", *words)


def words_of(octets: bytes, what: str) -> list[int]:
    """Words of big-endian octets; EncodeError, naming `what`, if they are not whole words."""
    if len(octets) % WORD_BYTES:
        raise EncodeError(f"{what} has {len(octets)} octets; whole words of {WORD_BYTES} octets are needed.")
    return list(struct.unpack(f">{len(octets) // WORD_BYTES}I", octets))
