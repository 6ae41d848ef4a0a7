"""What the ends of a command link compute for one message, by what rests before it (crate `flight-links`).

The study of QUIC and SDLS in NASA's core Flight System (key SPACE) sent one message in two seconds and took
the mean of twenty. A block here has the same twenty after two seconds each, so a repetition is its method
done once; without a rest, and after shorter ones, a block has up to a thousand. Cells (a security, a payload,
a rest) with rests of half a second and more have their turns together, each in the rests of the others, and
never two at once (docs/decisions/0012-rests-that-overlap.md); what that changes the bench `space-company`
measures.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import fmean, median
from typing import Any

import numpy as np
import pyarrow as pa

from gauntlet.benches import grouped
from gauntlet.benches.contract import Bench, Measured, Plan, Tell
from gauntlet.benches.grouped import BLOCK, Row
from gauntlet.benches.parts import Parts
from gauntlet.benches.space_link import (
    BEYOND,
    CIPHERS,
    PROVIDERS,
    QUICS,
    SECURITIES,
    UNDER_RUSTLS,
    by,
    facts,
    keeping_to,
    machine,
    ready,
    ready_with_openssl,
    values,
)
from gauntlet.errors import RunError
from gauntlet.metrics.kpi import Kpi
from gauntlet.space.programs import BENCH as PROGRAM
from gauntlet.space.programs import rows

_NS = 1e-9
_MS = 1e-3

_MAIN = ("sdls-gcm-aws-lc", "quic-stream", "quic-datagram", "tls", "restp")
"""Those whose time is measured after rests in between too."""

USUAL = ("--cipher", "aes-256-gcm")

_STUDY = (128, 256, 512, 1024)
"""Payloads of Figures 4.1 to 4.3 and Tables 4.1 and 4.2."""

_ENDS = (64, *_STUDY, 1786)

Asked = tuple[Sequence[str], Sequence[int], Sequence[int], Sequence[str]]
"""Securities (none: all that are registered), payloads, rests in milliseconds, further arguments."""

_FULL: tuple[Asked, ...] = (
    ((), _ENDS, (0,), ()),
    ((), _STUDY, (2000,), ()),
    (_MAIN, (1024,), (10, 500), USUAL),
)
"""In full, each block: all of it warm; the study's payloads after its rest, of all securities, ciphers and
libraries; and between the two rests the securities that promise most.
"""

_QUICK: tuple[Asked, ...] = (
    ((), _STUDY, (0,), ()),
    ((*_MAIN, "sdls-gcm"), (128, 1024), (2000,), USUAL),
)

_DATAGRAMS = ("sdls-gcm-aws-lc", "quic-datagram", "dtls")
"""DTLS and what promises as little: each message whole or not at all."""

_FULL_DTLS: tuple[Asked, ...] = ((_DATAGRAMS, (128, 1024), (0, 2000), USUAL),)

_LIBRARIES = ("sdls-gcm-aws-lc", *QUICS)
"""Both libraries of QUIC, the streams with both libraries of cryptography, and SDLS."""

_S2N_SAMPLES = 10
"""After two seconds, of a cell in a block, of benches that came after s2n-quic."""

_FULL_S2N: tuple[Asked, ...] = (
    (_LIBRARIES, (64, 128, 512, 1024), (0,), USUAL),
    (_LIBRARIES, (64, 128, 512, 1024), (2000,), (*USUAL, "--samples", str(_S2N_SAMPLES))),
)
"""After two seconds 28 cells, as many as have their turns together."""

_FULL_OPENSSL: tuple[Asked, ...] = (
    (("quic-stream",), _STUDY, (0,), by(UNDER_RUSTLS)),
    (("quic-stream",), (128, 1024), (2000,), (*by(UNDER_RUSTLS), "--samples", str(_S2N_SAMPLES))),
)
"""With each of the three ciphers. After two seconds 18 cells."""

BLOCKS = (10, 3)
"""In full and quick."""

Samples = Mapping[int, tuple[int, int]]

_SAMPLES: Samples = {0: (1000, 100), 10: (1000, 12), 500: (50, 3), 2000: (20, 3)}
"""Samples of a cell in a block by the rest before each, in full and quick: in ten blocks 10,000, 10,000, 500,
200.
"""

APART_MS = 70
"""What the operations of turns that are taken together are apart at least."""


def arguments(asked: Asked) -> list[str]:
    """What `flight-bench messages` is asked for."""
    securities, payloads, rests, more = asked
    named = keeping_to(securities)
    lengths = [it for payload in payloads for it in ("--payload", str(payload))]
    gaps = [it for rest in rests for it in ("--gap", str(rest))]
    return [*named, *lengths, *gaps, *more]


def told(asked: Asked) -> list[str]:
    """The same, with all securities by their names: the program has more than were registered."""
    securities, *_ = asked
    return [*arguments(asked), *([] if securities else keeping_to(SECURITIES))]


def details(asked: Sequence[Asked], quick: bool, counted: Samples = _SAMPLES) -> dict[str, Any]:
    """What decides how much is measured, and how."""
    samples = {str(rest): counts[quick] for rest, counts in counted.items()}
    return {"asked": [arguments(it) for it in asked], "samples": samples, "apart_ms": APART_MS, "cores": 1}


def measure(
    plans: Sequence[Sequence[Asked]],
    quick: bool,
    seed: int,
    tell: Tell,
    parts: Parts,
    *,
    counted: Samples = _SAMPLES,
) -> Measured:
    plan, blocks = plans[quick], BLOCKS[quick]
    same = facts()
    check_apart(same["libraries"])
    some = ["messages", "--seed", str(seed), *(["--quick"] if quick else [])]
    found = []
    began, measured = time.monotonic(), 0
    for block in range(blocks):
        there = parts.found
        left = ""
        if measured:
            minutes = (time.monotonic() - began) / measured * (blocks - block) / 60
            left = f", about {minutes:.0f} min left"
        tell(f"Block {block + 1} of {blocks}{left}: the rests between messages take their time.")
        asked = [[*some, "--block", str(block), *told(it)] for it in plan]
        one = parts.take(f"block-{block}", same, partial(_asked, asked))
        check_samples(one, {rest: counts[quick] for rest, counts in counted.items()})
        measured += parts.found == there
        found.append(one)
    samples = pa.concat_tables(found, promote_options="permissive")
    return Measured(table(samples), machine(), {"messages": samples})


def _asked(each: Sequence[list[str]]) -> pa.Table:
    """A block: what the program measures, asked for one after the other."""
    return pa.concat_tables([rows(PROGRAM, words) for words in each], promote_options="permissive")


def check_apart(libraries: Mapping[str, Any]) -> None:
    """Raise RunError when the program keeps another distance between turns than is planned."""
    if (apart := libraries.get("apart_ms")) != APART_MS:
        raise RunError(
            f"flight-bench keeps turns {apart} ms apart and the plan says {APART_MS}; build it anew: "
            "cargo build --profile measure -p flight-links."
        )


def check_samples(samples: pa.Table, planned: Mapping[int, int]) -> None:
    """Raise RunError when a cell does not have the samples of a block that are planned for its rest."""
    columns = ("security", "provider", "cipher", "payload_octets", "gap_ms", "operation", BLOCK)
    counted = Counter(zip(*(samples.column(name).to_pylist() for name in columns), strict=True))
    for cell, count in counted.items():
        if count != (wanted := planned[cell[4]]):
            raise RunError(
                f"flight-bench measured {cell[0]} {count} times after {cell[4]} ms in a block and the plan "
                f"says {wanted}; build it anew: cargo build --profile measure -p flight-links."
            )


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

MEAN = _time("message_mean_s", "Time of a message, mean", f"The mean {_OF_A_BLOCK}")
MEDIAN = _time("message_median_s", "Time of a message, median", f"The median {_OF_A_BLOCK}")

MEASURES = (
    MEAN,
    MEDIAN,
    _time("message_p99_s", "Time of a message, 99th percentile", f"The 99th percentile {_OF_A_BLOCK}"),
    _time("crypto_mean_s", "Time inside the cipher, mean", "Encryption or decryption of the payload."),
    _time("crypto_median_s", "Time inside the cipher, median", "Encryption or decryption of the payload."),
    Kpi("crypto_share", "Share of the cipher", "%", 100.0, False, "Of all time of a block.", most=1.0),
    _time("system_call_mean_s", "Time of the system call, mean", "Sending or receiving, beside the rest."),
    Kpi("datagram_bytes", "Bytes over the link", "B", 1.0, False, "Of all datagrams of a message."),
)

WORDS: dict[str, Mapping[Any, str]] = {
    "security": SECURITIES,
    "provider": PROVIDERS,
    "cipher": CIPHERS,
    "operation": {"apply": "sender", "process": "receiver"},
    "gap_s": {0.0: "none", 0.01: "10 ms", 0.5: "0.5 s", 2.0: "2 s"},
}

BENCH = Bench(
    name="space-messages",
    about="Computing time of one message at its sender and its receiver, by security, payload and the rest "
    "before it.",
    measures=MEASURES,
    full=Plan(
        {
            "security": values(SECURITIES),
            "provider": values(PROVIDERS),
            "cipher": values(CIPHERS),
            "operation": ["apply", "process"],
            "payload_bytes": list(_ENDS),
            "gap_s": [0.0, 0.01, 0.5, 2.0],
        },
        BLOCKS[0],
        details(_FULL, quick=False),
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
        BLOCKS[1],
        details(_QUICK, quick=True),
    ),
    measure=partial(measure, (_FULL, _QUICK)),
    ready=ready,
    labels=WORDS,
)


_SAMPLES_S2N: Samples = {0: _SAMPLES[0], 2000: (_S2N_SAMPLES, _S2N_SAMPLES)}


def _later(
    name: str,
    about: str,
    asked: Sequence[Asked],
    labels: Mapping[str, dict[Any, str]],
    *,
    counted: Samples = _SAMPLES,
    ready: Callable[[], None] = ready,
) -> Bench:
    """A bench of what came after the registration, without a rest and after two seconds, with the securities,
    providers and ciphers that have labels. For a first look it has fewer blocks.
    """
    _, payloads, *_ = asked[0]

    def plan(quick: bool) -> Plan:
        return Plan(
            {
                **{factor: values(named) for factor, named in labels.items()},
                "operation": ["apply", "process"],
                "payload_bytes": [*payloads],
                "gap_s": [0.0, 2.0],
            },
            BLOCKS[quick],
            details(asked, quick, counted),
        )

    return Bench(
        name=name,
        about=about,
        measures=MEASURES,
        full=plan(quick=False),
        quick=plan(quick=True),
        measure=partial(measure, (asked, asked), counted=counted),
        ready=ready,
        labels={**WORDS, **labels, "gap_s": {0.0: "none", 2.0: "2 s"}},
    )


def _named(names: Sequence[str], of: Mapping[Any, str]) -> dict[Any, str]:
    return {name: of[name] for name in names}


DTLS = _later(
    "space-messages-dtls",
    "Computing time of one message under DTLS, and in the same blocks under what promises as little: "
    "SDLS and QUIC's datagrams.",
    _FULL_DTLS,
    {
        "security": _named(_DATAGRAMS, SECURITIES | BEYOND),
        "provider": _named(["aws-lc"], PROVIDERS),
        "cipher": _named(["aes-256-gcm"], CIPHERS),
    },
)

S2N_QUIC = _later(
    "space-messages-s2n",
    "Computing time of one message under QUIC by s2n-quic, and in the same blocks under QUIC by quinn "
    "and under SDLS.",
    _FULL_S2N,
    {
        "security": _named(_LIBRARIES, SECURITIES | QUICS),
        "provider": _named(["aws-lc", "ring"], PROVIDERS),
        "cipher": _named(["aes-256-gcm"], CIPHERS),
    },
    counted=_SAMPLES_S2N,
)

OPENSSL = _later(
    "space-messages-openssl",
    "Computing time of one message under QUIC by OpenSSL, and in the same blocks by AWS-LC and ring.",
    _FULL_OPENSSL,
    {
        "security": _named(["quic-stream"], QUICS),
        "provider": UNDER_RUSTLS,
        "cipher": _named(["aes-128-gcm", "aes-256-gcm", "chacha20-poly1305"], CIPHERS),
    },
    counted=_SAMPLES_S2N,
    ready=ready_with_openssl,
)
