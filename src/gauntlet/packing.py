"""A worker's part after a run: what is kept of its record, judged and measured where it was played.

It stands between the executor, which knows nothing of records, and the results, which know no workers.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gauntlet.executor.play import Packed
from gauntlet.metrics import measures
from gauntlet.results import layout
from gauntlet.results.files import read_json
from gauntlet.results.pack import made_with, pack
from gauntlet.results.reader import Run


def packed(run: Mapping[str, Any], record_dir: Path, folder: Path, *, capture: bool) -> Packed:
    """Put what is kept of a run into an empty folder; `Player` calls it (`gauntlet.executor.play.Pack`)."""
    record = pack(run, record_dir, folder, capture=capture)
    virtual_s = float(record.get("virtual_s") or 0.0)
    if record["outcome"] != "ok":
        return Packed(made_with(), {"virtual_s": virtual_s}, record["reason"])
    measures.keep(Run.packed(folder, run))
    verdict = read_json(folder / layout.CERTIFICATE, "the certificate")["verdict"]
    flows = sorted({f"{flow['app']} over {flow['stack']}" for flow in record["flows"]})
    facts = {"virtual_s": virtual_s, "verdict": verdict, "capture": capture, "flows": flows}
    return Packed(made_with(), facts)


def code() -> dict[str, str]:
    """What decides the bytes of what is packed besides the record, by name: equal on all workers."""
    return {**made_with(), "measures": measures.made_with()}
