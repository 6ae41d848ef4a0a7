"""One bearer over time: the table that docs/formats/trace.md describes.

A row holds from its `t_s` until the next row's; the last row holds until `end_s`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gauntlet.errors import UserError

SCHEMA = pa.schema(
    [
        ("t_s", pa.float64()),
        ("rate_up_bps", pa.float64()),
        ("rate_down_bps", pa.float64()),
        ("delay_up_s", pa.float64()),
        ("delay_down_s", pa.float64()),
        ("loss_up", pa.float64()),
        ("loss_down", pa.float64()),
        ("queue_limit_bytes", pa.int64()),
        ("cell", pa.string()),
        ("km", pa.float64()),
        ("speed_kmh", pa.float64()),
        ("mcs", pa.string()),
        ("sharers", pa.int64()),
        ("source", pa.string()),
    ]
)
"""Columns of every trace, in this order; those after `queue_limit_bytes` may be null."""

REQUIRED = SCHEMA.names[:8]
_NUMERIC = [column.name for column in SCHEMA if not pa.types.is_string(column.type)]
LEAST_RATE_BPS = 1
"""Rates reach the kernel as whole bits per second."""


class RowError(UserError):
    """A value of a trace that cannot be; `row` counts from 1, `what` is the sentence from the column on."""

    def __init__(self, name: str, row: int, what: str) -> None:
        super().__init__(f"{name}, row {row}, {what}")
        self.row = row
        self.what = what


@dataclass(frozen=True)
class TraceRow:
    """What a bearer is like at one instant; units are in the names."""

    t_s: float
    rate_up_bps: float
    rate_down_bps: float
    delay_up_s: float
    delay_down_s: float
    loss_up: float
    loss_down: float
    queue_limit_bytes: int
    cell: str | None
    km: float | None
    speed_kmh: float | None
    mcs: str | None
    sharers: int | None
    source: str | None


@dataclass(frozen=True)
class Trace:
    """A bearer over time.

    `end_s` is where the last row ends; infinity means that it holds for as long as needed.
    `name` is used in error sentences: the file or the scenario it comes from.
    """

    table: pa.Table
    end_s: float = math.inf
    name: str = field(default="trace", compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", _conform(self.table, self.name))
        _check(self.table, self.end_s, self.name)

    @staticmethod
    def from_columns(columns: Mapping[str, Sequence[object]], end_s: float, name: str) -> "Trace":
        """Build a trace from columns by name; optional columns may be left out. Raises `UserError`."""
        known = {key: pa.array(values, type=SCHEMA.field(key).type) for key, values in columns.items()}
        return Trace(pa.table(known), end_s, name)

    def column(self, name: str) -> "np.ndarray[Any, Any]":
        """One column as a NumPy array."""
        values: np.ndarray[Any, Any] = self.table.column(name).to_numpy()
        return values

    def at(self, t_s: float) -> TraceRow:
        """The row in force at `t_s`. Raises `UserError` outside of the trace."""
        if not 0 <= t_s <= self.end_s:
            raise UserError(f"{self.name} has no row at {t_s:g} s: it runs from 0 to {self.end_s:g} s.")
        index = int(np.searchsorted(self.column("t_s"), t_s, side="right")) - 1
        return TraceRow(**self.table.slice(index, 1).to_pylist()[0])

    def window(self, start_s: float, duration_s: float) -> "Trace":
        """The stretch of `duration_s` from `start_s`, with its own clock starting at 0.

        Raises `UserError` when the stretch is not wholly inside the trace.
        """
        stop_s = start_s + duration_s
        # Chunks are cut with sums of floats; a microsecond over the end is not a user's mistake.
        if start_s < 0 or duration_s <= 0 or stop_s > self.end_s + 1e-6:
            raise UserError(
                f"{self.name} cannot be cut from {start_s:g} s to {stop_s:g} s: "
                f"it runs from 0 to {self.end_s:g} s."
            )
        t_s = self.column("t_s")
        first = int(np.searchsorted(t_s, start_s, side="right")) - 1
        last = int(np.searchsorted(t_s, stop_s, side="left"))
        rows = self.table.slice(first, last - first)
        rebased = np.maximum(rows.column("t_s").to_numpy() - start_s, 0.0)
        return Trace(rows.set_column(0, SCHEMA.field(0), pa.array(rebased)), duration_s, self.name)

    def mean(self, column: str, start_s: float = 0.0, stop_s: float | None = None) -> float:
        """Time average of a numeric column between two instants of a trace that ends."""
        stop = self.end_s if stop_s is None else stop_s
        edges = np.clip(np.append(self.column("t_s"), np.inf), start_s, stop)
        return float(np.sum(self.column(column) * np.diff(edges)) / (stop - start_s))

    def means(self, column: str, edges_s: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
        """Time averages of a numeric column over windows that follow each other, from edge to edge."""
        t_s = np.append(self.column("t_s"), min(self.end_s, max(edges_s[-1], self.column("t_s")[-1] + 1)))
        sums = np.append(0.0, np.cumsum(self.column(column) * np.diff(t_s)))
        means: np.ndarray[Any, Any] = np.diff(np.interp(edges_s, t_s, sums)) / np.diff(edges_s)
        return means


def _conform(table: pa.Table, name: str) -> pa.Table:
    """Give the table exactly the columns of `SCHEMA`, optional ones null where absent."""
    for column in table.column_names:
        if column not in SCHEMA.names:
            raise UserError(f"{name} has an unknown column '{column}'; known are: {', '.join(SCHEMA.names)}.")
    for column in REQUIRED:
        if column not in table.column_names:
            raise UserError(f"{name} lacks the column '{column}'; required are: {', '.join(REQUIRED)}.")
    columns = []
    for wanted in SCHEMA:
        if wanted.name not in table.column_names:
            columns.append(pa.nulls(table.num_rows, wanted.type))
            continue
        try:
            columns.append(table.column(wanted.name).cast(wanted.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise UserError(f"{name}, column '{wanted.name}': {error} (expected {wanted.type}).") from None
    return pa.table(columns, schema=SCHEMA)


def _check(table: pa.Table, end_s: float, name: str) -> None:
    if table.num_rows == 0:
        raise UserError(f"{name} has no rows; a trace needs at least one, at t_s = 0.")
    for column in _NUMERIC:
        required = column in REQUIRED
        bad = pc.fill_null(pc.invert(pc.is_finite(table.column(column))), required).to_numpy()
        rule = "every row needs a finite number here" if required else "it must be a finite number or empty"
        _refuse(table, column, bad, name, rule)
    t_s = table.column("t_s").to_numpy()
    _refuse(table, "t_s", np.append(t_s[0] != 0, np.zeros(len(t_s) - 1, bool)), name, "the first must be 0")
    _refuse(
        table, "t_s", np.append(False, np.diff(t_s) <= 0), name, "times must rise strictly from row to row"
    )
    if not end_s > t_s[-1]:
        raise UserError(
            f"{name} ends at {end_s:g} s, but its last row begins at {t_s[-1]:g} s; it must end later."
        )
    for column in ("rate_up_bps", "rate_down_bps"):
        too_low = table.column(column).to_numpy() < LEAST_RATE_BPS
        _refuse(table, column, too_low, name, f"it must be at least {LEAST_RATE_BPS} bit/s")
    too_small = table.column("queue_limit_bytes").to_numpy() <= 0
    _refuse(table, "queue_limit_bytes", too_small, name, "it must be above 0")
    for column in ("delay_up_s", "delay_down_s"):
        _refuse(table, column, table.column(column).to_numpy() < 0, name, "it must be 0 or more")
    for column in ("loss_up", "loss_down"):
        values = table.column(column).to_numpy()
        _refuse(table, column, (values < 0) | (values > 1), name, "it must be a fraction from 0 to 1")


def _refuse(table: pa.Table, column: str, bad: "np.ndarray[Any, Any]", name: str, rule: str) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        value = table.column(column)[row].as_py()
        shown = "empty" if value is None else f"{value:g}"
        raise RowError(name, row + 1, f"column '{column}' is {shown}: {rule}.")
