"""One stretch over time: throughput over the link's capacity, congestion window, RTT, losses.

The page picks condition, repetition and protocols; their windows replace the data of this one figure
(`Series.runs`).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gauntlet.figures.look import Look
from gauntlet.figures.style import OF_SUBJECT, Style, apart
from gauntlet.figures.windows import FIELDS, PANELS, windows
from gauntlet.metrics.numbers import counted
from gauntlet.metrics.steps import Floats
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.figures.figure import Figure, figure
from gauntlet.report.rows import Row

POINTS_IN_ALL = 60_000
"""Points over all runs: with more, neighbouring windows are merged, which keeps the page under about 4 MB."""

MOST_FLOWS = 3000
"""Flows that the page can show over time: of a larger campaign those of the first repetitions."""

COLUMNS = (
    "start_s",
    "duration_s",
    "throughput_bps",
    "capacity_bps",
    "cwnd_bytes",
    "srtt_s",
    "retransmitted_packets",
    "lost_messages",
)
ADDED = frozenset({"retransmitted_packets", "lost_messages"})
"""Of these neighbouring windows are added up; `start_s` is that of the first, what else there is is averaged.
"""


WIDTHS_PX = (1.5, 3.5, 5.5)
"""Of lines of one work, and of those of others in the same colours."""


HELD_BACK = (
    "Throughput above the capacity is data that waited at the receiver for a lost packet and was handed over "
    "with it."
)


@dataclass(frozen=True)
class Series:
    """The figure with the first stretch drawn, and all runs for the page to choose from."""

    figure: Figure
    runs: list[dict[str, Any]]
    shown: list[dict[str, Any]]
    """Those of `runs` that the figure shows at first: one condition, one repetition."""
    colours: frozenset[str]
    """Of its lines."""
    repetitions: list[int]
    """The numbers of the repetitions in `runs`."""


def series(evaluation: Evaluation) -> Series | None:
    """All runs' windows; None when there are none."""
    stored = evaluation.results.by_flow("windows", COLUMNS)
    every = [row for row in evaluation.rows if (row.run, row.flow) in stored]
    if not every:
        return None
    rows = _first_repetitions(every)
    points = sum(len(stored[row.run, row.flow]["start_s"]) for row in rows)
    merged = max(1, -(-points // POINTS_IN_ALL))
    lines = _lines(evaluation, rows)
    runs = [_run(evaluation, row, stored[row.run, row.flow], merged) for row in rows]
    for run, row in zip(runs, rows, strict=True):
        run["line"] = lines[row.protocol, row.flow].label
    condition = min(run["condition"] for run in runs)
    repetition = min(run["repetition"] for run in runs if run["condition"] == condition)
    shown = [run for run in runs if (run["condition"], run["repetition"]) == (condition, repetition)]
    columns = _columns(shown)
    panels = {name for name in PANELS if any(any(run[name]) for run in runs)}
    small = "cwnd and smoothed RTT are means of the sender's samples in the window. " * ("cwnd" in panels)
    small += "Lost packets are packets sent again, or messages lost where none are. " * ("losses" in panels)
    repetitions = sorted({run["repetition"] for run in runs})
    length = "each window" if merged == 1 else f"{merged} windows merged (rates averaged, losses added)"
    drawn = figure(
        name="time-series",
        title="A stretch over time",
        caption=f"One step for {length}. Grey: IP-layer capacity of the narrowest link. "
        + small
        + HELD_BACK
        + (
            f" Of {counted(len(every), 'flow')} those of the first {counted(len(repetitions), 'repetition')} "
            "can be shown here; tables/windows.parquet has all."
            if len(rows) < len(every)
            else ""
        ),
        chart=windows(columns, look=_look(list(lines.values())), panels=panels),
        columns=columns,
    )
    colours = frozenset(look.colour for look in lines.values())
    return Series(drawn, runs, shown, colours, repetitions)


def _first_repetitions(rows: Sequence[Row]) -> list[Row]:
    """Rows of as many repetitions, from the first, as the page can show; at least of one."""
    by_repetition: dict[int, list[Row]] = {}
    for row in rows:
        by_repetition.setdefault(row.repetition, []).append(row)
    count = 0
    left = MOST_FLOWS
    for _, of in sorted(by_repetition.items()):
        left -= len(of)
        count += left >= 0
    kept = set(sorted(by_repetition)[: max(count, 1)])
    return [row for row in rows if row.repetition in kept]


def _lines(evaluation: Evaluation, rows: list[Row]) -> dict[tuple[str, int], Style]:
    """How each flow of a protocol looks: beside another flow of the same work, of the same protocol or of the
    same colour, it has a name and a colour of its own. Works that were played over several protocols share
    their colours (`_look` tells them apart); where none was, each has one of its own.
    """
    keys = sorted({(row.protocol, row.flow) for row in rows})
    styles = [(style, flow) for style in evaluation.styles for key, flow in keys if key == style.key]
    several = Counter(key for key, _ in keys)
    named = [
        replace(style, label=f"{style.label}, flow {flow + 1}") if several[style.key] > 1 else style
        for style, flow in styles
    ]
    works: dict[str, list[Style]] = {}
    for style in named:
        works.setdefault(_work(style), []).append(style)
    if max(len({it.key for it in of}) for of in works.values()) == 1:
        works = {"": named}
    looks = {it.label: it for of in works.values() for it in apart(of)}
    return {(style.key, flow): looks[own.label] for (style, flow), own in zip(styles, named, strict=True)}


def _work(style: Style) -> str:
    return style.key.rpartition(OF_SUBJECT)[0]


def _look(lines: Sequence[Style]) -> Look:
    """The lines' look; works in the same colours are told apart by how wide their lines are."""
    works = list(dict.fromkeys(map(_work, lines)))
    alike = len({it.colour for it in lines}) < len(lines)
    widths = [WIDTHS_PX[works.index(_work(it)) % len(WIDTHS_PX)] if alike else WIDTHS_PX[0] for it in lines]
    return replace(Look.of_styles(lines), widths=widths)


def _run(evaluation: Evaluation, row: Row, columns: dict[str, Any], merged: int) -> dict[str, Any]:
    coarse = {name: _coarse(columns[name].astype(float), name, merged) for name in COLUMNS}
    losses = coarse["retransmitted_packets"]
    losses = np.where(np.isnan(losses), coarse["lost_messages"], losses)
    return {
        "run": row.run,
        "protocol": evaluation.style(row.protocol).label,
        "condition": evaluation.conditions.index(row.condition),
        "repetition": row.repetition,
        "trusted": row.trusted,
        "flow": row.flow,
        "t": _plain(coarse["start_s"], 2),
        "end": _plain((columns["start_s"] + columns["duration_s"])[-1:], 2)[0],
        "throughput": _plain(coarse["throughput_bps"] * 1e-6, 3),
        "capacity": _plain(coarse["capacity_bps"] * 1e-6, 3),
        "cwnd": _plain(coarse["cwnd_bytes"] * 1e-3, 1),
        "rtt": _plain(coarse["srtt_s"] * 1e3, 1),
        "losses": _plain(losses, 0),
    }


def _coarse(values: Floats, name: str, merged: int) -> Floats:
    """Neighbouring windows merged: counters are added, the start is the first one's, the rest is averaged."""
    if merged == 1:
        return values
    if name == "start_s":
        return values[::merged]
    starts = np.arange(0, len(values), merged)
    sums: Floats = np.add.reduceat(values, starts)
    return sums if name in ADDED else sums / np.diff(np.append(starts, len(values)))


def _plain(values: Floats, digits: int) -> list[float | int | None]:
    """JSON numbers, as short as they can be; None where there is no value."""
    return [
        None if np.isnan(value) else int(value) if value == int(value) else round(float(value), digits)
        for value in np.round(values, digits)
    ]


def _columns(runs: list[dict[str, Any]]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {name: [] for name in ("protocol", *FIELDS)}
    for run in runs:
        count = len(run["t"])
        columns["protocol"] += [run["line"]] * count
        columns["flow"] += [run["flow"]] * count
        columns["end"] += [*run["t"][1:], run["end"]]
        for name in ("t", *FIELDS[3:]):
            columns[name] += ["" if value is None else value for value in run[name]]
    return columns
