"""Frames (chapter 11.1): what a payload consists of where the connection carries streams (Ord 11)."""

from dataclasses import dataclass

from restp_decoder.faults import DecodeError, EncodeError, Reason

MAX_NUMBER = (1 << 62) - 1
"""Largest number of a frame (R-STR-2)."""

_MAX_CODE = 0xFFFF_FFFF
_SIZES = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Data:
    """Octets of a stream from `offset` on; `fin` says that the stream ends with them."""

    stream: int
    offset: int
    data: bytes
    fin: bool = False


@dataclass(frozen=True, slots=True)
class Reset:
    """The sender ends a stream of `final_length` octets before its time."""

    stream: int
    code: int
    final_length: int


@dataclass(frozen=True, slots=True)
class Stop:
    """The receiver wants no more of a stream."""

    stream: int
    code: int


@dataclass(frozen=True, slots=True)
class Credit:
    """Octets of all streams together that may be sent."""

    limit: int


@dataclass(frozen=True, slots=True)
class StreamCredit:
    """Octets of one stream that may be sent."""

    stream: int
    limit: int


@dataclass(frozen=True, slots=True)
class Streams:
    """Streams of a kind that may be opened."""

    limit: int
    one_way: bool = False


@dataclass(frozen=True, slots=True)
class Priority:
    """How the receiver of a stream wants it to be served."""

    stream: int
    urgency: int
    turns: bool = False


Frame = Data | Reset | Stop | Credit | StreamCredit | Streams | Priority


def number_octets(value: int) -> bytes:
    """The shortest spelling of a number (R-STR-2); EncodeError beyond 62 bits."""
    for code, size in enumerate(_SIZES):
        if 0 <= value < 1 << (8 * size - 2):
            return (value | code << (8 * size - 2)).to_bytes(size, "big")
    raise EncodeError(f"{value} is no number of a frame; it has 62 bits at most.")


class _Octets:
    """What is left of a payload."""

    def __init__(self, payload: bytes) -> None:
        self.rest = payload

    def take(self, count: int) -> bytes:
        taken, self.rest = self.rest[:count], self.rest[count:]
        if len(taken) < count:
            raise _fault("The payload ends inside a frame (R-STR-3).")
        return taken

    def number(self, most: int = MAX_NUMBER) -> int:
        first = self.rest[:1] or self.take(1)
        size = _SIZES[first[0] >> 6]
        octets = self.take(size)
        value = int.from_bytes(octets, "big") & (1 << (8 * size - 2)) - 1
        if number_octets(value) != octets:
            raise _fault("A number has more octets than it needs (R-STR-2).")
        if value > most:
            raise _fault(f"A number is {value}; its place allows {most} (R-STR-2).")
        return value


def _fault(sentence: str) -> DecodeError:
    return DecodeError(Reason.CONTRADICTION, sentence)


def _frame(octets: _Octets) -> Frame:  # noqa: PLR0911 - one return a kind of frame
    kind = octets.take(1)[0]
    match kind:
        case 0x01 | 0x11:
            stream, offset = octets.number(), octets.number()
            data = octets.take(octets.number())
            if offset + len(data) > MAX_NUMBER:
                raise _fault("A stream is longer than a number can tell (R-STR-2).")
            return Data(stream, offset, data, kind == 0x11)
        case 0x02:
            return Reset(octets.number(), octets.number(_MAX_CODE), octets.number())
        case 0x03:
            return Stop(octets.number(), octets.number(_MAX_CODE))
        case 0x04:
            return Credit(octets.number())
        case 0x05:
            return StreamCredit(octets.number(), octets.number())
        case 0x06 | 0x16:
            return Streams(octets.number(), kind == 0x16)
        case 0x07:
            stream, how = octets.number(), octets.take(1)[0]
            if how > 15:
                raise _fault("Zero bits of a PRIORITY frame are set (R-STR-3).")
            return Priority(stream, how >> 1, bool(how & 1))
    raise _fault(f"0x{kind:02x} begins no frame (R-STR-3).")


def decode_frames(payload: bytes) -> list[Frame]:
    """The frames of a payload; DecodeError `contradiction` if it is no sequence of frames (R-STR-11)."""
    octets, found = _Octets(payload), list[Frame]()
    while octets.rest:
        found.append(_frame(octets))
    return found


def encode_frames(frames: list[Frame]) -> bytes:
    """The payload that consists of `frames`; EncodeError if a number does not fit."""
    return b"".join(_encode(frame) for frame in frames)


def _encode(frame: Frame) -> bytes:  # noqa: PLR0911 - one return a kind of frame
    match frame:
        case Data(stream, offset, data, fin):
            head = number_octets(stream) + number_octets(offset) + number_octets(len(data))
            return bytes([0x11 if fin else 0x01]) + head + data
        case Reset(stream, code, final_length):
            numbers = (stream, code, final_length)
            return b"\x02" + b"".join(map(number_octets, numbers))
        case Stop(stream, code):
            return b"\x03" + number_octets(stream) + number_octets(code)
        case Credit(limit):
            return b"\x04" + number_octets(limit)
        case StreamCredit(stream, limit):
            return b"\x05" + number_octets(stream) + number_octets(limit)
        case Streams(limit, one_way):
            return bytes([0x16 if one_way else 0x06]) + number_octets(limit)
        case Priority(stream, urgency, turns):
            return b"\x07" + number_octets(stream) + bytes([urgency << 1 | turns])
