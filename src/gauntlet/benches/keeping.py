"""A bench's results folder, there whole or not at all; until it is, the parts that are done stay beside it.

FOLDER/
  bench.json        bench, plan, quick, seed, command, versions, machine, samples, wall_s, resumed_parts
  table.parquet     a row for each condition and repetition
  raw/NAME.parquet  the samples
"""

import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from gauntlet import __version__
from gauntlet.benches.contract import SAMPLES, Bench, Tell
from gauntlet.benches.parts import Parts
from gauntlet.errors import UserError
from gauntlet.results import parquet
from gauntlet.results.files import failures_named, json_bytes, read_json

ABOUT = "bench.json"
TABLE = "table.parquet"
FORMAT = {"format": "gauntlet-bench", "version": 1}


@dataclass(frozen=True)
class Kept:
    """A bench's results."""

    about: dict[str, Any]
    table: pa.Table

    @classmethod
    def open(cls, folder: Path) -> Self | None:
        """Read a results folder; None when there is none. Raises RunError when it is damaged."""
        if not (folder / ABOUT).exists():
            return None
        about = read_json(folder / ABOUT, "what is said of a bench")
        return cls(about, parquet.read(folder / TABLE, "the table of a bench"))

    def is_of(self, bench: Bench, quick: bool, seed: int) -> bool:
        """Whether these are results of exactly this."""
        mine = _identity(bench, quick, seed)
        return {name: self.about.get(name) for name in mine} == mine


def _identity(bench: Bench, quick: bool, seed: int) -> dict[str, Any]:
    """What results of a bench are of."""
    return {
        **FORMAT,
        "bench": bench.name,
        "plan_sha256": bench.sha256(quick),
        "quick": quick,
        "seed": seed,
    }


def measured(
    bench: Bench, folder: Path, *, quick: bool, seed: int, command: Sequence[str], tell: Tell
) -> Kept:
    """The results in the folder, measured first where there are none; `wall_s` has no time of parts that were
    there from before.

    Raises UserError when the folder holds something else, and what the bench raises.
    """
    there = Kept.open(folder)
    if there is not None:
        if there.is_of(bench, quick, seed):
            return there
        raise UserError(
            f"{folder} holds results of another bench, plan or seed; choose another results folder or remove "
            "that one."
        )
    began = time.monotonic()
    parts = Parts(folder.with_name(f".{folder.name}.begun"), _identity(bench, quick, seed))
    found = bench.measure(quick, seed, tell, parts)
    bench.check(found.table)
    about = {
        **_identity(bench, quick, seed),
        "command": list(command),
        "gauntlet": __version__,
        "machine": dict(found.machine),
        "repetitions": bench.plan(quick).repetitions,
        "rows": found.table.num_rows,
        "samples": sum(found.table.column(SAMPLES).to_pylist()),
        "wall_s": round(time.monotonic() - began, 1),
        "resumed_parts": parts.found,
    }
    _keep(folder, about, found.table, dict(found.raw))
    parts.remove()
    return Kept(about, found.table)


def _keep(folder: Path, about: dict[str, Any], table: pa.Table, raw: dict[str, pa.Table]) -> None:
    part = folder.with_name(f".{folder.name}.part-{os.getpid()}")
    with failures_named(f"write the results {folder}"):
        shutil.rmtree(part, ignore_errors=True)
        (part / "raw").mkdir(parents=True)
        try:
            parquet.write(table, part / TABLE)
            for name, samples in raw.items():
                parquet.write(samples, part / "raw" / f"{name}.parquet")
            (part / ABOUT).write_bytes(json_bytes(about))
            part.rename(folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
