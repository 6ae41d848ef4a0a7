"""Second, independent reader and writer of ResTP datagrams, made from `docs/restp-spec.md` alone.

It shares no code with the transport itself, so that each can be held against the other: a datagram that one
writes and the other refuses or reads differently shows a mistake in one of them or a gap in the document.

    >>> from restp_decoder import decode
    >>> packet = decode(bytes.fromhex("03000000000100009c401f9068656c6c6f"))
    >>> packet.header.destination_port, packet.payload
    (8080, b'hello')
"""

from restp_decoder.checks import PseudoHeader
from restp_decoder.decode import decode
from restp_decoder.encode import encode
from restp_decoder.faults import DecodeError, EncodeError, Reason
from restp_decoder.frames import decode_frames, encode_frames
from restp_decoder.header import Header
from restp_decoder.packet import Packet, PayloadCheck
from restp_decoder.sender import sender_faults

__all__ = [
    "DecodeError",
    "EncodeError",
    "Header",
    "Packet",
    "PayloadCheck",
    "PseudoHeader",
    "Reason",
    "decode",
    "decode_frames",
    "encode",
    "encode_frames",
    "sender_faults",
]
