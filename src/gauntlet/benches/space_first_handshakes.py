"""What both ends compute to open the first session of their processes, as the study SPACE timed it: ten pairs
of processes a block for each kind (`gauntlet.space.first_handshakes`).

AWS-LC gathers randomness from the processor's jitter when it is first asked, tens of milliseconds of
computing, where the study's OpenSSL asks the system. So it is asked before, and that time stands apart.
"""

from functools import partial
from statistics import fmean

import pyarrow as pa

from gauntlet.benches import space_handshakes
from gauntlet.benches.contract import Bench, Measured, Plan, Tell
from gauntlet.benches.parts import Parts
from gauntlet.benches.space_link import (
    CIPHERS,
    GROUPS,
    PROVIDERS,
    SERVER,
    SIGNATURES,
    facts,
    machine,
    ready,
)
from gauntlet.errors import RunError
from gauntlet.metrics.kpi import Kpi
from gauntlet.space import first_handshakes
from gauntlet.space.first_handshakes import CELLS, TEN

_NS = 1e-9
_ENDS = ("ground", "space")
_BLOCKS = (10, 3)
_EACH = (TEN, 3)
"""Pairs of processes of a kind in a block; both in full and quick."""


def _measure(quick: bool, seed: int, tell: Tell, parts: Parts) -> Measured:
    blocks, each, same = _BLOCKS[quick], _EACH[quick], facts()
    found = []
    for block in range(blocks):
        tell(f"Block {block + 1} of {blocks}: a process for each end of a handshake.")
        ask = partial(first_handshakes.first_handshakes, CELLS, each, seed, block)
        found.append(parts.take(f"first-handshakes-{block}", same, ask))
    samples = pa.concat_tables(found, promote_options="permissive")
    found_table = table(samples)
    if found_table.num_rows != blocks * len(CELLS) or set(found_table["samples"].to_pylist()) != {each}:
        raise RunError(
            "flight-bench first-handshake did not print a row for each kind that was asked for; build it "
            "anew: cargo build --profile measure -p flight-links."
        )
    return Measured(found_table, machine(), {"first-handshakes": samples})


def table(samples: pa.Table) -> pa.Table:
    """A row for each condition and block."""
    return space_handshakes.table(
        samples,
        {
            "second_client_mean_s": lambda of: _NS * fmean(row["space_as_client_cpu_ns"] for row in of),
            "randomness_mean_s": lambda of: (
                _NS * fmean(row[f"{end}_randomness_cpu_ns"] for end in _ENDS for row in of)
            ),
        },
    )


def _plan(quick: bool) -> Plan:
    return Plan(
        {
            "security": ["quic-stream"],
            "provider": ["aws-lc"],
            "cipher": ["aes-256-gcm"],
            "group": [*first_handshakes.GROUPS],
            "signature": [*first_handshakes.SIGNATURES],
            "certificates": [SERVER],
            "resumption": ["none"],
        },
        _BLOCKS[quick],
        {
            "pairs of processes a block": _EACH[quick],
            "ends": "a process each, the server's first, over the loopback",
            "afterwards": "the server's process as a client",
            "credentials": "of another process",
            "cores": 1,
        },
    )


BENCH = Bench(
    name="space-first-handshakes",
    about="Computing time, bytes and round trips of handshakes that are the first of the processes of both "
    "ends, by group and signature.",
    measures=(
        *space_handshakes.MEASURES,
        Kpi(
            "second_client_mean_s",
            "Handshake, client after a server, mean",
            "µs",
            1e6,
            False,
            "What the server's process computes as the client of a second handshake, with the same other "
            "process.",
        ),
        Kpi(
            "randomness_mean_s",
            "Gathering of randomness, mean",
            "ms",
            1e3,
            False,
            "What the library of an end spends on it when it is first asked, which is before the handshake "
            "and in no other time.",
        ),
    ),
    full=_plan(quick=False),
    quick=_plan(quick=True),
    measure=_measure,
    ready=ready,
    labels={
        "security": {"quic-stream": "QUIC"},
        "provider": PROVIDERS,
        "cipher": CIPHERS,
        "group": {name: GROUPS[name] for name in first_handshakes.GROUPS},
        "signature": {name: SIGNATURES[name] for name in first_handshakes.SIGNATURES},
    },
)
