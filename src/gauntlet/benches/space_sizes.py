"""What each library takes of a program that holds all of them, by its symbols (crate `flight-links`)."""

import shutil
from functools import partial

import pyarrow as pa

from gauntlet.benches import grouped, space_link
from gauntlet.benches.contract import Bench, Measured, Plan, Tell
from gauntlet.benches.parts import Parts
from gauntlet.benches.space_link import machine
from gauntlet.errors import UserError
from gauntlet.metrics.kpi import Kpi
from gauntlet.space.footprint import BACK_ENDS, BACK_ENDS_S2N, BackEnds, sizes


def _ready() -> None:
    space_link.ready_without_openssl()
    if shutil.which("nm") is None:
        raise UserError("nm is not installed, which tells the sizes of code (Debian: binutils).")


def _measure(back_ends: BackEnds, quick: bool, seed: int, tell: Tell, parts: Parts) -> Measured:
    tell("Code and data of each library.")
    found = sizes(back_ends)
    samples = found.append_column(grouped.BLOCK, pa.array([0] * found.num_rows))
    return Measured(table(samples), machine(), {"sizes": samples})


def table(samples: pa.Table, of_each: str = "back_end") -> pa.Table:
    """A row for each back end, or whatever else sizes are told of."""
    return grouped.rows(
        samples,
        {of_each: lambda row: row[of_each]},
        {
            "code_bytes": lambda of: float(of[0]["code_octets"]),
            "data_bytes": lambda of: float(of[0]["data_octets"]),
        },
    )


def _bench(name: str, about: str, back_ends: BackEnds) -> Bench:
    # Once: a program's symbols are the same each time.
    plan = Plan({"back_end": [*back_ends]}, 1)
    return Bench(
        name=name,
        about=about,
        measures=(
            Kpi("code_bytes", "Code", "kB", 1e-3, False, "Of the symbols of its crates and C functions."),
            Kpi("data_bytes", "Data", "kB", 1e-3, False, "Of the symbols of its crates and C tables."),
        ),
        full=plan,
        quick=plan,
        measure=partial(_measure, back_ends),
        ready=_ready,
        labels={
            "back_end": {
                "aws-lc": "AWS-LC",
                "ring": "ring",
                "rustcrypto": "RustCrypto",
                "restp": "ResTP",
                "sdls": "SDLS",
                "rest": "the rest",
            }
        },
    )


BENCH = _bench(
    "space-sizes", "Code and data of each library in the program that holds all securities.", BACK_ENDS
)

S2N_QUIC = _bench(
    "space-sizes-s2n",
    "Code and data of s2n-quic and of each other library in the program that holds all securities.",
    BACK_ENDS_S2N,
)
