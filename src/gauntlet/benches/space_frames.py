"""What SDLS computes for a message that needs one TC frame and for one that needs two, and QUIC for the same
(crate `flight-links`).

A TC frame has at most 1,024 octets with its header and the security's fields, so 1,024 bytes take two; the
study SPACE changed its CryptoLib to make one longer frame. The longest payload of one frame stands beside it
here, with the study's other payloads, in the same blocks.
"""

import pyarrow as pa

from gauntlet.benches import space_messages
from gauntlet.benches.contract import Bench, Measured, Plan, Tell
from gauntlet.benches.parts import Parts
from gauntlet.benches.space_link import CIPHERS, PROVIDERS, SECURITIES, ready
from gauntlet.benches.space_messages import BLOCKS, USUAL, Asked, details
from gauntlet.errors import RunError

ONE_FRAME = 978
"""The longest payload of one frame under AES-256-GCM: 1,024 less 5 of the frame's header, 1 of the segment's,
2 of its error control, 2 of the association's number, 12 of the IV, 16 of the tag and 8 of the message's own
header.
"""

TWO_FRAMES = 1024

_SDLS = "sdls-gcm-aws-lc"
_COMPARED = (_SDLS, "quic-stream", "quic-datagram")
_PAYLOADS = (128, 256, 512, ONE_FRAME, TWO_FRAMES)

_ASKED: tuple[Asked, ...] = (
    (_COMPARED, _PAYLOADS, (0,), USUAL),
    (_COMPARED, _PAYLOADS, (2000,), USUAL),
)


def _measure(quick: bool, seed: int, tell: Tell, parts: Parts) -> Measured:
    found = space_messages.measure((_ASKED, _ASKED), quick, seed, tell, parts)
    check_frames(found.raw["messages"])
    return found


def check_frames(samples: pa.Table) -> None:
    """Raise RunError when SDLS did not make one frame of every payload but the longest, and two of that."""
    for row in samples.group_by(["security", "payload_octets", "datagrams"]).aggregate([]).to_pylist():
        wanted = 2 if row["payload_octets"] == TWO_FRAMES else 1
        if row["security"] == _SDLS and row["datagrams"] != wanted:
            raise RunError(
                f"SDLS made {row['datagrams']} frames of {row['payload_octets']} bytes, where the bench of "
                f"frames has {wanted}; build it anew: cargo build --profile measure -p flight-links."
            )


def _plan(quick: bool) -> Plan:
    return Plan(
        {
            "security": [*_COMPARED],
            "provider": ["aws-lc", "ring"],
            "cipher": ["aes-256-gcm"],
            "operation": ["apply", "process"],
            "payload_bytes": [*_PAYLOADS],
            "gap_s": [0.0, 2.0],
        },
        BLOCKS[quick],
        details(_ASKED, quick),
    )


BENCH = Bench(
    name="space-frames",
    about="Computing time of one message that takes one frame of SDLS or two, and of the same over QUIC.",
    measures=space_messages.MEASURES,
    full=_plan(quick=False),
    quick=_plan(quick=True),
    measure=_measure,
    ready=ready,
    labels={
        **space_messages.WORDS,
        "security": {name: SECURITIES[name] for name in _COMPARED},
        "provider": {name: PROVIDERS[name] for name in ("aws-lc", "ring")},
        "cipher": {"aes-256-gcm": CIPHERS["aes-256-gcm"]},
        "payload_bytes": {ONE_FRAME: "978 (one frame)", TWO_FRAMES: "1,024 (two frames)"},
        "gap_s": {0.0: "none", 2.0: "2 s"},
    },
)
