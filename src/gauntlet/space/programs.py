"""The programs of the crate `flight-links`, which measure; they are built from source."""

import csv
import io
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pyarrow import csv as arrow_csv

from gauntlet.engine.built import Built
from gauntlet.engine.cores import on
from gauntlet.errors import RunError

BENCH = "flight-bench"
MEMORY = "flight-memory"

_BUILT = Built("GAUNTLET_FLIGHT_PROGRAMS", ("flight-links",))


def program(name: str) -> Path:
    """Path of a program: in GAUNTLET_FLIGHT_PROGRAMS, in the working copy's build, or on the PATH."""
    return _BUILT.program(name)


def core() -> int:
    """The core that a measuring program has: the last that this process may use, since devices interrupt the
    first ones.
    """
    return max(os.sched_getaffinity(0))


def rows(name: str, arguments: list[str]) -> pa.Table:
    """What a program prints as comma-separated values; standard error is the user's to see. It stays on one
    core, and who reads it on the others, where there are any.
    """
    command = [str(program(name)), *arguments]
    its = {core()}
    with on(its):
        running = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        with on(os.sched_getaffinity(0) - its or its):
            printed, _ = running.communicate()
    finally:
        running.kill()
        running.wait()
    if running.returncode != 0:
        raise RunError(
            f"{name} {' '.join(arguments)} ended with exit code {running.returncode}; it said why above."
        )
    return arrow_csv.read_csv(io.BytesIO(printed))


@contextmanager
def credentials(signatures: Iterable[str]) -> Iterator[dict[str, Path]]:
    """Files with new certificates of both ends by the keys that sign, made by a process of their own each, so
    that no program that is measured makes keys. They are gone afterwards.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for signature in dict.fromkeys(signatures):
            command = [str(program(BENCH)), "credentials", "--signature", signature]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise RunError(f"{BENCH} made no certificates: {done.stderr.strip()}")
            files[signature] = Path(folder) / f"{signature}.txt"
            files[signature].write_text(done.stdout, encoding="utf-8")
        yield files


def first_row(text: str) -> dict[str, str]:
    """The first row of comma-separated values with a heading."""
    return next(iter(csv.DictReader(io.StringIO(text))))


def about() -> dict[str, str | int]:
    """Versions of the libraries, the clock's reading in nanoseconds, and how many blocks there are."""
    found = rows(BENCH, ["about"]).to_pylist()
    return {row["name"]: int(row["value"]) if row["value"].isdigit() else row["value"] for row in found}
