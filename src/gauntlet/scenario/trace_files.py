"""Reads and writes traces as CSV and Parquet (docs/formats/trace.md)."""

import io
import math
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from gauntlet.errors import UserError
from gauntlet.scenario.trace import SCHEMA, Trace

_END = re.compile(r"#\s*end_s\s*=\s*(\S+)\s*$")
_END_KEY = b"end_s"


def read_trace(path: Path) -> Trace:
    """Read a `.csv` or `.parquet` trace; raises `UserError` naming the file, row and column."""
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
    while lines and not lines[-1].strip():
        lines.pop()
    end_s = math.inf
    if lines and lines[-1].startswith("#"):
        end_s = _end_s(lines.pop(), path)
    header = [name.strip() for name in lines[0].split(",")] if lines else []
    options = pyarrow.csv.ConvertOptions(
        column_types={name: SCHEMA.field(name).type for name in header if name in SCHEMA.names},
        strings_can_be_null=True,
    )
    try:
        table = pyarrow.csv.read_csv(
            io.BytesIO("\n".join([",".join(header), *lines[1:], ""]).encode()),
            # Only without threads does Arrow say in which line a value is wrong.
            read_options=pyarrow.csv.ReadOptions(use_threads=False),
            convert_options=options,
        )
    except pa.ArrowInvalid as error:
        raise UserError(f"{path} is not a trace in CSV: {_where(str(error), header)}.") from None
    return Trace(table, end_s, str(path))


def _where(message: str, header: list[str]) -> str:
    """Arrow's words about a bad file in this project's: the column by its name, the line of the file."""
    value = re.match(r"In CSV column #(\d+): Row #(\d+): CSV conversion error to (\w+): .*'(.*)'", message)
    if value:
        kind = "a whole number" if value[3] == "int64" else "a number"
        return f"line {value[2]}, column '{header[int(value[1])]}' is '{value[4]}', which is not {kind}"
    width = re.match(r"CSV parse error: Row #(\d+): Expected (\d+) columns, got (\d+)", message)
    if width:
        return f"line {width[1]} has {width[3]} values, but the header names {width[2]} columns"
    return message.splitlines()[0].rstrip(".")


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
    end_s = float(metadata[_END_KEY]) if _END_KEY in metadata else math.inf
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
