"""What is kept of a run's record, as files that do not say whose run it is: record, columns, certificate.

The same record gives the same bytes, under one version of this and of the Parquet writer (`made_with`).
"""

import inspect
import shutil
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa

from gauntlet.certificate import certify
from gauntlet.certificate.answers import nothing_checked
from gauntlet.engine.hashes import sha256_of_files
from gauntlet.errors import GauntletError
from gauntlet.results import checksums, layout, parquet, pcapng
from gauntlet.results.files import json_bytes, read_json

_COLUMNS: Mapping[str, list[str]] = {
    "messages": ["flow", "seq"],
    "sockets": ["flow", "t_ns"],
    "exchanges": ["flow", "seq"],
    "in_path": [],
    "safety": [],
}
"""The columnar files of a record, with the columns that they are sorted by: none where they are in order."""


_LIBRARIES = ("numpy", "pyarrow")


@cache
def made_with() -> Mapping[str, str]:
    """What decides the packed bytes besides the record: the Parquet writer, what the certificate computes
    with, and the code that judges and converts, which is not in the run key.
    """
    judges = sorted(Path(inspect.getfile(certify)).parent.glob("*.py"))
    converters = [
        Path(inspect.getfile(module)) for module in (sys.modules[__name__], parquet, pcapng, checksums)
    ]
    return {"code": sha256_of_files((*judges, *converters)), **{name: version(name) for name in _LIBRARIES}}


def pack(
    plan_run: Mapping[str, Any],
    record_dir: Path,
    folder: Path,
    certificate: Mapping[str, Any] | None = None,
    *,
    capture: bool = False,
) -> dict[str, Any]:
    """Write the files of a record into `folder` and return the record.

    `plan_run` is the run object of its plan, `certificate` that of the run (default: it is made). With
    `capture` the packets are kept as pcapng. Of a failed run the record alone is kept. Raises RunError when
    the record is not whole.
    """
    record = read_json(record_dir / layout.RECORD, f"the record of run {plan_run['id']}")
    (folder / layout.RECORD).write_bytes(json_bytes(record))
    if record.get("outcome", "ok") != "ok":
        return record
    judged = _certified(plan_run, record_dir) if certificate is None else certificate
    (folder / layout.CERTIFICATE).write_bytes(json_bytes(dict(judged)))
    for name, order in _COLUMNS.items():
        source = record_dir / f"{name}.arrow"
        if source.exists():
            table = _read_arrow(source)
            if order:
                table = table.sort_by([(column, "ascending") for column in order])
            parquet.write(table, folder / f"{name}.parquet")
    if (record_dir / layout.KEYS).exists():
        shutil.copyfile(record_dir / layout.KEYS, folder / layout.KEYS)
    if (record_dir / layout.QLOG).exists():
        shutil.copytree(record_dir / layout.QLOG, folder / layout.QLOG)
    if capture:
        pcapng.convert(record_dir, plan_run, folder / layout.CAPTURE)
    return record


def _certified(plan_run: Mapping[str, Any], record_dir: Path) -> dict[str, Any]:
    """The certificate; where it cannot be made, the run is kept and not checked."""
    try:
        return certify(dict(plan_run), record_dir)
    except GauntletError as error:
        return nothing_checked(str(plan_run["id"]), f"The certificate could not be made: {error}")


def _read_arrow(path: Path) -> pa.Table:
    with pa.OSFile(str(path)) as source:
        return pa.ipc.open_file(source).read_all()
