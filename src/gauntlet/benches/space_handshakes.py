"""What both ends compute to open a session, by the thread's clock (crate `flight-links`)."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import fmean, median
from typing import Any

import pyarrow as pa

from gauntlet.benches import grouped
from gauntlet.benches.contract import Bench, Measured, Plan, Tell
from gauntlet.benches.grouped import Number, Row
from gauntlet.benches.parts import Parts
from gauntlet.benches.space_link import (
    BEYOND,
    BOTH,
    CIPHERS,
    GROUPS,
    PROVIDERS,
    SECURITIES,
    SERVER,
    SIGNATURES,
    UNDER_RUSTLS,
    by,
    certificates,
    facts,
    keeping_to,
    machine,
    ready,
    ready_with_openssl,
    values,
)
from gauntlet.experiment.runspec import Factor
from gauntlet.metrics.kpi import Kpi
from gauntlet.space.programs import BENCH as PROGRAM
from gauntlet.space.programs import rows

_NS = 1e-9
_BLOCKS = (10, 5)
"""Of the program, in full and quick."""


_SECURITIES = ("quic-stream", "tls", "restp")


def _measure(asked: Sequence[str], quick: bool, seed: int, tell: Tell, parts: Parts) -> Measured:
    tell("Every kind of handshake that the libraries have, in random order.")
    some = ["handshakes", "--seed", str(seed), *(["--quick"] if quick else []), *asked]
    samples = parts.take("handshakes", facts(), lambda: rows(PROGRAM, some))
    return Measured(table(samples), machine(), {"handshakes": samples})


def table(samples: pa.Table, more: Mapping[str, Number] | None = None) -> pa.Table:
    """A row for each condition and block of `flight-bench handshakes`, with `more` numbers of the samples."""
    return grouped.rows(
        samples,
        {
            "security": lambda row: row["security"],
            "provider": lambda row: row["provider"],
            "cipher": lambda row: row["cipher"],
            "group": lambda row: row["group"],
            "signature": lambda row: row["signature"],
            "certificates": lambda row: certificates(row["mutual"]),
            "resumption": lambda row: row["resumption"],
        },
        {
            "client_mean_s": lambda of: _NS * fmean(row["ground_cpu_ns"] for row in of),
            "server_mean_s": lambda of: _NS * fmean(row["space_cpu_ns"] for row in of),
            "handshake_mean_s": lambda of: (
                _NS * fmean(row["ground_cpu_ns"] + row["space_cpu_ns"] for row in of)
            ),
            "client_median_s": lambda of: _NS * median(row["ground_cpu_ns"] for row in of),
            "server_median_s": lambda of: _NS * median(row["space_cpu_ns"] for row in of),
            "handshake_median_s": lambda of: (
                _NS * median(row["ground_cpu_ns"] + row["space_cpu_ns"] for row in of)
            ),
            "handshake_bytes": lambda of: median(row["ground_octets"] + row["space_octets"] for row in of),
            "round_trips": lambda of: median(_round_trips(row) for row in of),
            **(more or {}),
        },
    )


def _round_trips(row: Row) -> int:
    """Before the client may send: none where its first flight could bring messages, and was taken so."""
    return 0 if row["early"] else int(row["round_trips"])


def _time(name: str, label: str, definition: str) -> Kpi:
    return Kpi(name, label, "µs", 1e6, False, definition)


_UNTIL = "computes until neither end has anything more to say: tickets and confirmations are part of it."

MEASURES = (
    _time("client_mean_s", "Handshake, client, mean", f"What the client {_UNTIL}"),
    _time("server_mean_s", "Handshake, server, mean", f"What the server {_UNTIL}"),
    _time("handshake_mean_s", "Handshake, both ends, mean", "Client and server together."),
    _time("client_median_s", "Handshake, client, median", f"What the client {_UNTIL}"),
    _time("server_median_s", "Handshake, server, median", f"What the server {_UNTIL}"),
    _time("handshake_median_s", "Handshake, both ends, median", "Client and server together."),
    Kpi("handshake_bytes", "Bytes of a handshake", "B", 1.0, False, "That both ends sent."),
    Kpi("round_trips", "Round trips", "", 1.0, False, "Before the client may send; TCP's own not counted."),
)

_PLANNED: dict[str, list[Factor]] = {
    "security": [*_SECURITIES],
    "provider": ["aws-lc", "ring"],
    "cipher": ["aes-128-gcm", "aes-256-gcm", "chacha20-poly1305"],
    "group": values(GROUPS),
    "signature": values(SIGNATURES),
    "certificates": [SERVER, BOTH],
    "resumption": ["none", "ticket", "0-rtt"],
}


def _plan(factors: Mapping[str, Sequence[Factor]], *, quick: bool) -> Plan:
    return Plan(factors, _BLOCKS[quick], {"handshakes a block": 2 if quick else 20, "cores": 1})


def _bench(
    name: str,
    about: str,
    planned: Mapping[str, Sequence[Factor]],
    options: Sequence[str],
    securities: Mapping[Any, str],
    *,
    providers: Mapping[Any, str] = PROVIDERS,
    ready: Callable[[], None] = ready,
) -> Bench:
    """A bench of handshakes: what is planned, the options with which the program measures that, and how the
    values of its factors read.
    """
    return Bench(
        name=name,
        about=about,
        measures=MEASURES,
        full=_plan(planned, quick=False),
        quick=_plan(planned, quick=True),
        measure=partial(_measure, options),
        ready=ready,
        labels={
            "security": securities,
            "provider": providers,
            "cipher": CIPHERS,
            "group": GROUPS,
            "signature": SIGNATURES,
        },
    )


BENCH = _bench(
    "space-handshakes",
    "Computing time, bytes and round trips of handshakes, by group, signature, certificates and resumption.",
    _PLANNED,
    keeping_to(_SECURITIES),
    {**SECURITIES, "quic-stream": "QUIC"},
)

_PLANNED_DTLS: dict[str, list[Factor]] = {
    "security": values(BEYOND),
    "provider": ["aws-lc"],
    "cipher": ["aes-128-gcm", "aes-256-gcm", "chacha20-poly1305"],
    "group": ["x25519", "p-256", "p-384"],
    "signature": ["ecdsa-p256"],
    "certificates": [SERVER, BOTH],
    "resumption": ["none"],
}
"""What its library has."""

DTLS = _bench(
    "space-handshakes-dtls",
    "Computing time, bytes and round trips of DTLS's handshakes, by group, cipher and certificates.",
    _PLANNED_DTLS,
    keeping_to(BEYOND),
    BEYOND,
)

_BOTH_LIBRARIES = ("quic-stream", "s2n-stream")

_PLANNED_S2N: dict[str, list[Factor]] = {
    **_PLANNED,
    "security": [*_BOTH_LIBRARIES],
    "cipher": ["aes-256-gcm"],
    "signature": ["ed25519", "ecdsa-p256", "rsa-2048"],
}

S2N_QUIC = _bench(
    "space-handshakes-s2n",
    "Computing time, bytes and round trips of s2n-quic's handshakes and in the same blocks of quinn's, by "
    "provider, group, signature, certificates and resumption.",
    _PLANNED_S2N,
    [*keeping_to(_BOTH_LIBRARIES), "--cipher", "aes-256-gcm"],
    {"quic-stream": "QUIC by quinn", "s2n-stream": "QUIC by s2n-quic"},
)

_PLANNED_OPENSSL: dict[str, list[Factor]] = {
    **_PLANNED_S2N,
    "security": ["quic-stream"],
    "provider": values(UNDER_RUSTLS),
}

OPENSSL = _bench(
    "space-handshakes-openssl",
    "Computing time, bytes and round trips of QUIC's handshakes by OpenSSL and in the same blocks by AWS-LC "
    "and ring, by group, signature, certificates and resumption.",
    _PLANNED_OPENSSL,
    [*keeping_to(["quic-stream"]), *by(UNDER_RUSTLS), "--cipher", "aes-256-gcm"],
    {"quic-stream": "QUIC by quinn"},
    providers=UNDER_RUSTLS,
    ready=ready_with_openssl,
)
