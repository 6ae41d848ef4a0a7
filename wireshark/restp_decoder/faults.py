"""Why a datagram is dropped (the reasons of chapter 3.12), a packet not written or an input not read."""

from enum import StrEnum


class Reason(StrEnum):
    """Reasons to drop a datagram, by the names of chapter 3.12."""

    TOO_SHORT = "too_short"
    UNKNOWN_VERSION = "unknown_version"
    HEADER_TOO_SMALL = "header_too_small"
    HEADER_BEYOND_DATAGRAM = "header_beyond_datagram"
    EXTENSION_CUT = "extension_cut"
    HEADER_CORRUPT = "header_corrupt"
    RESERVED_BITS = "reserved_bits"
    CONTRADICTION = "contradiction"
    TAG_CUT = "tag_cut"
    COOKIE_LENGTH = "cookie_length"
    UNCLAIMED_WORDS = "unclaimed_words"
    SACK_LENGTH = "sack_length"
    VECTOR_WITHOUT_SAK = "vector_without_sak"
    EMPTY_HOLE = "empty_hole"


class DecodeError(ValueError):
    """A receiver must drop this datagram; `reason` is the first one that applies in the order of R-HDR-10."""

    def __init__(self, reason: Reason, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = reason


class EncodeError(ValueError):
    """No datagram can say this packet: a value does not fit, or a receiver would drop or misread it."""


class InputError(ValueError):
    """What was given is no capture and no datagram in hex: one sentence that says what would be right."""
