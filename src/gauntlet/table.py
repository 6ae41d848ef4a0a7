"""A table that notebooks take: Arrow inside, pandas and Polars on request."""

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from gauntlet.errors import UserError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

SHOWN_ROWS = 10
"""Rows of a table that a notebook shows."""


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Rows and named columns; units are in the names (`delay_s`, `throughput_bps`, `size_bytes`).

    Whatever reads Arrow takes it as it is: `polars.DataFrame(table)`, or by its name in DuckDB
    (`duckdb.sql("SELECT * FROM table")`); `arrow` is for `pyarrow` and Altair.
    """

    arrow: pa.Table

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in order."""
        return list(self.arrow.column_names)

    def to_pandas(self) -> "pd.DataFrame":
        """The table as a pandas DataFrame; columns of repeated text become categories.

        Raises UserError when pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise _missing("pandas") from error
        frame: pd.DataFrame = self.arrow.to_pandas()
        return frame

    def to_polars(self) -> "pl.DataFrame":
        """The table as a Polars DataFrame. Raises UserError when Polars is not installed."""
        try:
            import polars as pl
        except ImportError as error:
            raise _missing("polars") from error
        # Repeated text is a dictionary in Arrow, which Polars would not join with text.
        return pl.DataFrame(self.arrow).with_columns(pl.col(pl.Categorical).cast(pl.String))

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """The Arrow PyCapsule interface: how other libraries take the table without copying it."""
        return self.arrow.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def __repr__(self) -> str:
        return f"<Table: {len(self):,} rows of {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the first rows, and how many there are."""
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        rows = "".join(
            f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row.values())}</tr>"
            for row in self.arrow.slice(0, SHOWN_ROWS).to_pylist()
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table><p>{len(self):,} rows</p>"


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return html.escape(f"{value:.6g}" if isinstance(value, float) else str(value))


def _missing(package: str) -> UserError:
    return UserError(f'{package} is not installed; type `pip install "gauntlet-net[{package}]"`.')
