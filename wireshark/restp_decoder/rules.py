"""Rules about the bits of the base header (R-HDR-5, R-HDR-6) and the extensions they announce (chapter 3)."""

from collections.abc import Iterator

from restp_decoder.faults import DecodeError, Reason
from restp_decoder.header import Error, Flags, Flow, Header, Order, PathMessage, Paths

_CONTROL = Flags.SYN | Flags.FIN | Flags.RST


def check_codes(header: Header) -> None:
    """DecodeError `contradiction` for the code points that the registry calls invalid (first row of 3.12)."""
    streams = header.order == Order.PAR | Order.FUL
    if streams and not (Flow.CON in header.flow and Error.ARQ in header.error):
        raise _contradiction("PAR and FUL together are streams, which need CON and ARQ (R-HDR-5).")
    if header.paths == Paths.MPM:
        raise _contradiction("MPM is set without MP?; spreading needs several paths (R-HDR-6).")


def check_bits(header: Header, has_payload: bool) -> None:
    """DecodeError `contradiction` for all else of R-HDR-5, R-HDR-6, R-MPC-1, R-MPJ-1 and R-MPP-1."""
    for broken, sentence in (
        *_flag_rules(header),
        *_coding_rules(header, has_payload),
        *_path_rules(header),
    ):
        if broken:
            raise _contradiction(sentence)


def _contradiction(sentence: str) -> DecodeError:
    return DecodeError(Reason.CONTRADICTION, sentence)


def _flag_rules(header: Header) -> Iterator[tuple[bool, str]]:
    """R-HDR-5: broken or not, and the sentence."""
    flags, flow = header.flags, header.flow
    connected = bool(flow & (Flow.CON | Flow.OPT))
    yield (flags & _CONTROL).bit_count() > 1, "At most one of SYN, FIN and RST can be set (R-HDR-5)."
    yield (
        bool(flags & (_CONTROL | Flags.ACK)) and not connected,
        "ACK, SYN, FIN and RST need a connection: CON or OPT must be set (R-HDR-5).",
    )
    yield Flow.CON | Flow.OPT in flow, "CON and OPT exclude each other (R-HDR-5)."
    yield (
        Flow.CKI in flow and not (_opens_with_cookie(header) or _is_plain_ack(header)),
        "CKI needs SYN with OPT or in version 1, or ACK without FIN, RST and ENC (R-HDR-5).",
    )
    yield (
        header.cor and not (Flags.ACK in flags and Error.CRC in header.error),
        "COR needs ACK and CRC (R-HDR-5).",
    )


def _opens_with_cookie(header: Header) -> bool:
    return Flags.SYN in header.flags and (Flow.OPT in header.flow or header.version == 1)


def _is_plain_ack(header: Header) -> bool:
    return header.flags & (_CONTROL | Flags.ACK) == Flags.ACK and Error.ENC not in header.error


def _coding_rules(header: Header, has_payload: bool) -> Iterator[tuple[bool, str]]:
    """The rule of R-HDR-6 about ENC: broken or not, and the sentence."""
    if Error.ENC in header.error:
        yield Error.FEC not in header.error, "ENC needs FEC (R-HDR-6)."
        yield not has_payload, "ENC needs a payload (R-HDR-6)."
        yield bool(header.flags & _CONTROL), "ENC excludes SYN, FIN and RST (R-HDR-6)."


def _path_rules(header: Header) -> Iterator[tuple[bool, str]]:
    """R-HDR-6 about MPT and D, and on which packets an MPT may stand: broken or not, and the sentence."""
    syn, ack, rst = (flag in header.flags for flag in (Flags.SYN, Flags.ACK, Flags.RST))
    several = Paths.MP in header.paths
    yield header.mpt != PathMessage.NONE and not several, "MPT is set without MP? (R-HDR-6)."
    yield header.dss and not several, "D is set without MP? (R-HDR-6)."
    match header.mpt:
        case PathMessage.MP_CAPABLE:
            yield not (syn or rst or ack), "MP_CAPABLE with both keys needs ACK (R-MPC-1)."
        case PathMessage.MP_JOIN:
            yield rst or not (syn or ack), "MP_JOIN needs SYN or ACK, and no RST (R-MPJ-1)."
        case PathMessage.PRIORITY:
            yield not ack or syn or rst, "Subflow priority needs ACK, and neither SYN nor RST (R-MPP-1)."


def announces_cookie(header: Header) -> bool:
    """SYN with OPT: presented without CKI or granted with it (R-COOKIE-1); else by CKI (R-COOKIE-4)."""
    if Flags.SYN in header.flags and Flow.OPT in header.flow:
        return (Flags.ACK in header.flags) == (Flow.CKI in header.flow)
    return Flow.CKI in header.flow


def announces_fec(header: Header, has_payload: bool) -> bool:
    """The FEC word stands on SYN, encoded packets, and what acknowledges under HARQ (R-FEC-1)."""
    if Error.FEC not in header.error:
        return False
    acknowledges = Error.ARQ in header.error and Flags.ACK in header.flags and not has_payload
    return Flags.SYN in header.flags or Error.ENC in header.error or acknowledges


def announces_arq(header: Header) -> bool:
    """Two numbers stand on every packet with ARQ, every control packet and every ACK (R-ARQ-1)."""
    return Error.ARQ in header.error or bool(header.flags & (_CONTROL | Flags.ACK))


def announces_seq(header: Header, has_payload: bool) -> bool:
    """One number stands on data if no ARQ extension does and somebody needs it (R-SEQ-1)."""
    needed = Error.FEC in header.error or header.order != 0 or header.cong != 0 or header.dss
    return not announces_arq(header) and has_payload and needed


def may_report(header: Header) -> bool:
    """SACK and SNACK stand on packets with ACK and without SYN (table of chapter 3)."""
    return Flags.ACK in header.flags and Flags.SYN not in header.flags
