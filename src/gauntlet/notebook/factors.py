"""The factors of runs beside the rows of other tables."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gauntlet.errors import UserError
from gauntlet.results.reader import Results, Run

ABOUT_RUN = ("outcome", "reason", "trusted", "verdict")
"""Columns of the runs that say how far they can be believed."""

Places = npt.NDArray[np.int64]


class Factors:
    """The factors of a table of runs (`gauntlet.results.facts.runs_table`), to be put beside other rows.

    A *place* is the number of a run in that table.
    """

    def __init__(self, runs: pa.Table) -> None:
        self._runs = runs
        columns = runs.column_names
        self.names: list[str] = columns[1 : columns.index(ABOUT_RUN[0])]
        self.places = pa.array(np.arange(runs.num_rows, dtype=np.int32))

    def runs(self, results: Results) -> Iterator[tuple[int, Run]]:
        """The runs of the table in the folder, with their places."""
        place_of = {name: place for place, name in enumerate(self._runs["run"].to_pylist())}
        return ((place_of[run.id], run) for run in results.runs() if run.id in place_of)

    def beside(
        self, table: pa.Table, places: Places, *, about_run: bool = False, packed: bool = False
    ) -> pa.Table:
        """A table with the columns `run` and factors in front, and with `about_run` how the runs ended.

        `places` has the run of each row. With `packed` text that repeats becomes a dictionary: a table of
        many millions of rows would not fit into memory otherwise.
        """
        others = [name for name in table.column_names if name != "run"]
        columns = {"run": self._column("run", places, packed)}
        for name in [*self.names, *(ABOUT_RUN if about_run else ())]:
            columns[f"run_{name}" if name in others else name] = self._column(name, places, packed)
        return pa.table({**columns, **{name: table[name] for name in others}})

    def joined(self, parts: Sequence[tuple[int, pa.Table]], what: str, needs: str) -> pa.Table:
        """Tables of single runs, each with its place, under each other.

        Raises UserError when there are none: `what` they hold, and what they would have needed.
        """
        if not self._runs.num_rows:
            raise UserError("No run here is trusted; gauntlet.load(path, untrusted=True) has the others.")
        if not parts:
            raise UserError(f"No run here kept its {what}; play the experiment with {needs}.")
        rows = pa.concat_tables([table for _, table in parts], promote_options="default")
        counts = [table.num_rows for _, table in parts]
        places = np.repeat(np.array([place for place, _ in parts], np.int64), counts)
        return self.beside(rows.unify_dictionaries(), places, packed=True)

    def _column(self, name: str, places: Places, packed: bool) -> pa.ChunkedArray:
        column = self._runs[name].combine_chunks()
        if packed and pa.types.is_string(column.type):
            coded = column.dictionary_encode()
            return pa.chunked_array(
                [pa.DictionaryArray.from_arrays(coded.indices.take(pa.array(places)), coded.dictionary)]
            )
        return pa.chunked_array([column.take(pa.array(places))])
