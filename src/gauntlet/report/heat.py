"""The heat table: protocols x conditions, each cell a KPI with its interval and how it stands against the
best.
"""

from dataclasses import dataclass

from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.numbers import MISSING, counted, interval_text, mean_text, number, observation_text
from gauntlet.report.campaign import Campaign, Cell

MARKS = {
    "best": ("★", "best"),
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


@dataclass(frozen=True)
class HeatCell:
    """What one cell shows; `heat` is 0 (worst of the table) to 1 (best), None without a trusted value."""

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


def heat_table(campaign: Campaign, kpi: Kpi) -> HeatTable:
    """The table of one KPI."""
    cells = [campaign.cells(kpi, condition) for condition in campaign.conditions]
    ends = [cell.mean.value for row in cells for cell in row.values() if cell.mean and cell.trusted]
    low, high = (min(ends), max(ends)) if ends else (0.0, 0.0)
    rows = []
    for style in campaign.styles:
        shown = [_cell(kpi, row[style.key], place, low, high) for place, row in enumerate(cells)]
        rows.append((style.key, style.label, style.key in campaign.ranked, shown))
    return HeatTable(
        campaign.named(f"kpi-{kpi.name}"), campaign.titled(kpi.label), kpi, _heads(campaign), rows
    )


def _cell(kpi: Kpi, cell: Cell, place: int, low: float, high: float) -> HeatCell:
    flags = []
    if cell.untrusted_runs:
        flags.append(f"{cell.untrusted_runs} not trusted")
    if cell.failed_runs:
        flags.append(f"{cell.failed_runs} failed")
    if cell.known < len(cell.observations):
        flags.append(f"{len(cell.observations) - cell.known} without a value")
    done = f"{cell.completed} of {cell.flows}" if cell.completed < cell.flows else ""
    if cell.mean is None:
        count = len(cell.observations)
        return HeatCell(
            value=MISSING,
            interval="",
            mark="",
            heat=None,
            trusted=True,
            done=done,
            spread="",
            note=f"no value, n = {count}" if count else "no value",
            flag=", ".join(flags),
            condition=place,
            repetitions=cell.repetitions,
        )
    heat = None
    if cell.trusted:
        heat = (cell.mean.value - low) / (high - low) if high > low else 1.0
        heat = heat if kpi.higher_is_better else 1 - heat
        heat = 0.0 if cell.flows and not cell.completed else heat
    mark = cell.verdict.standing if cell.trusted and cell.verdict is not None else ""
    note = f"n = {counted(cell.repetitions, 'repetition')}"
    if cell.deterministic:
        note += f": deterministic, {len(cell.observations)} repetitions were the same"
    if cell.flows:
        note += f"; {cell.completed} of {counted(cell.flows, 'flow')} completed"
    if cell.limit is not None:
        note += f"; what did not end counts with {number(cell.limit * kpi.shown_factor)} {kpi.shown_unit}"
    if not cell.trusted:
        note += "; none of the runs is trusted"
    return HeatCell(
        value=(AT_LEAST if cell.limit is not None else "") + mean_text(cell.mean, kpi.shown_factor),
        interval="deterministic" if cell.deterministic else interval_text(cell.mean, kpi.shown_factor),
        mark=mark,
        heat=heat,
        trusted=cell.trusted,
        done=done,
        spread=_spread(kpi, cell),
        note=note,
        flag=", ".join(flags),
        condition=place,
        repetitions=cell.repetitions,
    )


def _spread(kpi: Kpi, cell: Cell) -> str:
    if cell.repetitions < 2:
        return ""
    median, worst = (observation_text(it, kpi.shown_factor) for it in (cell.median, cell.worst))
    return f"median {median}, worst {worst}"


def _heads(campaign: Campaign) -> list[list[tuple[str, int]]]:
    """One row of column heads an axis, equal neighbours joined."""
    heads: list[list[tuple[str, int]]] = []
    for position, axis in enumerate(campaign.axes):
        row: list[tuple[str, int]] = []
        previous: object = None
        for condition in campaign.conditions:
            prefix = condition[: position + 1]
            label = f"{axis.words} {axis.label(condition[position])}"
            if row and prefix == previous:
                row[-1] = (row[-1][0], row[-1][1] + 1)
            else:
                row.append((label, 1))
            previous = prefix
        heads.append(row)
    return heads
