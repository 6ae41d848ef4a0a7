"""What both ends compute to open a session, by the thread's clock (crate `flight-links`)."""

from statistics import fmean, median

import pyarrow as pa

from gauntlet.benches import grouped
from gauntlet.benches.contract import Bench, Measured, Plan, Tell
from gauntlet.benches.parts import Parts
from gauntlet.benches.space_link import (
    BOTH,
    CIPHERS,
    GROUPS,
    PROVIDERS,
    SECURITIES,
    SERVER,
    SIGNATURES,
    certificates,
    facts,
    machine,
    ready,
    values,
)
from gauntlet.experiment.runspec import Factor
from gauntlet.metrics.kpi import Kpi
from gauntlet.space.programs import BENCH as PROGRAM
from gauntlet.space.programs import rows

_NS = 1e-9
_BLOCKS = (10, 5)
"""Of the program, in full and quick."""


def _measure(quick: bool, seed: int, tell: Tell, parts: Parts) -> Measured:
    tell("Every kind of handshake that the libraries have, in random order.")
    some = ["handshakes", "--seed", str(seed), *(["--quick"] if quick else [])]
    samples = parts.take("handshakes", facts(), lambda: rows(PROGRAM, some))
    return Measured(table(samples), machine(), {"handshakes": samples})


def table(samples: pa.Table) -> pa.Table:
    """A row for each condition and block of `flight-bench handshakes`."""
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
            "round_trips": lambda of: median(row["round_trips"] for row in of),
        },
    )


def _time(name: str, label: str, definition: str) -> Kpi:
    return Kpi(name, label, "µs", 1e6, False, definition)


_UNTIL = "computes until neither end has anything more to say: tickets and confirmations are part of it."

_PLANNED: dict[str, list[Factor]] = {
    "security": ["quic-stream", "tls", "restp"],
    "provider": ["aws-lc", "ring"],
    "cipher": ["aes-128-gcm", "aes-256-gcm", "chacha20-poly1305"],
    "group": values(GROUPS),
    "signature": values(SIGNATURES),
    "certificates": [SERVER, BOTH],
    "resumption": ["none", "ticket", "0-rtt"],
}

BENCH = Bench(
    name="space-handshakes",
    about="Computing time, bytes and round trips of handshakes, by group, signature, certificates and "
    "resumption.",
    measures=(
        _time("client_mean_s", "Handshake, client, mean", f"What the client {_UNTIL}"),
        _time("server_mean_s", "Handshake, server, mean", f"What the server {_UNTIL}"),
        _time("handshake_mean_s", "Handshake, both ends, mean", "Client and server together."),
        _time("client_median_s", "Handshake, client, median", f"What the client {_UNTIL}"),
        _time("server_median_s", "Handshake, server, median", f"What the server {_UNTIL}"),
        _time("handshake_median_s", "Handshake, both ends, median", "Client and server together."),
        Kpi("handshake_bytes", "Bytes of a handshake", "B", 1.0, False, "That both ends sent."),
        Kpi(
            "round_trips", "Round trips", "", 1.0, False, "Before the client may send; TCP's own not counted."
        ),
    ),
    full=Plan(_PLANNED, _BLOCKS[0], {"handshakes a block": 20, "cores": 1}),
    quick=Plan(_PLANNED, _BLOCKS[1], {"handshakes a block": 2, "cores": 1}),
    measure=_measure,
    ready=ready,
    labels={
        "security": {**SECURITIES, "quic-stream": "QUIC"},
        "provider": PROVIDERS,
        "cipher": CIPHERS,
        "group": GROUPS,
        "signature": SIGNATURES,
    },
)
