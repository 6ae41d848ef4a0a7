"""Reads tables with columns of any name: a value's unit stands in its column's name or is said beside it.

Commas, semicolons and tabs separate; where semicolons do, commas may stand in numbers for points. Lines that
begin with # are left out.
"""

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from re import split

import numpy as np

from gauntlet import units
from gauntlet.errors import UserError
from gauntlet.scenario.measured.link import Flags, Floats

_MISSING = frozenset({"", "-", "nan", "na", "n/a", "none", "null"})
"""What loggers write where they have no value, in small letters."""
_SAME_UNIT = {
    "mbps": "Mbps",
    "gbps": "Gbps",
    "kbit": "kbit/s",
    "mbit/s": "Mbit/s",
    "gbit/s": "Gbit/s",
    "pct": "%",
    "percent": "%",
    "sec": "s",
    "msec": "ms",
}
"""Other ways in which units are written in names of columns."""


@dataclass(frozen=True)
class Kind:
    """A kind of quantity: how its unit is read, and one for examples."""

    parse: Callable[[str], float]
    example: str


RATE = Kind(units.rate_bps, "kbit/s")
TIME = Kind(units.time_s, "ms")
SHARE = Kind(units.fraction, "%")


@dataclass(frozen=True)
class Sheet:
    """The cells of a table as text, with the line of the file that each row stands in."""

    path: Path
    header: list[str]
    rows: list[list[str]]
    lines: list[int]

    def numbers(self, asked: str, option: str, kind: Kind) -> Floats:
        """A column in base units (bit/s, s, a fraction), NaN where a value is missing. Raises `UserError`."""
        name, unit = self._named(asked, option)
        scale = self._scale(name, unit, option, kind)
        values = np.array([self._number(row, name, scale) for row in range(len(self.rows))])
        if not np.isfinite(values).any():
            raise UserError(f"{self.path}: the column '{name}' has no values.")
        negative = np.flatnonzero(values < 0)
        if len(negative):
            raise UserError(f"{self._at(int(negative[0]), name)}: it must be 0 or more.")
        return values

    def instants(self, asked: str, option: str) -> Floats:
        """A column of rising times in seconds: numbers (seconds, unless a unit is said) or ISO 8601."""
        name, unit = self._named(asked, option)
        place = self.header.index(name)
        try:
            float(self._point(self.rows[0][place]))
        except ValueError:
            values = np.array([self._clock(row, name) for row in range(len(self.rows))])
        else:
            scale = _scale(unit, TIME) if unit else _scale_of_name(name, TIME) or 1.0
            if scale is None:
                raise UserError(f"{option}: '{unit}' is no unit of time; write one such as '{name}:ms'.")
            values = np.array([self._number(row, name, scale) for row in range(len(self.rows))])
        missing = np.flatnonzero(~np.isfinite(values))
        if len(missing):
            raise UserError(f"{self._at(int(missing[0]), name)}: every row needs a time.")
        back = np.flatnonzero(np.diff(values) <= 0)
        if len(back):
            raise UserError(f"{self._at(int(back[0]) + 1, name)}: times must rise strictly from row to row.")
        return values

    def refuse(self, bad: Flags, asked: str, rule: str) -> None:
        """Name the first row of a column that breaks a rule, if one does."""
        if bad.any():
            raise UserError(f"{self._at(int(np.argmax(bad)), self._named(asked, '')[0])}: {rule}.")

    def _named(self, asked: str, option: str) -> tuple[str, str | None]:
        """The column that is meant, and the unit said beside it."""
        if asked in self.header:
            return asked, None
        name, colon, unit = asked.rpartition(":")
        if colon and name in self.header:
            return name, unit
        close = get_close_matches(asked, self.header, n=1, cutoff=0.5)
        hint = f"did you mean '{close[0]}'?" if close else f"its columns are: {', '.join(self.header)}."
        raise UserError(f"{option}: {self.path} has no column '{asked}'; {hint}")

    def _scale(self, name: str, unit: str | None, option: str, kind: Kind) -> float:
        if unit == "fraction" and kind is SHARE:
            return 1.0
        scale = _scale(unit, kind) if unit else _scale_of_name(name, kind)
        if scale is None:
            what = f"'{unit}' is no unit here" if unit else f"the column '{name}' has no unit in its name"
            raise UserError(f"{option}: {what}; say it, such as {option} '{name}:{kind.example}'.")
        return scale

    def _number(self, row: int, name: str, scale: float) -> float:
        text = self.rows[row][self.header.index(name)]
        if text.lower() in _MISSING:
            return math.nan
        try:
            value = float(self._point(text)) * scale
        except ValueError:
            raise UserError(f"{self._at(row, name)}, which is not a number.") from None
        if not math.isfinite(value):
            raise UserError(f"{self._at(row, name)}, which is not a finite number.")
        return value

    def _clock(self, row: int, name: str) -> float:
        try:
            instant = datetime.fromisoformat(self.rows[row][self.header.index(name)])
        except ValueError:
            raise UserError(
                f"{self._at(row, name)}, which is neither a number nor a time such as "
                "'2026-03-01 12:30:00.5' (ISO 8601)."
            ) from None
        return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).timestamp()

    def _point(self, text: str) -> str:
        return text.replace(",", ".") if "," in text and "." not in text else text

    def _at(self, row: int, name: str) -> str:
        text = self.rows[row][self.header.index(name)]
        shown = f"'{text}'" if text else "empty"
        return f"{self.path}, line {self.lines[row]}, column '{name}' is {shown}"


def read(path: Path) -> Sheet:
    """Read a table with a header; raises `UserError` naming the line that is wrong."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read as a table: {error}.") from None
    numbered = [
        (number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if len(numbered) < 3:
        raise UserError(f"{path} has no samples; a header and at least two rows are needed.")
    mark = max(",;\t", key=numbered[0][1].count)
    read_rows = csv.reader((line for _, line in numbered), delimiter=mark)
    cells = [[cell.strip() for cell in row] for row in read_rows]
    if len(cells) != len(numbered):
        raise UserError(f"{path}: a cell in quotes goes over several lines; keep a row in one line.")
    header = cells[0]
    for name in header:
        if header.count(name) > 1:
            raise UserError(f"{path}: the column '{name}' stands twice; keep one of them.")
    for (number, _), row in zip(numbered, cells, strict=True):
        if len(row) != len(header):
            raise UserError(
                f"{path}, line {number} has {len(row)} values, but the header names {len(header)} columns."
            )
    return Sheet(path, header, cells[1:], [number for number, _ in numbered[1:]])


def _scale_of_name(name: str, kind: Kind) -> float | None:
    """What a unit behind a name counts in base units: of "dl_kbps", "RTT [ms]", "loss (%)"."""
    parts = [part for part in split(r"[\s_()\[\]]+", name) if part]
    return _scale(parts[-1], kind) if len(parts) > 1 else None


def _scale(unit: str, kind: Kind) -> float | None:
    try:
        return float(kind.parse(f"1{_SAME_UNIT.get(unit, unit)}"))
    except UserError:
        return None
