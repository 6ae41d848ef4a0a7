"""What the ends of a command link compute for one message, by what rests before it (crate `flight-links`).

The study of QUIC and SDLS in NASA's core Flight System (key SPACE) sent one message in two seconds and took
the mean of twenty. A block here has the same twenty after two seconds each, so a repetition is its method
done once; without a rest, and after shorter ones, a block has up to a thousand.
"""

from collections.abc import Sequence
from statistics import fmean, median

import numpy as np
import pyarrow as pa

from gauntlet.benches import grouped
from gauntlet.benches.contract import Bench, Measured, Plan, Tell
from gauntlet.benches.grouped import Row
from gauntlet.benches.space_link import CIPHERS, PROVIDERS, SECURITIES, machine, ready, values
from gauntlet.metrics.kpi import Kpi
from gauntlet.space.programs import BENCH as PROGRAM
from gauntlet.space.programs import rows

_NS = 1e-9
_MS = 1e-3

_MAIN = ("sdls-gcm-aws-lc", "quic-stream")
_OTHERS = ("none", "sdls-gcm", "sdls-cmac", "quic-datagram", "tls", "restp")
_USUAL = ("--cipher", "aes-256-gcm")

_STUDY = (128, 256, 512, 1024)
"""Payloads of Figures 4.1 to 4.3 and Tables 4.1 and 4.2."""

_ENDS = (64, *_STUDY, 1786)

Asked = tuple[Sequence[str], Sequence[int], Sequence[int], Sequence[str]]
"""Securities (none: all), payloads, rests in milliseconds, further arguments."""

_FULL: tuple[Asked, ...] = (
    ((), _ENDS, (0,), ()),
    (_MAIN, _STUDY, (2000,), ()),
    (_OTHERS, (1024,), (2000,), _USUAL),
    ((*_MAIN, "quic-datagram", "tls", "restp"), (1024,), (10, 500), _USUAL),
)
"""In full, each block: all of it warm; the study's payloads after its rest, of its two securities, with all
ciphers and libraries; the others after that rest; and between the two rests those that promise most.
"""

_QUICK: tuple[Asked, ...] = (
    ((), _STUDY, (0,), ()),
    (_MAIN, (128, 1024), (2000,), _USUAL),
    (("quic-datagram", "tls", "restp", "sdls-gcm"), (1024,), (2000,), _USUAL),
)

_BLOCKS = (5, 3)
"""In full and quick."""


def _arguments(asked: Asked) -> list[str]:
    securities, payloads, rests, more = asked
    named = [it for security in securities for it in ("--security", security)]
    lengths = [it for payload in payloads for it in ("--payload", str(payload))]
    gaps = [it for rest in rests for it in ("--gap", str(rest))]
    return [*named, *lengths, *gaps, *more]


def _measure(quick: bool, seed: int, tell: Tell) -> Measured:
    plan, blocks = (_QUICK, _BLOCKS[1]) if quick else (_FULL, _BLOCKS[0])
    found = []
    for block in range(blocks):
        tell(f"Block {block + 1} of {blocks}: the rests between messages take their time.")
        for asked in plan:
            some = ["messages", "--seed", str(seed), "--block", str(block), *(["--quick"] if quick else [])]
            found.append(rows(PROGRAM, [*some, *_arguments(asked)]))
    samples = pa.concat_tables(found, promote_options="permissive")
    return Measured(table(samples), machine(), {"messages": samples})


def table(samples: pa.Table) -> pa.Table:
    """A row for each condition and block of `flight-bench messages`."""
    return grouped.rows(
        samples,
        {
            "security": lambda row: row["security"],
            "provider": lambda row: row["provider"],
            "cipher": lambda row: row["cipher"],
            "operation": lambda row: row["operation"],
            "payload_bytes": lambda row: int(row["payload_octets"]),
            "gap_s": lambda row: row["gap_ms"] * _MS,
        },
        {
            "message_mean_s": lambda of: _NS * fmean(row["total_ns"] for row in of),
            "message_median_s": lambda of: _NS * median(row["total_ns"] for row in of),
            "message_p99_s": lambda of: _NS * float(np.percentile([row["total_ns"] for row in of], 99)),
            "crypto_mean_s": _crypto_mean_s,
            "crypto_median_s": _crypto_median_s,
            "crypto_share": _crypto_share,
            "system_call_mean_s": lambda of: _NS * fmean(row["system_ns"] for row in of),
            "datagram_bytes": lambda of: median(row["datagram_octets"] for row in of),
        },
    )


def _crypto(of: Sequence[Row]) -> list[float]:
    return [row["crypto_ns"] for row in of if row["crypto_ns"] is not None]


def _crypto_mean_s(of: Sequence[Row]) -> float | None:
    return _NS * fmean(known) if (known := _crypto(of)) else None


def _crypto_median_s(of: Sequence[Row]) -> float | None:
    return _NS * median(known) if (known := _crypto(of)) else None


def _crypto_share(of: Sequence[Row]) -> float | None:
    known = _crypto(of)
    return sum(known) / sum(row["total_ns"] for row in of) if len(known) == len(of) else None


def _time(name: str, label: str, definition: str) -> Kpi:
    return Kpi(name, label, "µs", 1e6, False, definition)


_OF_A_BLOCK = "of the messages of a block: framing and ciphers together, without the system call."

BENCH = Bench(
    name="space-messages",
    about="Computing time of one message at its sender and its receiver, by security, payload and the rest "
    "before it.",
    measures=(
        _time("message_mean_s", "Time of a message, mean", f"The mean {_OF_A_BLOCK}"),
        _time("message_median_s", "Time of a message, median", f"The median {_OF_A_BLOCK}"),
        _time("message_p99_s", "Time of a message, 99th percentile", f"The 99th percentile {_OF_A_BLOCK}"),
        _time("crypto_mean_s", "Time inside the cipher, mean", "Encryption or decryption of the payload."),
        _time(
            "crypto_median_s", "Time inside the cipher, median", "Encryption or decryption of the payload."
        ),
        Kpi("crypto_share", "Share of the cipher", "%", 100.0, False, "Of all time of a block.", most=1.0),
        _time(
            "system_call_mean_s", "Time of the system call, mean", "Sending or receiving, beside the rest."
        ),
        Kpi("datagram_bytes", "Bytes over the link", "B", 1.0, False, "Of all datagrams of a message."),
    ),
    full=Plan(
        {
            "security": values(SECURITIES),
            "provider": values(PROVIDERS),
            "cipher": values(CIPHERS),
            "operation": ["apply", "process"],
            "payload_bytes": list(_ENDS),
            "gap_s": [0.0, 0.01, 0.5, 2.0],
        },
        _BLOCKS[0],
        {"asked": [_arguments(it) for it in _FULL]},
    ),
    quick=Plan(
        {
            "security": values(SECURITIES),
            "provider": values(PROVIDERS),
            "cipher": values(CIPHERS),
            "operation": ["apply", "process"],
            "payload_bytes": list(_STUDY),
            "gap_s": [0.0, 2.0],
        },
        _BLOCKS[1],
        {"asked": [_arguments(it) for it in _QUICK]},
    ),
    measure=_measure,
    ready=ready,
    labels={
        "security": SECURITIES,
        "provider": PROVIDERS,
        "cipher": CIPHERS,
        "operation": {"apply": "sender", "process": "receiver"},
        "gap_s": {0.0: "none", 0.01: "10 ms", 0.5: "0.5 s", 2.0: "2 s"},
    },
)
