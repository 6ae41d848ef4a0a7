"""Tidy tables: what charts are drawn from, one row an observation, and how they travel inside a chart."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import narwhals as nw

from gauntlet.errors import UserError

Columns = Mapping[str, Sequence[Any]]
"""A table as its columns; None and "" are missing values."""


@dataclass(frozen=True)
class Quantity:
    """What stands on an axis: words, and the unit of the numbers as they are shown."""

    label: str
    unit: str = ""

    @property
    def title(self) -> str:
        """Title of an axis: Throughput (Mbit/s)."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    @property
    def log_title(self) -> str:
        """Title of a logarithmic axis."""
        return f"{self.label} ({', '.join(it for it in (self.unit, 'log axis') if it)})"


def columns_of(table: Any, needed: Sequence[str]) -> dict[str, list[Any]]:
    """The columns of a mapping, or of a table of Polars, pandas or Arrow.

    Raises UserError when a needed one is missing.
    """
    if isinstance(table, Mapping):
        found = {str(name): list(column) for name, column in table.items()}
    else:
        found = nw.from_native(table, eager_only=True).to_dict(as_series=False)
    missing = [name for name in needed if name not in found]
    if missing:
        raise UserError(
            f"The table has no column '{missing[0]}'; this chart needs {', '.join(needed)}, and it has "
            f"{', '.join(found) or 'none'}."
        )
    return found


def add(columns: Mapping[str, list[Any]], *entry: Any) -> None:
    """Append a row."""
    for column, item in zip(columns.values(), entry, strict=True):
        column.append(item)


def in_order(column: Sequence[Any]) -> list[str]:
    """The values of a column as text, each once, in the order in which they come."""
    return list(dict.fromkeys(map(str, column)))


def as_csv(columns: Columns) -> str:
    """Columns as CSV text; floats with six significant digits, which no plot can show."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([f"{value:.6g}" if isinstance(value, float) else value for value in row])
    return out.getvalue()


def data(columns: Columns) -> alt.InlineData:
    """Columns as the data of a chart: CSV text has a third of the size of the same rows as JSON objects."""
    return alt.InlineData(values=as_csv(columns), format=alt.CsvDataFormat(type="csv"))
