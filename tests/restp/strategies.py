"""Packets for property tests: headers with any bits the rules allow, and the extensions they announce."""

from enum import IntFlag
from typing import TypeVar

from hypothesis import assume
from hypothesis import strategies as st

from restp_decoder import DecodeError, Header, Packet, rules
from restp_decoder.extensions import Arq, Cookie, Crc, Fec, Protection, Sack, Seq, Snack, Window
from restp_decoder.header import Error, Flags, Flow, Order, PathMessage, Paths, Sched
from restp_decoder.paths import (
    CapableFlags,
    Dss,
    JoinAck,
    JoinSyn,
    JoinSynAck,
    Mapping,
    MpCapable,
    Priority,
    Role,
)

Draw = st.DrawFn
Bits = TypeVar("Bits", bound=IntFlag)

PORTS = st.integers(0, 0xFFFF)
NUMBERS = st.integers(0, 0xFFFFFFFF)
OCTETS = st.integers(0, 0xFF)
PAYLOADS = st.binary(max_size=40)
ROLES = st.builds(Role, st.booleans(), OCTETS)


def _bits(kind: type[Bits]) -> st.SearchStrategy[Bits]:
    """Any set of the bits of a field."""
    every = sum(kind)
    return st.integers(0, every).map(lambda value: kind(value & every))


_CONTROL = [Flags(0), Flags.SYN, Flags.FIN, Flags.RST]
_OTHER_FLAGS = Flags.CWR | Flags.ECE | Flags.URG | Flags.ACK | Flags.PSH


@st.composite
def _headers(draw: Draw, has_payload: bool) -> Header:
    """Any base header that R-HDR-5 and R-HDR-6 allow."""
    flags = draw(st.sampled_from(_CONTROL)) | draw(_bits(Flags)) & _OTHER_FLAGS
    flow = draw(st.sampled_from([Flow(0), Flow.CON, Flow.OPT, Flow.OPT | Flow.CKI, Flow.CON | Flow.CXF]))
    error = draw(_bits(Error))
    paths = draw(st.sampled_from([Paths(0), Paths.MP, Paths.MP | Paths.MPM]))
    if not flow & (Flow.CON | Flow.OPT):
        flags &= Flags.CWR | Flags.ECE | Flags.URG | Flags.PSH
    if Flags.SYN not in flags:
        flow &= ~Flow.CKI
    if not has_payload or Error.FEC not in error or flags & (Flags.SYN | Flags.FIN | Flags.RST):
        error &= ~Error.ENC
    orders = [Order(0), Order.PAR, Order.FUL]
    if Flow.CON in flow and Error.ARQ in error:
        orders.append(Order.PAR | Order.FUL)
    return Header(
        source_port=draw(PORTS),
        destination_port=draw(PORTS),
        version=draw(st.integers(0, 1)),
        flags=flags,
        order=draw(st.sampled_from(orders)),
        flow=flow,
        error=error,
        paths=paths,
        sched=draw(_bits(Sched)),
        cong=draw(st.integers(0, 15)),
        win=draw(st.booleans()),
        k=draw(st.integers(0, 15)),
        mpt=draw(st.sampled_from(PathMessage)) if paths else PathMessage.NONE,
        dss=bool(paths) and draw(st.booleans()),
        cor=Flags.ACK in flags and Error.CRC in error and draw(st.booleans()),
    )


@st.composite
def packets(draw: Draw) -> Packet:
    """Any packet that a receiver takes, sealed or clear."""
    payload = draw(PAYLOADS)
    header = draw(_headers(bool(payload)))
    protection, tag = None, b""
    if header.version:
        protection = draw(st.builds(Protection, OCTETS, OCTETS, st.integers(0, 2**48 - 1)))
        tag = draw(st.binary(min_size=16, max_size=16)) if protection.epoch else b""
    try:
        rules.check_bits(header, bool(payload))
    except DecodeError:
        assume(False)
    cookie = rules.announces_cookie(header)
    # Beside an acknowledgement a cookie has 4 words and forbids a DSS nothing (R-COOKIE-4).
    opening = cookie and Flags.SYN in header.flags
    cookie_words = draw(st.integers(1, 4)) if opening else 4
    # A sealed packet has no checks of its own (R-PROT-6).
    has_crc = Error.CRC in header.error and not tag
    numbers: Seq | Arq | None = None
    if rules.announces_arq(header):
        numbers = draw(st.builds(Arq, NUMBERS, NUMBERS))
    elif rules.announces_seq(header, bool(payload)):
        numbers = draw(st.builds(Seq, NUMBERS))
    return Packet(
        header=header,
        protection=protection,
        crc=Crc() if has_crc else None,
        window=draw(st.builds(Window, PORTS)) if header.win else None,
        cookie=Cookie(4 * cookie_words * b"\xc0") if cookie else None,
        path_message=draw(_path_messages(header)),
        dss=draw(_signals(opening, has_crc or header.version == 1)) if header.dss else None,
        fec=draw(st.builds(Fec, OCTETS, st.integers(0, 0xFFFFFF)))
        if rules.announces_fec(header, bool(payload))
        else None,
        numbers=numbers,
        report=draw(_reports(header)),
        payload=payload,
        tag=tag,
    )


def _path_messages(
    header: Header,
) -> st.SearchStrategy[MpCapable | JoinSyn | JoinSynAck | JoinAck | Priority | None]:
    syn, ack, rst = (flag in header.flags for flag in (Flags.SYN, Flags.ACK, Flags.RST))
    keys = st.binary(min_size=8, max_size=8)
    match header.mpt:
        case PathMessage.MP_CAPABLE:
            return st.builds(MpCapable, _bits(CapableFlags), keys, st.none() if syn or rst else keys)
        case PathMessage.MP_JOIN if not syn:
            return st.builds(JoinAck, ROLES, st.binary(min_size=20, max_size=20))
        case PathMessage.MP_JOIN if ack:
            return st.builds(JoinSynAck, ROLES, keys, NUMBERS)
        case PathMessage.MP_JOIN:
            return st.builds(JoinSyn, ROLES, NUMBERS, NUMBERS)
        case PathMessage.PRIORITY:
            return st.builds(Priority, st.booleans(), OCTETS)
    return st.none()


@st.composite
def _signals(draw: Draw, beside_cookie: bool, checked_elsewhere: bool) -> Dss:
    data_ack = None if beside_cookie else draw(st.none() | NUMBERS)
    if not beside_cookie and draw(st.booleans()):
        return Dss(data_ack=data_ack)
    return Dss(
        length=draw(PORTS),
        data_fin=draw(st.booleans()),
        data_ack=data_ack,
        mapping=draw(st.builds(Mapping, NUMBERS, NUMBERS)),
        checked=not beside_cookie and not checked_elsewhere and draw(st.booleans()),
    )


def _reports(header: Header) -> st.SearchStrategy[Sack | Snack | None]:
    nak, sak = Error.NAK in header.error, Error.SAK in header.error
    if not rules.may_report(header) or not (nak or sak):
        return st.none()
    if not nak:
        return st.none() | st.builds(
            Sack, st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=8).map(tuple)
        )
    vectors = st.lists(NUMBERS, max_size=4).map(tuple) if sak else st.just(())
    return st.none() | st.builds(Snack, PORTS, st.integers(1, 0xFFFF), vectors)
