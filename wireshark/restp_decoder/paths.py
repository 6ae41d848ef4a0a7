"""Extensions about several paths (chapters 3.4 to 3.7): MP_CAPABLE, MP_JOIN, subflow priority and DSS."""

from dataclasses import dataclass, field
from enum import IntFlag
from typing import Self

from restp_decoder.faults import DecodeError, Reason
from restp_decoder.words import Words, octets_of, require_zero, words_of

KEY_BYTES = 8
"""Octets of a key, and of the HMAC on a SYN-ACK (3.4, 3.5)."""

JOIN_HMAC_BYTES = 20
"""Octets of the HMAC on the third packet of a join (3.5)."""


class CapableFlags(IntFlag):
    """Flags of MP_CAPABLE (R-MPC-2): A wants payload checks, G is HMAC-SHA-256, H is HMAC-SHA-1.

    C to F are not assigned, and what is called B must be zero.
    """

    A = 0x80
    C = 0x20
    D = 0x10
    E = 0x08
    F = 0x04
    G = 0x02
    H = 0x01


@dataclass(frozen=True, slots=True)
class MpCapable:
    """MP_CAPABLE (3.4): keys of 8 octets, the second one only where neither SYN nor RST is set (R-MPC-1)."""

    flags: CapableFlags
    key: bytes
    responder_key: bytes | None = None

    @classmethod
    def read(cls, words: Words, both_keys: bool) -> Self:
        """Take 3 words, or 5 with both keys; raises DecodeError `extension_cut` or `reserved_bits`."""
        first, *keys = words.take(5 if both_keys else 3, "MP_CAPABLE")
        # 0x40 is bit B, which R-MPC-2 counts as padding.
        require_zero(first & 0x40FF_FFFF, "MP_CAPABLE")
        octets = octets_of(tuple(keys))
        return cls(CapableFlags(first >> 24), octets[:KEY_BYTES], octets[KEY_BYTES:] if both_keys else None)

    def words(self) -> list[int]:
        """Three or five words."""
        return [self.flags << 24, *words_of(self.key + (self.responder_key or b""), "The keys of MP_CAPABLE")]


@dataclass(frozen=True, slots=True)
class Role:
    """First word of MP_JOIN and all of subflow priority (3.5, 3.6): the sender's address id and bit B."""

    backup: bool
    address_id: int

    @classmethod
    def from_word(cls, word: int, extension: str) -> Self:
        """Read the word; raises DecodeError `reserved_bits`, naming `extension`."""
        require_zero(word & 0xEF00_FFFF, extension)
        return cls(bool(word >> 28 & 1), word >> 16 & 0xFF)

    def words(self) -> list[int]:
        """The one word."""
        return [self.backup << 28 | self.address_id << 16]


@dataclass(frozen=True, slots=True)
class Priority(Role):
    """Subflow priority (3.6): the new value of the backup bit of the subflow the packet arrives on."""

    @classmethod
    def read(cls, words: Words) -> Self:
        """Take one word; raises DecodeError `extension_cut` or `reserved_bits`."""
        return cls.from_word(words.take(1, "priority")[0], "priority")


@dataclass(frozen=True, slots=True)
class JoinSyn:
    """MP_JOIN on a SYN (3.5): the token that names the connection and a random number, 32 bits each."""

    role: Role
    token: int
    nonce: int

    def words(self) -> list[int]:
        """The three words."""
        return [*self.role.words(), self.token, self.nonce]


@dataclass(frozen=True, slots=True)
class JoinSynAck:
    """MP_JOIN on a SYN-ACK (3.5): 8 octets of the responder's HMAC and a random number of 32 bits."""

    role: Role
    hmac: bytes
    nonce: int

    def words(self) -> list[int]:
        """The four words."""
        return [*self.role.words(), *words_of(self.hmac, "The HMAC of MP_JOIN"), self.nonce]


@dataclass(frozen=True, slots=True)
class JoinAck:
    """MP_JOIN on the third packet (3.5): 20 octets of the initiator's HMAC."""

    role: Role
    hmac: bytes

    def words(self) -> list[int]:
        """The six words."""
        return [*self.role.words(), *words_of(self.hmac, "The HMAC of MP_JOIN")]


def read_join(words: Words, syn: bool, ack: bool) -> JoinSyn | JoinSynAck | JoinAck:
    """Take the form of MP_JOIN that SYN and ACK announce (R-MPJ-1).

    Raises DecodeError `extension_cut` or `reserved_bits`.
    """
    count = 6 if not syn else 4 if ack else 3
    first, *rest = words.take(count, "MP_JOIN")
    role = Role.from_word(first, "MP_JOIN")
    if not syn:
        return JoinAck(role, octets_of(tuple(rest)))
    if ack:
        return JoinSynAck(role, octets_of(tuple(rest[:2])), rest[2])
    return JoinSyn(role, rest[0], rest[1])


@dataclass(frozen=True, slots=True)
class Mapping:
    """Where the packets of a DSS belong (R-DSS-2): subflow number `ssn` is data number `dsn`."""

    dsn: int
    ssn: int


@dataclass(frozen=True, slots=True)
class Dss:
    """Data sequence signal (3.7); `data_ack` is there if A is set, `mapping` if M is, `checked` is C.

    `length` counts packets. `payload_crc` is the check as received; its value follows from the payload, so it
    takes no part in comparisons.
    """

    length: int = 0
    data_fin: bool = False
    data_ack: int | None = None
    mapping: Mapping | None = None
    checked: bool = False
    payload_crc: int = field(default=0, compare=False)

    @classmethod
    def read(cls, words: Words) -> Self:
        """Take 1 to 5 words as the flag word says.

        Raises DecodeError `extension_cut`, `reserved_bits`, or `contradiction` for R-DSS-1.
        """
        first = words.peek(1, "DSS")[0]
        fin, mapped, acks, checked = (bool(first >> bit & 1) for bit in (31, 30, 29, 28))
        _, *rest = words.take(1 + acks + 2 * mapped + checked, "DSS")
        require_zero(first & 0x0FFF_0000, "DSS")
        length = first & 0xFFFF
        if not mapped and (fin or checked or length):
            raise DecodeError(
                Reason.CONTRADICTION,
                "The DSS has F, C or a length but no mapping; each of these needs M (R-DSS-1).",
            )
        data_ack = rest.pop(0) if acks else None
        mapping = Mapping(rest.pop(0), rest.pop(0)) if mapped else None
        return cls(length, fin, data_ack, mapping, checked, rest.pop() if checked else 0)

    def words(self) -> list[int]:
        """One to five words."""
        acks, mapped = self.data_ack is not None, self.mapping is not None
        words = [self.data_fin << 31 | mapped << 30 | acks << 29 | self.checked << 28 | self.length]
        words += [] if self.data_ack is None else [self.data_ack]
        words += [] if self.mapping is None else [self.mapping.dsn, self.mapping.ssn]
        return words + ([self.payload_crc] if self.checked else [])
