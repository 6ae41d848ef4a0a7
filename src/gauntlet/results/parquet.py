"""Parquet files that depend on their rows alone.

Equal tables written by one version of pyarrow give equal bytes: one thread, fixed encodings and row groups,
no pandas or Arrow schema attached, no instants. The writer's version stands in every footer (`created_by`)
and in the manifest, so files of two versions of pyarrow differ there and may differ in their pages.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from gauntlet.errors import RunError

ROWS_PER_GROUP = 1 << 20
"""Rows in a row group: a run of a million messages is one group, so its columns are read in one go."""

ZSTD_LEVEL = 9
"""Measured on a million messages (benchmarks/results.py): within 2 % of the size of level 19, ten times as
fast.
"""


def write(table: pa.Table, path: Path) -> None:
    """Write a table.

    Integers are delta encoded (instants that rise by a few ms then take two to three bytes), floats are split
    into byte streams, strings and booleans go through a dictionary; all of it is compressed with zstd.
    """
    with Writer(path, otherwise=table) as writer:
        writer.write(table)


class Writer:
    """Writes a table a part at a time, into the bytes that `write` gives for the whole of it.

    A context manager. The parts have one schema; `otherwise` is written where no part had rows.
    """

    def __init__(self, path: Path, *, otherwise: pa.Table) -> None:
        self._path, self._otherwise = path, otherwise
        self._waiting: list[pa.Table] = []
        self._rows = 0
        self._writer: pq.ParquetWriter | None = None

    def write(self, part: pa.Table) -> None:
        """Add rows."""
        if not part.num_rows:
            return
        self._waiting.append(part.replace_schema_metadata(None))
        self._rows += part.num_rows
        while self._rows >= ROWS_PER_GROUP:
            self._write_group(ROWS_PER_GROUP)

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, kind: object, *_error: object) -> None:
        try:
            if kind is None and self._rows:
                self._write_group(self._rows)
            elif kind is None and self._writer is None:
                table = self._otherwise.replace_schema_metadata(None)
                self._open(table.schema).write_table(table, row_group_size=ROWS_PER_GROUP)
        finally:
            if self._writer is not None:
                self._writer.close()

    def _write_group(self, rows: int) -> None:
        waiting = pa.concat_tables(self._waiting)
        group, rest = waiting.slice(0, rows), waiting.slice(rows)
        self._open(group.schema).write_table(group.combine_chunks(), row_group_size=ROWS_PER_GROUP)
        self._waiting = [rest] if rest.num_rows else []
        self._rows = rest.num_rows

    def _open(self, schema: pa.Schema) -> pq.ParquetWriter:
        if self._writer is None:
            encodings: dict[str, str] = {}
            dictionaries: list[str] = []
            for field in schema:
                if pa.types.is_integer(field.type):
                    encodings[field.name] = "DELTA_BINARY_PACKED"
                elif pa.types.is_floating(field.type):
                    encodings[field.name] = "BYTE_STREAM_SPLIT"
                elif pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
                    dictionaries.append(field.name)
            self._writer = pq.ParquetWriter(
                self._path,
                schema,
                version="2.6",
                data_page_version="2.0",
                compression="zstd",
                compression_level=ZSTD_LEVEL,
                use_dictionary=dictionaries,
                column_encoding=encodings,
                write_statistics=True,
                store_schema=False,
            )
        return self._writer


def read(path: Path, what: str, columns: list[str] | None = None) -> pa.Table:
    """Read a table, or some of its columns.

    Raises RunError, naming the file, when it is missing or damaged.
    """
    with _failures_named(path, what):
        return pq.read_table(path, columns=columns)


def parts(path: Path, what: str, columns: list[str], *, coded: list[str]) -> Iterator[pa.Table]:
    """Read some columns of a table a row group at a time, those that are `coded` as dictionaries; of a table
    without all of the columns nothing.

    Raises as `read` does.
    """
    with _failures_named(path, what), pq.ParquetFile(path, read_dictionary=coded) as file:
        if set(columns) <= set(file.schema_arrow.names):
            for group in range(file.num_row_groups):
                yield file.read_row_group(group, columns=columns)


@contextmanager
def _failures_named(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise RunError(f"{what} is missing: {path} should be there") from error
    except (pa.ArrowException, OSError) as error:
        raise RunError(
            f"{what} cannot be read: {path} is damaged; remove the folder it lies in and run the same "
            "command again"
        ) from error
