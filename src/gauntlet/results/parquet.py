"""Parquet files that depend on their rows alone.

Equal tables written by one version of pyarrow give equal bytes: one thread, fixed encodings and row groups,
no pandas or Arrow schema attached, no instants. The writer's version stands in every footer (`created_by`)
and in the manifest, so files of two versions of pyarrow differ there and may differ in their pages.
"""

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
    encodings: dict[str, str] = {}
    dictionaries: list[str] = []
    for field in table.schema:
        if pa.types.is_integer(field.type):
            encodings[field.name] = "DELTA_BINARY_PACKED"
        elif pa.types.is_floating(field.type):
            encodings[field.name] = "BYTE_STREAM_SPLIT"
        elif pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            dictionaries.append(field.name)
    pq.write_table(
        table.replace_schema_metadata(None).combine_chunks(),
        path,
        version="2.6",
        data_page_version="2.0",
        row_group_size=ROWS_PER_GROUP,
        compression="zstd",
        compression_level=ZSTD_LEVEL,
        use_dictionary=dictionaries,
        column_encoding=encodings,
        write_statistics=True,
        store_schema=False,
    )


def read(path: Path, what: str, columns: list[str] | None = None) -> pa.Table:
    """Read a table, or some of its columns.

    Raises RunError, naming the file, when it is missing or damaged.
    """
    try:
        return pq.read_table(path, columns=columns)
    except FileNotFoundError as error:
        raise RunError(f"{what} is missing: {path} should be there") from error
    except (pa.ArrowException, OSError) as error:
        raise RunError(
            f"{what} cannot be read: {path} is damaged; remove the folder it lies in and run the same "
            "command again"
        ) from error
