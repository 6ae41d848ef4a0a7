"""A table of many rows a flow (windows, delays) as arrays by flow."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gauntlet.results import parquet

Arrays = dict[str, npt.NDArray[Any]]
"""Columns by name."""


def by_flow(table: pa.Table, names: Iterable[str]) -> dict[tuple[str, int], Arrays]:
    """Columns of a table that stands in order of run and flow, as NumPy arrays by (run, flow)."""
    if "flow" not in table.column_names or not table.num_rows:
        return {}
    runs = _coded(table.column("run"))
    codes, flows = runs.indices.to_numpy(), table.column("flow").to_numpy()
    first = np.flatnonzero((codes[1:] != codes[:-1]) | (flows[1:] != flows[:-1])) + 1
    starts = np.concatenate(([0], first))
    ends = np.append(first, table.num_rows)
    columns = {name: table.column(name).to_numpy() for name in names}
    named = pc.take(runs.dictionary, pa.array(codes[starts])).to_pylist()
    return {
        (run, flow): {name: values[start:end] for name, values in columns.items()}
        for run, flow, start, end in zip(
            named, flows[starts].tolist(), starts.tolist(), ends.tolist(), strict=True
        )
    }


def of_file(path: Path, what: str, names: Iterable[str]) -> dict[tuple[str, int], Arrays]:
    """As `by_flow`, from a table's file, a part of it at a time: of 100,000 runs it has millions of rows."""
    wanted = list(names)
    found: dict[tuple[str, int], Arrays] = {}
    for part in parquet.parts(path, what, ["run", "flow", *wanted], coded=["run"]):
        for key, columns in by_flow(part, wanted).items():
            found[key] = _joined(found[key], columns) if key in found else columns
    return found


def _joined(first: Mapping[str, npt.NDArray[Any]], rest: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """The columns of a flow whose rows lie in two parts of a file."""
    return {name: np.concatenate([values, rest[name]]) for name, values in first.items()}


def _coded(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """Text as numbers and what they stand for."""
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    joined = coded.unify_dictionaries().combine_chunks()
    return joined.chunk(0) if isinstance(joined, pa.ChunkedArray) else joined
