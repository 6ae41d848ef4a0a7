"""Where things lie in a results folder (docs/formats/results.md), and nothing else."""

import os
import re
from pathlib import Path

from gauntlet.errors import RunError

MANIFEST = "manifest.json"
EXPERIMENT = "experiment.toml"
SCENARIO = "scenario.json"
MAP = "map.json"
LOCK = ".lock"

SPEC = "spec.json"
KEY = "key.json"
PLAN = "plan.json"
RECORD = "record.json"
CERTIFICATE = "certificate.json"
MESSAGES = "messages.parquet"
SOCKETS = "sockets.parquet"
EXCHANGES = "exchanges.parquet"
IN_PATH = "in_path.parquet"
SAFETY = "safety.parquet"
TRACE = "trace.parquet"
MEASURES = "measures.arrow"
MADE_WITH = "made_with"
"""Beside the tables: the hash of the code that makes measures."""
CAPTURE = "capture.pcapng"
KEYS = "keys.log"
QLOG = "qlog"

PACKED = frozenset({RECORD, CERTIFICATE, MESSAGES, SOCKETS, EXCHANGES, IN_PATH, SAFETY, KEYS, MEASURES})
"""Files of a run that its key alone decides, but for the run's id in the first two; with QLOG and CAPTURE."""

_RUN_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


def runs_folder(results: Path) -> Path:
    """The folder that holds one folder a run."""
    return results / "runs"


def run_folders(results: Path) -> list[tuple[str, Path]]:
    """The runs that are there, by id, each with its folder; none in an absent folder."""
    folder = runs_folder(results)
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if not is_hidden(entry.name) and entry.is_dir())
    except FileNotFoundError:
        return []
    return [(name, folder / name) for name in names]


def tables_folder(results: Path) -> Path:
    """The folder of the tables made when a campaign ends."""
    return results / "tables"


def run_folder(results: Path, run_id: str) -> Path:
    """The folder of one run.

    Raises RunError when the id is not a plain file name (docs/formats/plan.md), so that no run can be
    written outside its results folder or hidden from its readers.
    """
    if _RUN_ID.fullmatch(run_id) is None:
        raise RunError(
            f"the run id {run_id!r} cannot name a folder: use letters, digits, '.', '_' and '-', not "
            "starting with '.' or '-'"
        )
    return runs_folder(results) / run_id


def console_file(results: Path, run_id: str) -> Path:
    """The console of the guest that died or stood still while it played a run; there only then."""
    return results / "consoles" / f"{run_id}.txt"


def is_hidden(name: str) -> bool:
    """Whether a folder entry is unfinished work that readers must not see."""
    return name.startswith(".")
