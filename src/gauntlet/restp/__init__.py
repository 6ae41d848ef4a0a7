"""Second, independent reader and writer of ResTP datagrams, made from `docs/restp-spec.md` alone.

It shares no code with the transport itself, so that each can be held against the other: a datagram that one
writes and the other refuses or reads differently shows a mistake in one of them or a gap in the document.

    >>> from gauntlet.restp import decode
    >>> packet = decode(bytes.fromhex("03000000000100009c401f9068656c6c6f"))
    >>> packet.header.destination_port, packet.payload
    (8080, b'hello')
"""

from gauntlet.restp.checks import PseudoHeader
from gauntlet.restp.decode import decode
from gauntlet.restp.encode import encode
from gauntlet.restp.faults import DecodeError, EncodeError, Reason
from gauntlet.restp.header import Header
from gauntlet.restp.packet import Packet, PayloadCheck
from gauntlet.restp.sender import sender_faults

__all__ = [
    "DecodeError",
    "EncodeError",
    "Header",
    "Packet",
    "PayloadCheck",
    "PseudoHeader",
    "Reason",
    "decode",
    "encode",
    "sender_faults",
]
