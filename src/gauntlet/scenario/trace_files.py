"""Reads and writes traces as CSV and Parquet (docs/formats/trace.md)."""

import io
import math
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from gauntlet.errors import UserError
from gauntlet.scenario.trace import REQUIRED, SCHEMA, RowError, Trace

_END = re.compile(r"#\s*end_s\s*=\s*(\S+)\s*$")
_END_KEY = b"end_s"


def read_trace(path: Path) -> Trace:
    """Read a `.csv` or `.parquet` trace; raises `UserError` naming the file, line (or row) and column."""
    if not path.is_file():
        raise UserError(f"There is no trace file {path}.")
    if path.suffix == ".parquet":
        return _read_parquet(path)
    if path.suffix == ".csv":
        return _read_csv(path)
    raise UserError(f"{path} is no trace: its name must end in .csv or .parquet.")


def _read_csv(path: Path) -> Trace:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read: {error}.") from None
    numbered = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    end_s = math.inf
    if numbered and numbered[-1][1].startswith("#"):
        end_s = _end_s(numbered.pop()[1], path)
    header = _header(numbered, path)
    options = pyarrow.csv.ConvertOptions(
        column_types={name: SCHEMA.field(name).type for name in header if name in SCHEMA.names},
        strings_can_be_null=True,
        # Arrow's own list has words such as "nan", which would become indistinguishable from nothing.
        null_values=[""],
    )
    line_of_row = [number for number, _ in numbered[1:]]
    try:
        table = pyarrow.csv.read_csv(
            io.BytesIO("\n".join([",".join(header), *(line for _, line in numbered[1:]), ""]).encode()),
            # Only without threads does Arrow say in which line a value is wrong.
            read_options=pyarrow.csv.ReadOptions(use_threads=False),
            convert_options=options,
        )
    except pa.ArrowInvalid as error:
        raise UserError(f"{path}, {_where(str(error), header, line_of_row)}.") from None
    try:
        return Trace(table, end_s, str(path))
    except RowError as error:
        raise UserError(f"{path}, line {line_of_row[error.row - 1]}, {error.what}") from None


def _header(numbered: list[tuple[int, str]], path: Path) -> list[str]:
    """The names of the columns, from the first of the lines."""
    if not numbered:
        raise UserError(f"{path} is empty; a trace begins with its columns: {','.join(REQUIRED)}.")
    for number, line in numbered:
        if line.startswith("#"):
            raise UserError(
                f"{path}, line {number} is a comment; only the last line can be one, such as '# end_s=600'."
            )
    number, line = numbered[0]
    for mark, called in ((";", "semicolons"), ("\t", "tabs")):
        if mark in line and "," not in line:
            raise UserError(
                f"{path}, line {number}: {called} separate the columns; use commas, and points in numbers."
            )
    header = [name.strip() for name in line.split(",")]
    for name in header:
        if header.count(name) > 1:
            raise UserError(f"{path}, line {number}: the column '{name}' stands twice; keep one of them.")
    return header


def _where(message: str, header: list[str], line_of_row: list[int]) -> str:
    """Arrow's words about a bad file in this project's: the column by its name, the line of the file."""
    value = re.match(r"In CSV column #(\d+): Row #(\d+): CSV conversion error to (\w+): .*'(.*)'", message)
    if value:
        kind = "a whole number" if value[3] == "int64" else "a number"
        line = line_of_row[int(value[2]) - 2]
        return f"line {line}, column '{header[int(value[1])]}' is '{value[4]}', which is not {kind}"
    width = re.match(r"CSV parse error: Row #(\d+): Expected (\d+) columns, got (\d+)", message)
    if width:
        line = line_of_row[int(width[1]) - 2]
        return f"line {line} has {width[3]} values, but the header names {width[2]} columns"
    return f"which is not CSV: {message.splitlines()[0].rstrip('.')}"


def _end_s(line: str, path: Path) -> float:
    found = _END.match(line)
    try:
        if found is None:
            raise ValueError
        return float(found[1])
    except ValueError:
        raise UserError(
            f"{path}, last line: '{line}' should be like '# end_s=600', or be left out."
        ) from None


def _read_parquet(path: Path) -> Trace:
    try:
        table = pyarrow.parquet.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise UserError(f"{path} cannot be read as Parquet: {error}.") from None
    metadata = table.schema.metadata or {}
    try:
        end_s = float(metadata.get(_END_KEY, math.inf))
    except ValueError:
        raise UserError(
            f"{path}: the metadata key 'end_s' is not a number; leave it out or mend it."
        ) from None
    return Trace(table, end_s, str(path))


def write_csv(trace: Trace, path: Path) -> None:
    """Write a trace as CSV; numbers read back exactly."""
    rows = [",".join(SCHEMA.names)]
    rows += [",".join(_cell(value) for value in row.values()) for row in trace.table.to_pylist()]
    if math.isfinite(trace.end_s):
        rows.append(f"# end_s={_cell(trace.end_s)}")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    text = str(value)
    return f'"{text.replace(chr(34), chr(34) * 2)}"' if any(mark in text for mark in ',"\n') else text


def write_parquet(trace: Trace, path: Path) -> None:
    """Write a trace as Parquet; the end, if there is one, is kept in the file's metadata as `end_s`."""
    metadata = {_END_KEY: repr(trace.end_s).encode()} if math.isfinite(trace.end_s) else {}
    pyarrow.parquet.write_table(trace.table.replace_schema_metadata(metadata), path)
