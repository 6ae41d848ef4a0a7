"""Frames of streams (chapter 11.1): against the files that test the Rust codec, and for any frames at all."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restp_decoder import DecodeError, decode_frames, encode_frames
from restp_decoder.frames import (
    MAX_NUMBER,
    Credit,
    Data,
    Frame,
    Priority,
    Reset,
    Stop,
    StreamCredit,
    Streams,
    number_octets,
)

Json = dict[str, Any]

FOLDER = Path(__file__).parents[2] / "crates" / "restp-proto" / "tests" / "vectors"
VECTORS: dict[str, Json] = {
    path.stem: vector
    for path in sorted(FOLDER.glob("*.json"))
    if "frames" in (vector := json.loads(path.read_text()))
}

NUMBERS = st.one_of(st.integers(0, 100), st.integers(0, MAX_NUMBER))
CODES = st.integers(0, 0xFFFF_FFFF)
FRAMES: st.SearchStrategy[Frame] = st.one_of(
    st.builds(Data, NUMBERS, st.integers(0, MAX_NUMBER // 2), st.binary(max_size=300), st.booleans()),
    st.builds(Reset, NUMBERS, CODES, NUMBERS),
    st.builds(Stop, NUMBERS, CODES),
    st.builds(Credit, NUMBERS),
    st.builds(StreamCredit, NUMBERS, NUMBERS),
    st.builds(Streams, NUMBERS, st.booleans()),
    st.builds(Priority, NUMBERS, st.integers(0, 7), st.booleans()),
)


def in_words_of_the_files(frame: Frame) -> Json:  # noqa: PLR0911 - one return a kind of frame
    """A frame as the vector files write it."""
    match frame:
        case Data(stream, offset, data, fin):
            return {"data": {"stream": stream, "offset": offset, "fin": fin, "data": data.hex()}}
        case Reset(stream, code, final_length):
            return {"reset": {"stream": stream, "code": code, "final_length": final_length}}
        case Stop(stream, code):
            return {"stop": {"stream": stream, "code": code}}
        case Credit(limit):
            return {"credit": {"limit": limit}}
        case StreamCredit(stream, limit):
            return {"stream_credit": {"stream": stream, "limit": limit}}
        case Streams(limit, one_way):
            return {"streams": {"limit": limit, "one_way": one_way}}
        case Priority(stream, urgency, turns):
            return {"priority": {"stream": stream, "urgency": urgency, "turns": turns}}


@pytest.mark.parametrize("name", VECTORS)
def test_payloads_of_the_vectors_are_their_frames(name: str) -> None:
    vector = VECTORS[name]
    payload = bytes.fromhex(vector["payload"])
    if vector.get("frames_fault"):
        with pytest.raises(DecodeError):
            decode_frames(payload)
        return
    frames = decode_frames(payload)
    assert [in_words_of_the_files(frame) for frame in frames] == vector["frames"]
    assert encode_frames(frames) == payload


def test_the_vectors_have_every_frame() -> None:
    assert {kind for vector in VECTORS.values() for frame in vector["frames"] for kind in frame} == {
        "data", "reset", "stop", "credit", "stream_credit", "streams", "priority",
    }  # fmt: skip


@given(st.lists(FRAMES, max_size=6))
def test_frames_come_back_as_they_were(frames: list[Frame]) -> None:
    assert decode_frames(encode_frames(frames)) == frames


@given(st.binary(max_size=60))
def test_whatever_is_accepted_has_one_spelling(payload: bytes) -> None:
    try:
        frames = decode_frames(payload)
    except DecodeError:
        return
    assert encode_frames(frames) == payload


@pytest.mark.parametrize("value", [0, 63, 64, 16383, 16384, (1 << 30) - 1, 1 << 30, MAX_NUMBER])
def test_numbers_are_those_of_rfc_9000(value: int) -> None:
    octets = number_octets(value)
    assert len(octets) == 1 << (octets[0] >> 6)
    assert decode_frames(b"\x04" + octets) == [Credit(value)]
    if len(octets) < 8:
        longer = (value | (octets[0] >> 6) + 1 << (16 * len(octets) - 2)).to_bytes(2 * len(octets), "big")
        with pytest.raises(DecodeError):
            decode_frames(b"\x04" + longer)


@pytest.mark.parametrize(
    "payload", ["00", "1401", "070010", "0300c000000100000000", "0100ffffffffffffffff0107", "04"]
)
def test_what_is_no_frame_is_refused(payload: str) -> None:
    with pytest.raises(DecodeError):
        decode_frames(bytes.fromhex(payload))
