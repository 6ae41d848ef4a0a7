"""What both ends compute to open the first session of their process, as the study SPACE timed it: ten processes
a block for each kind (`gauntlet.space.first_handshakes`).
"""

from functools import partial

import pyarrow as pa

from gauntlet.benches import space_handshakes
from gauntlet.benches.contract import Bench, Measured, Plan, Tell
from gauntlet.benches.parts import Parts
from gauntlet.benches.space_link import GROUPS, SERVER, SIGNATURES, facts, machine, ready
from gauntlet.errors import RunError
from gauntlet.space import first_handshakes
from gauntlet.space.first_handshakes import CELLS, TEN

_BLOCKS = (10, 3)
_EACH = (TEN, 3)
"""Processes of a kind in a block; both in full and quick."""


def _measure(quick: bool, seed: int, tell: Tell, parts: Parts) -> Measured:
    blocks, each, same = _BLOCKS[quick], _EACH[quick], facts()
    found = []
    for block in range(blocks):
        tell(f"Block {block + 1} of {blocks}: a process for each handshake.")
        ask = partial(first_handshakes.first_handshakes, CELLS, each, seed, block)
        found.append(parts.take(f"first-handshakes-{block}", same, ask))
    samples = pa.concat_tables(found, promote_options="permissive")
    table = space_handshakes.table(samples)
    if table.num_rows != blocks * len(CELLS) or set(table["samples"].to_pylist()) != {each}:
        raise RunError(
            "flight-bench first-handshake did not print a row for each kind that was asked for; build it "
            "anew: cargo build --profile measure -p flight-links."
        )
    return Measured(table, machine(), {"first-handshakes": samples})


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
        {"processes a block": _EACH[quick], "credentials": "of another process", "cores": 1},
    )


BENCH = Bench(
    name="space-first-handshakes",
    about="Computing time, bytes and round trips of handshakes that are the first of their process, by group "
    "and signature.",
    measures=space_handshakes.MEASURES,
    full=_plan(quick=False),
    quick=_plan(quick=True),
    measure=_measure,
    ready=ready,
    labels={
        "security": {"quic-stream": "QUIC"},
        "group": {name: GROUPS[name] for name in first_handshakes.GROUPS},
        "signature": {name: SIGNATURES[name] for name in first_handshakes.SIGNATURES},
    },
)
