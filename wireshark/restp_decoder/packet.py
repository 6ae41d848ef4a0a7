"""A whole ResTP packet: base header, extensions, payload."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from restp_decoder.extensions import Arq, Cookie, Crc, Fec, Protection, Sack, Seq, Snack, Window
from restp_decoder.header import BASE_WORDS, Header
from restp_decoder.paths import Dss, JoinAck, JoinSyn, JoinSynAck, MpCapable, Priority

TAG_BYTES = 16
"""Octets of the tag behind the payload of a sealed packet (chapter 16)."""

Extension: TypeAlias = (
    Protection
    | Crc
    | Window
    | Cookie
    | MpCapable
    | JoinSyn
    | JoinSynAck
    | JoinAck
    | Priority
    | Dss
    | Fec
    | Seq
    | Arq
    | Sack
    | Snack
)


class PayloadCheck(StrEnum):
    """What the CRC-32C of the CRC extension or of DSS says about body or payload (R-CRC-6, R-DSS-4)."""

    ABSENT = "absent"
    GOOD = "good"
    CORRUPT = "corrupt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Packet:
    """What a datagram says; an extension that is absent is None.

    `payload` is ciphertext and `tag` has 16 octets if the packet is sealed (version 1, epoch above 0); else
    `tag` is empty. `payload_check` is a finding about the datagram and takes no part in comparisons.
    """

    header: Header
    protection: Protection | None = None
    crc: Crc | None = None
    window: Window | None = None
    cookie: Cookie | None = None
    path_message: MpCapable | JoinSyn | JoinSynAck | JoinAck | Priority | None = None
    dss: Dss | None = None
    fec: Fec | None = None
    numbers: Seq | Arq | None = None
    report: Sack | Snack | None = None
    payload: bytes = b""
    tag: bytes = b""
    payload_check: PayloadCheck = field(default=PayloadCheck.ABSENT, compare=False)

    @property
    def extensions(self) -> tuple[Extension, ...]:
        """Extensions that are present, in the order of R-EXT-1."""
        slots = (
            self.protection,
            self.crc,
            self.window,
            self.cookie,
            self.path_message,
            self.dss,
            self.fec,
            self.numbers,
            self.report,
        )
        return tuple(extension for extension in slots if extension is not None)

    @property
    def header_words(self) -> int:
        """Words of the header, extensions included (R-HDR-3)."""
        others = sum(len(extension.words()) for extension in self.extensions if extension is not self.crc)
        # The second word of the CRC extension goes with the body, also before its value is known (R-CRC-4).
        crc = 0 if self.crc is None else 2 if self.payload else 1
        return BASE_WORDS + others + crc

    @property
    def is_stub(self) -> bool:
        """Whether it stands for data without bringing them: a mapping with a length, no payload (R-MP-15)."""
        dss = self.dss
        return dss is not None and dss.length > 0 and not dss.data_fin and not self.payload

    @property
    def missing(self) -> tuple[int, ...]:
        """Numbers that a NACK or SNACK reports as missing (R-SNACK-3)."""
        if isinstance(self.report, Snack) and isinstance(self.numbers, Arq):
            return self.report.missing(self.numbers.acknowledgement)
        return ()
