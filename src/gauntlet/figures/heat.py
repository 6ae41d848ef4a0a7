"""The heat table: protocols x conditions, each cell a number with its interval and how it stands against the
best, shaded from the worst of the table to the best.

It is text, not Vega: a page sets it as an HTML table, the terminal in colours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gauntlet.metrics.kpi import Kpi

MARKS = {
    "best": ("★", "best"),
    "equal": ("=", "best together with others so marked: what they differ by does not matter"),
    "level": ("≈", "not distinguishable from the best"),
    "ahead": (
        "▲",
        "beats the best in this number, but fewer of its flows completed or its mean is the lesser",
    ),
    "worse": ("▼", "worse than another"),
}
"""How a protocol stands, as a sign and in words."""

AT_LEAST = "≥ "
"""Before a mean in which flows that did not end count with their limit: the true one is no smaller."""


WHOLE_SCALE = 0.05
"""Numbers that are closer to each other than this share of the largest do not take up all shades: what hardly
differs looks alike.
"""


@dataclass(frozen=True)
class HeatCell:
    """What one cell shows; `heat` is 1 for the best of the table, at least 0 for others, None without a
    trusted value.
    """

    value: str
    interval: str
    mark: str
    """One of `MARKS`, or empty when nothing was compared."""
    heat: float | None
    trusted: bool
    done: str
    """`3 of 10` where not all flows did what they were to do; else empty."""
    spread: str
    """The middle and the worst repetition; empty where there are not two."""
    note: str
    """Repetitions, and runs that were left out, for the tooltip."""
    flag: str
    """What the cell itself says about runs that were left out; empty when none was."""
    condition: int
    repetitions: int


@dataclass(frozen=True)
class HeatTable:
    """One KPI of one subject over the whole matrix; `heads` are rows of (label, columns that it spans)."""

    id: str
    """Its name in the page."""
    title: str
    kpi: Kpi
    heads: list[list[tuple[str, int]]]
    rows: list[tuple[str, str, bool, list[HeatCell]]]
    """(protocol key, label, ranked with the others, cells)."""

    @property
    def restricted(self) -> bool:
        """Whether some value counts flows that did not end at their limit."""
        return any(cell.value.startswith(AT_LEAST) for *_, cells in self.rows for cell in cells)

    @property
    def marks(self) -> list[tuple[str, str]]:
        """The signs that it has, with their words, in the order of `MARKS`."""
        there = {cell.mark for *_, cells in self.rows for cell in cells}
        return [it for name, it in MARKS.items() if name in there]


def heat(
    columns: Mapping[str, Sequence[Any]],
    conditions: Sequence[Sequence[str]],
    *,
    id: str,
    title: str,
    kpi: Kpi,
) -> HeatTable:
    """The heat table of a tidy table, one row a cell: protocols in the order in which they come, `conditions`
    as the words of their factors' levels, the factor that varies slowest first.

    Columns: `key`, `protocol` (its label), `ranked`, `number` (what is shaded; None: not shaded), `failed`
    (no flow did what it was to do: the worst shade), and the fields of `HeatCell` but `heat`.
    """
    numbers = [number for number in columns["number"] if number is not None]
    low, high = (min(numbers), max(numbers)) if numbers else (0.0, 0.0)
    span = max(high - low, WHOLE_SCALE * max(abs(low), abs(high)))
    rows: dict[str, tuple[str, str, bool, list[HeatCell]]] = {}
    for values in zip(*columns.values(), strict=True):
        cell = dict(zip(columns, values, strict=True))
        key, label, ranked, number, failed = (
            cell.pop(name) for name in ("key", "protocol", "ranked", "number", "failed")
        )
        shade = None
        if number is not None:
            behind = high - number if kpi.higher_is_better else number - low
            shade = 0.0 if failed else 1 - behind / span if span else 1.0
        rows.setdefault(key, (key, label, ranked, []))[3].append(HeatCell(**cell, heat=shade))
    return HeatTable(id, title, kpi, _heads(conditions), list(rows.values()))


def _heads(conditions: Sequence[Sequence[str]]) -> list[list[tuple[str, int]]]:
    """One row of column heads a factor, equal neighbours joined."""
    heads: list[list[tuple[str, int]]] = []
    for position in range(len(conditions[0]) if conditions else 0):
        row: list[tuple[str, int]] = []
        previous: Sequence[str] | None = None
        for condition in conditions:
            prefix = condition[: position + 1]
            if row and prefix == previous:
                row[-1] = (row[-1][0], row[-1][1] + 1)
            else:
                row.append((condition[position], 1))
            previous = prefix
        heads.append(row)
    return heads
