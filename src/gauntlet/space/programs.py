"""The programs of the crate `flight-links`, which measure; they are built from source."""

import csv
import io
import os
import shutil
import subprocess
from pathlib import Path

import pyarrow as pa
from pyarrow import csv as arrow_csv

from gauntlet.errors import RunError, UserError

BENCH = "flight-bench"
MEMORY = "flight-memory"

PROFILE = "measure"
"""The build's profile: AWS-LC is compiled as it is used, which the others spare themselves."""

_VARIABLE = "GAUNTLET_FLIGHT_PROGRAMS"


def program(name: str) -> Path:
    """Path of a program: in GAUNTLET_FLIGHT_PROGRAMS, in the working copy's build, or on the PATH."""
    named = os.environ.get(_VARIABLE)
    folder = Path(named) if named else Path(__file__).parents[3] / "target" / PROFILE
    built = folder / name
    if built.is_file():
        return built
    found = None if named else shutil.which(name)
    if found:
        return Path(found)
    where = f"{_VARIABLE} is {named}, where it is not" if named else "it is neither built nor on the PATH"
    raise UserError(
        f"The program {name} is needed and {where}: in a working copy, "
        f"`cargo build --profile {PROFILE} -p flight-links` builds it."
    )


def rows(name: str, arguments: list[str]) -> pa.Table:
    """What a program prints as comma-separated values; standard error is the user's to see."""
    command = [str(program(name)), *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise RunError(
            f"{name} {' '.join(arguments)} ended with exit code {done.returncode}; it said why above."
        )
    return arrow_csv.read_csv(io.BytesIO(done.stdout))


def first_row(text: str) -> dict[str, str]:
    """The first row of comma-separated values with a heading."""
    return next(iter(csv.DictReader(io.StringIO(text))))


def about() -> dict[str, str | int]:
    """Versions of the libraries, the clock's reading in nanoseconds, and how many blocks there are."""
    found = rows(BENCH, ["about"]).to_pylist()
    return {row["name"]: int(row["value"]) if row["value"].isdigit() else row["value"] for row in found}
