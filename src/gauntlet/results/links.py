"""The table of the links that runs rode, from the trace of each run. Runs share them: in a repetition all
protocols under one condition ride the same link, so each different one is read once.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from gauntlet.results import layout, parquet
from gauntlet.results.reader import Run

_NONE = pa.table({"run": pa.array([], pa.string()), "bearer": pa.array([], pa.string())})
_RUNS_AT_A_TIME = 500


@dataclass(frozen=True)
class Links:
    """Runs by id, each with the place of its link among `different`."""

    ridden: Sequence[tuple[str, int]]
    different: Sequence[pa.Table]

    @staticmethod
    def of(runs: Iterable[Run]) -> "Links":
        """The links of runs that have one."""
        places: dict[bytes, int] = {}
        different: list[pa.Table] = []
        ridden = []
        for run in runs:
            try:
                content = hashlib.sha256((run.folder / layout.TRACE).read_bytes()).digest()
            except FileNotFoundError:
                continue
            if content not in places and (trace := run.trace()) is not None:
                places[content] = len(different)
                different.append(trace)
            ridden.append((run.id, places[content]))
        return Links(ridden, different)

    def write(self, path: Path) -> None:
        """Write the table: `run`, `bearer` and the columns of docs/formats/trace.md."""
        if not self.ridden:
            parquet.write(_NONE, path)
            return
        # Columns that only some links have are null in the others, in the order in which runs bring them.
        promoted = pa.concat_tables(
            [table.slice(0, 0) for table in self.different], promote_options="default"
        )
        schema = promoted.schema.insert(0, pa.field("run", pa.string()))
        with parquet.Writer(path, otherwise=schema.empty_table()) as writer:
            for start in range(0, len(self.ridden), _RUNS_AT_A_TIME):
                parts = [schema.empty_table()]
                for run, place in self.ridden[start : start + _RUNS_AT_A_TIME]:
                    trace = self.different[place]
                    named = pa.repeat(pa.scalar(run, pa.string()), trace.num_rows)
                    parts.append(trace.add_column(0, "run", named))
                writer.write(pa.concat_tables(parts, promote_options="default"))
