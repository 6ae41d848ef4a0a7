"""What changes over time in a results folder, as one long table: windows, socket samples, links."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gauntlet.metrics.flow import NS_PER_S
from gauntlet.notebook.factors import Factors
from gauntlet.results.reader import Results

OF_WINDOWS = (
    "throughput_bps",
    "capacity_bps",
    "received_bytes",
    "sent_messages",
    "lost_messages",
    "delay_mean_s",
    "delay_max_s",
)
"""Columns of the windows that are no means of socket samples: those are there themselves."""

_NS = "_ns"


def table(results: Results, factors: Factors) -> pa.Table:
    """One row a value: `run`, the factors, `flow`, `bearer`, `t_s`, `quantity`, `value`.

    Rows of one quantity stand together, by run and instant; values that are not known are null.
    """
    place_of = pa.array([run.id for _, run in factors.runs(results)], pa.string())
    windows = _placed(results.table("windows"), place_of)
    links = _placed(results.table("links"), place_of)
    sockets = [
        samples.append_column("place", pa.repeat(pa.scalar(place, pa.int32()), samples.num_rows))
        for place, run in factors.runs(results)
        if (samples := run.sockets()) is not None
    ]
    parts = _melted(windows, "start_s", [name for name in OF_WINDOWS if name in windows.column_names])
    if sockets:
        samples = pa.concat_tables(sockets, promote_options="default")
        parts += _melted(samples, "t_ns", _numbers(samples, "flow", "t_ns"))
    parts += _melted(links, "t_s", _numbers(links, "t_s"))
    if not parts:
        return factors.beside(_EMPTY.drop_columns(["place"]), np.empty(0, np.int64), packed=True)
    rows = pa.concat_tables(parts).unify_dictionaries()
    return factors.beside(
        rows.drop_columns(["place"]), rows["place"].to_numpy().astype(np.int64), packed=True
    )


_TEXT = pa.dictionary(pa.int32(), pa.string())
_EMPTY = pa.schema(
    [
        ("place", pa.int32()),
        ("flow", pa.int32()),
        ("bearer", _TEXT),
        ("t_s", pa.float64()),
        ("quantity", _TEXT),
        ("value", pa.float64()),
    ]
).empty_table()


def _placed(rows: pa.Table, runs: pa.Array) -> pa.Table:
    """The rows of these runs, with the place of each."""
    place = pc.index_in(rows["run"], runs)
    return rows.append_column("place", place).filter(pc.is_valid(place)).drop_columns(["run"])


def _numbers(rows: pa.Table, *others: str) -> list[str]:
    """The columns of numbers, but for the place and `others`."""
    return [
        field.name
        for field in rows.schema
        if field.name not in (*others, "place")
        and (pa.types.is_integer(field.type) or pa.types.is_floating(field.type))
    ]


def _melted(rows: pa.Table, instant: str, quantities: list[str]) -> list[pa.Table]:
    """One table a quantity; nanoseconds become seconds."""
    count = rows.num_rows
    flow = rows["flow"].cast(pa.int32()) if "flow" in rows.column_names else pa.nulls(count, pa.int32())
    bearer = (
        rows["bearer"].cast(pa.string()) if "bearer" in rows.column_names else pa.nulls(count, pa.string())
    )
    same = {"place": rows["place"], "flow": flow, "bearer": bearer.dictionary_encode().cast(_TEXT)}
    same["t_s"] = _seconds(rows[instant], instant)
    return [
        pa.table(
            {
                **same,
                "quantity": pa.repeat(pa.scalar(_named(name), pa.string()), count).dictionary_encode(),
                "value": _seconds(rows[name], name),
            },
            schema=_EMPTY.schema,
        )
        for name in quantities
    ]


def _named(name: str) -> str:
    return f"{name.removesuffix(_NS)}_s" if name.endswith(_NS) else name


def _seconds(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    numbers = column.cast(pa.float64(), safe=False)
    return pc.divide(numbers, float(NS_PER_S)) if name.endswith(_NS) else numbers
