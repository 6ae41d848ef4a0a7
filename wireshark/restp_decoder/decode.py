"""From a datagram to a packet, judged in the order of R-HDR-10: the first failure is the reason to drop."""

import struct

from restp_decoder import rules
from restp_decoder.checks import PseudoHeader, crc32c, header_check
from restp_decoder.extensions import Arq, Cookie, Crc, Fec, Protection, Sack, Seq, Snack, Window
from restp_decoder.faults import DecodeError, Reason
from restp_decoder.header import (
    BASE_WORDS,
    Error,
    Flags,
    Header,
    PathMessage,
    header_length_words,
    reserved_bits,
)
from restp_decoder.packet import TAG_BYTES, Packet, PayloadCheck
from restp_decoder.paths import Dss, JoinAck, JoinSyn, JoinSynAck, MpCapable, Priority, read_join
from restp_decoder.words import WORD_BYTES, Words

_COOKIE_WORDS = range(1, 5)
# Without SYN, where a report may follow (R-COOKIE-4).
_CHALLENGE_WORDS = 4
_DSS_WORDS_BESIDE_COOKIE = 3
_PROTECTION_WORDS = 2


def decode(datagram: bytes, *, pseudo_header: PseudoHeader | None = None) -> Packet:
    """Read one ResTP datagram.

    `pseudo_header` holds the outer addresses if the datagram travelled directly over IP, None inside UDP
    (R-CRC-2). A corrupt payload is no error, `Packet.payload_check` tells (R-CRC-6). What is sealed stays so.

    Raises DecodeError, and nothing else, if a receiver must drop the datagram.
    """
    header_bytes = _header_length_bytes(datagram)
    header_octets, body = datagram[:header_bytes], datagram[header_bytes:]
    all_words = struct.unpack(f">{header_bytes // WORD_BYTES}I", header_octets)
    header = Header.from_words(*all_words[:BASE_WORDS])
    if Error.CRC in header.error and not _is_sealed(header, header_octets):
        _check_header(header, header_octets, len(datagram), pseudo_header)
    if reserved_bits(*all_words[:2]):
        raise DecodeError(
            Reason.RESERVED_BITS, "Bits of the base header that must be zero are set (R-HDR-4)."
        )
    rules.check_codes(header)
    words = Words(all_words[BASE_WORDS:])
    protection = Protection.read(words) if header.version else None
    payload, tag = _split_body(body, protection)
    rules.check_bits(header, bool(payload))
    return _read_extensions(header, words, protection, payload, tag)


def _header_length_bytes(datagram: bytes) -> int:
    """Octets of the header, after the checks that need no more than its length fields (R-HDR-2, R-HDR-3)."""
    if len(datagram) < BASE_WORDS * WORD_BYTES:
        raise DecodeError(
            Reason.TOO_SHORT,
            f"The datagram has {len(datagram)} octets; a base header needs {BASE_WORDS * WORD_BYTES}.",
        )
    first, second = struct.unpack_from(">2I", datagram)
    if first >> 28 > 1:
        raise DecodeError(
            Reason.UNKNOWN_VERSION, f"The version is {first >> 28}; versions 0 and 1 are known (R-HDR-2)."
        )
    count = header_length_words(first, second)
    if count < BASE_WORDS:
        raise DecodeError(
            Reason.HEADER_TOO_SMALL,
            f"HL and HLX give a header of {count} words; the base header alone has {BASE_WORDS} (R-HDR-3).",
        )
    if count * WORD_BYTES > len(datagram):
        raise DecodeError(
            Reason.HEADER_BEYOND_DATAGRAM,
            f"HL and HLX give a header of {count * WORD_BYTES} octets, but the datagram has {len(datagram)}.",
        )
    return count * WORD_BYTES


def _is_sealed(header: Header, header_octets: bytes) -> bool:
    """Whether an AEAD replaces the checks: version 1 and an epoch, the next octet, above 0 (R-PROT-6)."""
    return header.version == 1 and any(header_octets[BASE_WORDS * WORD_BYTES :][:1])


def _check_header(
    header: Header, header_octets: bytes, length_bytes: int, pseudo_header: PseudoHeader | None
) -> None:
    """Find the CRC extension and compare its HEC before any other field is believed (R-CRC-5)."""
    has_body = length_bytes > len(header_octets)
    offset = (BASE_WORDS + (_PROTECTION_WORDS if header.version else 0)) * WORD_BYTES
    if offset + (2 if has_body else 1) * WORD_BYTES > len(header_octets):
        raise DecodeError(
            Reason.EXTENSION_CUT, "CRC is set, but the header ends before the CRC extension does (R-EXT-3)."
        )
    found = int.from_bytes(header_octets[offset : offset + 2])
    right = header_check(header_octets, offset, length_bytes, pseudo_header)
    if found != right:
        raise DecodeError(
            Reason.HEADER_CORRUPT, f"The HEC is {found:#06x}, but the header gives {right:#06x} (R-CRC-5)."
        )


def _split_body(body: bytes, protection: Protection | None) -> tuple[bytes, bytes]:
    """Payload and tag of the body; only a packet with an epoch above 0 has a tag (chapter 16)."""
    if protection is None or protection.epoch == 0:
        return body, b""
    if len(body) < TAG_BYTES:
        raise DecodeError(
            Reason.TAG_CUT,
            f"The packet is sealed but {len(body)} octets follow its header; the tag needs {TAG_BYTES}.",
        )
    return body[:-TAG_BYTES], body[-TAG_BYTES:]


def _read_extensions(
    header: Header, words: Words, protection: Protection | None, payload: bytes, tag: bytes
) -> Packet:
    """Read all that follows Protection, in the order of R-EXT-1."""
    has_payload = bool(payload)
    sealed = protection is not None and protection.epoch > 0
    crc = Crc.read(words, has_body=bool(payload)) if Error.CRC in header.error and not sealed else None
    window = Window.read(words) if header.win else None
    cookie = _read_cookie(header, words) if rules.announces_cookie(header) else None
    path_message = _read_path_message(header, words)
    beside_cookie = cookie is not None and Flags.SYN in header.flags
    dss = _read_dss(header, words, beside_cookie=beside_cookie) if header.dss else None
    fec = Fec.read(words) if rules.announces_fec(header, has_payload) else None
    numbers: Seq | Arq | None = None
    if rules.announces_arq(header):
        numbers = Arq.read(words)
    elif rules.announces_seq(header, has_payload):
        numbers = Seq.read(words)
    return Packet(
        header=header,
        protection=protection,
        crc=crc,
        window=window,
        cookie=cookie,
        path_message=path_message,
        dss=dss,
        fec=fec,
        numbers=numbers,
        report=_read_report(header, words),
        payload=payload,
        tag=tag,
        payload_check=_check_payload(crc, dss, payload),
    )


def _read_cookie(header: Header, words: Words) -> Cookie:
    """The words that MP_CAPABLE or MP_JOIN, DSS, FEC and ARQ leave over (R-COOKIE-2); 4 without SYN."""
    if Flags.SYN not in header.flags:
        return Cookie.read(words, _CHALLENGE_WORDS)
    ack = Flags.ACK in header.flags
    # These are the forms for SYN; priority is excluded there (R-MPP-1).
    path_words = {PathMessage.MP_CAPABLE: 3, PathMessage.MP_JOIN: 4 if ack else 3}.get(header.mpt, 0)
    others = (
        path_words
        + (_DSS_WORDS_BESIDE_COOKIE if header.dss else 0)
        + (1 if Error.FEC in header.error else 0)
        + 2  # every SYN has the ARQ extension (R-ARQ-1)
    )
    count = words.left - others
    if count not in _COOKIE_WORDS:
        raise DecodeError(
            Reason.COOKIE_LENGTH,
            f"The other extensions leave {count} words to the cookie; it must have 1 to 4 (R-COOKIE-2).",
        )
    return Cookie.read(words, count)


def _read_path_message(
    header: Header, words: Words
) -> MpCapable | JoinSyn | JoinSynAck | JoinAck | Priority | None:
    """The extension that MPT announces."""
    syn, ack, rst = (flag in header.flags for flag in (Flags.SYN, Flags.ACK, Flags.RST))
    match header.mpt:
        case PathMessage.MP_CAPABLE:
            return MpCapable.read(words, both_keys=not (syn or rst))
        case PathMessage.MP_JOIN:
            return read_join(words, syn, ack)
        case PathMessage.PRIORITY:
            return Priority.read(words)
        case _:
            return None


def _read_dss(header: Header, words: Words, *, beside_cookie: bool) -> Dss:
    """The DSS, and what its neighbours forbid it (R-COOKIE-3, R-DSS-4)."""
    dss = Dss.read(words)
    if beside_cookie and (dss.mapping is None or dss.data_ack is not None or dss.checked):
        raise DecodeError(
            Reason.CONTRADICTION, "Beside a cookie a DSS must have M, and neither A nor C (R-COOKIE-3)."
        )
    if dss.checked and (Error.CRC in header.error or header.version):
        raise DecodeError(
            Reason.CONTRADICTION, "C of the DSS excludes the CRC extension and version 1 (R-DSS-4)."
        )
    return dss


def _read_report(header: Header, words: Words) -> Sack | Snack | None:
    """What NAK and SAK make of the words left over (R-EXT-3, R-SACK-2, R-SNACK-4)."""
    if not words.left:
        return None
    nak, sak = Error.NAK in header.error, Error.SAK in header.error
    if not rules.may_report(header) or not (nak or sak):
        raise DecodeError(
            Reason.UNCLAIMED_WORDS, f"{words.left} words of the header belong to no extension (R-EXT-3)."
        )
    if not nak:
        if words.left % 2:
            raise DecodeError(
                Reason.SACK_LENGTH, f"{words.left} words are left for SACK; a block has two (R-SACK-2)."
            )
        return Sack.read(words)
    snack = Snack.read(words)
    if snack.vector and not sak:
        raise DecodeError(
            Reason.VECTOR_WITHOUT_SAK, "A bit vector follows the hole although SAK is not set (R-SNACK-4)."
        )
    if not snack.size:
        raise DecodeError(Reason.EMPTY_HOLE, "Hole 1 has size 0; it must have at least 1 packet (R-SNACK-1).")
    return snack


def _check_payload(crc: Crc | None, dss: Dss | None, payload: bytes) -> PayloadCheck:
    """Compare whichever CRC-32C there is: over the body (R-CRC-3), or over the payload (R-DSS-4)."""
    if crc is not None and crc.payload_crc is not None:
        good = crc.payload_crc == crc32c(payload)
    elif dss is not None and dss.checked:
        good = dss.payload_crc == crc32c(payload)
    else:
        return PayloadCheck.ABSENT
    return PayloadCheck.GOOD if good else PayloadCheck.CORRUPT
