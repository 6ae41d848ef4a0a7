"""What each library takes of a program that holds all of them, by its symbols (crate `flight-links`)."""

import shutil

import pyarrow as pa

from gauntlet.benches import grouped, space_link
from gauntlet.benches.contract import Bench, Measured, Plan, Tell
from gauntlet.benches.parts import Parts
from gauntlet.benches.space_link import machine
from gauntlet.errors import UserError
from gauntlet.metrics.kpi import Kpi
from gauntlet.space.footprint import BACK_ENDS, sizes


def _ready() -> None:
    space_link.ready_without_openssl()
    if shutil.which("nm") is None:
        raise UserError("nm is not installed, which tells the sizes of code (Debian: binutils).")


def _measure(quick: bool, seed: int, tell: Tell, parts: Parts) -> Measured:
    tell("Code and data of each library.")
    found = sizes()
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


_PLANNED = Plan({"back_end": list(BACK_ENDS)}, 1)
"""Once: a program's symbols are the same each time."""

BENCH = Bench(
    name="space-sizes",
    about="Code and data of each library in the program that holds all securities.",
    measures=(
        Kpi("code_bytes", "Code", "kB", 1e-3, False, "Of the symbols of its crates and C functions."),
        Kpi("data_bytes", "Data", "kB", 1e-3, False, "Of the symbols of its crates and C tables."),
    ),
    full=_PLANNED,
    quick=_PLANNED,
    measure=_measure,
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
