"""Which packets open a session: requests (SYN) and answers to them (SYN-ACK) of each transport, by their
headers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]

_IPV4_BYTES, _IPV6_BYTES = 20, 40
Mark = tuple[int, int, int]
"""A byte of the transport's header: its offset, the bits that count, and what they are."""


@dataclass(frozen=True)
class Opening:
    """How a transport's opening packets look; `ports_at` is the offset of its source port."""

    ip_protocol: int
    ports_at: int
    marks: Mapping[str, tuple[Mark, ...]]
    """By the plan's name of the packet."""
    empty: bool = False
    """Whether they are told from packets with data that repeat their marks: a UDP datagram as long as its
    header (8 bytes) and the words that ResTP's field HL counts."""
    request_with_data: bool = False
    """Whether the SYN may carry data of its own, so that only answers have to be empty."""


# SYN is 0x02 and ACK 0x10 in the flags of TCP (RFC 9293) and of ResTP (docs/restp-spec.md, chapter 2);
# ResTP's bit CKI, 0x20 in the byte behind, marks requests and grants of cookies.
_TCP = Opening(6, 0, {"syn": ((13, 0x12, 0x02),), "syn-ack": ((13, 0x12, 0x12),)})
# The types of the chunks INIT and INIT ACK (RFC 9260, section 3.2).
_SCTP = Opening(132, 0, {"syn": ((12, 0xFF, 1),), "syn-ack": ((12, 0xFF, 2),)})
_RESTP_UDP = Opening(
    17, 0, {"syn": ((9, 0x12, 0x02), (10, 0x20, 0)), "syn-ack": ((9, 0x12, 0x12), (10, 0x20, 0))}, empty=True
)
_RESTP_IP = Opening(
    253, 8, {"syn": ((1, 0x12, 0x02), (2, 0x20, 0)), "syn-ack": ((1, 0x12, 0x12), (2, 0x20, 0))}
)

# A record with a handshake message in clear (22), behind UDP's header, and its type: ClientHello (1);
# ServerHello (2), HelloRetryRequest among them, or HelloVerifyRequest (3) of DTLS 1.2 (RFC 9147, 5.2).
_DTLS = Opening(17, 0, {"syn": ((8, 0xFF, 22), (21, 0xFF, 1)), "syn-ack": ((8, 0xFF, 22), (21, 0xFE, 2))})

# The types of RaSTA's connection request (6200) and response (6201), lowest octet first, behind the headers
# of UDP and of a frame and the message's length (`srtyp_sr_types.h` of SBB's stack).
_RASTA = Opening(
    17, 0, {"syn": ((18, 0xFF, 0x38), (19, 0xFF, 0x18)), "syn-ack": ((18, 0xFF, 0x39), (19, 0xFF, 0x18))}
)


def opening_of(flow: Mapping[str, Any]) -> Opening | None:
    """The opening packets of a plan's flow; None where they cannot be told from others."""
    stack, params = flow["stack"], flow.get("stack_params", {})
    if stack == "tls":
        stack = params.get("transport", "tcp")
    if stack == "restp":
        if params.get("encapsulation") == "ip":
            return _RESTP_IP
        return replace(_RESTP_UDP, request_with_data=not params.get("syn_first", True))
    return {
        "tcp": _TCP,
        "mptcp": _TCP,
        "sctp": _SCTP,
        "rasta": _RASTA,
        "rasta-tls": _TCP,
        "dtls": _DTLS,
    }.get(stack)


ANSWER = "answer"
"""The packet without which the side that opens a session does not have it."""

# TCP's client is established with the SYN-ACK, SCTP's with the chunk COOKIE ACK (11; RFC 9260, section 5.1),
# which stands first in its packet; QUIC's needs the handshake of the other side, of which the first datagram
# is a part.
_ANSWERS = {
    "tcp": Opening(6, 0, {ANSWER: _TCP.marks["syn-ack"]}),
    "mptcp": Opening(6, 0, {ANSWER: _TCP.marks["syn-ack"]}),
    "rasta": Opening(17, 0, {ANSWER: _RASTA.marks["syn-ack"]}),
    "rasta-tls": Opening(6, 0, {ANSWER: _TCP.marks["syn-ack"]}),
    "sctp": Opening(132, 0, {ANSWER: ((12, 0xFF, 11),)}),
}
_QUIC_ANSWER = Opening(17, 0, {ANSWER: ()})

# DTLS 1.2: the receiver's ChangeCipherSpec (20), with which its Finished comes (RFC 6347, section 4.2.4).
# 1.3: its ServerHello (2), with or before its Finished; where it asked for a cookie first, its message 1,
# behind the HelloRetryRequest, which looks the same (RFC 9147, sections 5.1 and 5.2).
_DTLS_12_ANSWER = ((8, 0xFF, 20),)
_DTLS_13_ANSWER = ((8, 0xFF, 22), (21, 0xFF, 2))
_DTLS_MESSAGE_NUMBER = 26


def answer_of(flow: Mapping[str, Any]) -> Opening:
    """What the `ANSWER` looks like for which the transport of a plan's flow waits."""
    stack, params = flow["stack"], flow.get("stack_params", {})
    if stack == "tls":
        stack = params.get("transport", "tcp")
    if stack == "restp":
        restp = _RESTP_IP if params.get("encapsulation") == "ip" else _RESTP_UDP
        return Opening(restp.ip_protocol, restp.ports_at, {ANSWER: restp.marks["syn-ack"]})
    if stack == "dtls":
        number = (_DTLS_MESSAGE_NUMBER, 0xFF, int(params.get("cookie", True)))
        marks = _DTLS_12_ANSWER if params.get("version") == "1.2" else (*_DTLS_13_ANSWER, number)
        return Opening(17, 0, {ANSWER: marks})
    return _ANSWERS.get(stack, _QUIC_ANSWER)


def opens(inner: Bytes, opening: Opening, packet: str, port: int) -> Flags:
    """Which of the packets (rows of captured bytes) are this `packet` of a session with the receiver's
    `port`."""
    ipv4 = inner[:, 0] >> 4 == 4
    start = np.where(ipv4, _IPV4_BYTES, _IPV6_BYTES)
    rows = np.arange(len(inner))

    def byte(offset: int) -> npt.NDArray[np.int64]:
        values: npt.NDArray[np.int64] = inner[rows, start + offset].astype(np.int64)
        return values

    port_at = opening.ports_at + (2 if packet == "syn" else 0)
    found: Flags = np.where(ipv4, inner[:, 9], inner[:, 6]) == opening.ip_protocol
    found &= byte(port_at) * 256 + byte(port_at + 1) == port
    for offset, mask, value in opening.marks[packet]:
        found &= byte(offset) & mask == value
    if opening.empty and not (packet == "syn" and opening.request_with_data):
        found &= byte(4) * 256 + byte(5) == 8 + 4 * (byte(8) & 15)
    return found
