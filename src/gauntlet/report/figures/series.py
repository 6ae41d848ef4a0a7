"""One stretch over time: throughput over the link's capacity, congestion window, RTT, losses.

The page picks condition, repetition and protocols; their windows replace the data of this one figure
(`Series.runs`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gauntlet.figures.look import Look
from gauntlet.figures.windows import FIELDS, windows
from gauntlet.metrics.steps import Floats
from gauntlet.report.campaign import Campaign, Row, by_flow
from gauntlet.report.figures.figure import Figure, figure

POINTS_IN_ALL = 60_000
"""Points over all runs: with more, neighbouring windows are merged, which keeps the page under about 4 MB."""

COLUMNS = (
    "start_s",
    "throughput_bps",
    "capacity_bps",
    "cwnd_bytes",
    "srtt_s",
    "retransmitted_packets",
    "lost_messages",
)
REDUCED: dict[str, Callable[[Floats], float]] = {
    "start_s": lambda part: float(part[0]),
    "retransmitted_packets": lambda part: float(np.sum(part)),
    "lost_messages": lambda part: float(np.sum(part)),
}
"""How neighbouring windows become one; what is not named is averaged."""


@dataclass(frozen=True)
class Series:
    """The figure with the first stretch drawn, and all runs for the page to choose from."""

    figure: Figure
    runs: list[dict[str, Any]]
    shown: list[dict[str, Any]]
    """Those of `runs` that the figure shows at first: one condition, one repetition."""


def series(campaign: Campaign) -> Series | None:
    """All runs' windows; None when there are none."""
    stored = by_flow(campaign.results.table("windows"), COLUMNS)
    rows = [row for row in campaign.rows if (row.run, row.flow) in stored]
    if not rows:
        return None
    points = sum(len(columns["start_s"]) for columns in stored.values())
    merged = max(1, -(-points // POINTS_IN_ALL))
    runs = [_run(campaign, row, stored[row.run, row.flow], merged) for row in rows]
    condition = min(run["condition"] for run in runs)
    repetition = min(run["repetition"] for run in runs if run["condition"] == condition)
    shown = [run for run in runs if (run["condition"], run["repetition"]) == (condition, repetition)]
    columns = _columns(shown)
    length = "each window" if merged == 1 else f"{merged} windows merged (rates averaged, losses added)"
    drawn = figure(
        name="time-series",
        title="A stretch over time",
        caption=f"One point for {length}, at its start. Grey: IP-layer capacity of the narrowest link. "
        "cwnd and "
        "smoothed RTT are means of the sender's samples in the window; losses are packets sent again and, "
        "for a transport that does not send again, messages lost. Throughput above the capacity is data that "
        "waited at the receiver for a lost packet and was handed over with it.",
        chart=windows(columns, look=Look.of_styles(campaign.styles)),
        columns=columns,
    )
    return Series(drawn, runs, shown)


def _run(campaign: Campaign, row: Row, columns: dict[str, Any], merged: int) -> dict[str, Any]:
    coarse = {name: _coarse(columns[name].astype(float), name, merged) for name in COLUMNS}
    losses = coarse["retransmitted_packets"]
    losses = np.where(np.isnan(losses), coarse["lost_messages"], losses)
    return {
        "run": row.run,
        "protocol": campaign.style(row.protocol).label,
        "condition": campaign.conditions.index(row.condition),
        "repetition": row.repetition,
        "trusted": row.trusted,
        "flow": row.flow,
        "t": _plain(coarse["start_s"], 2),
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
    parts = np.split(values, range(merged, len(values), merged))
    return np.array([REDUCED[name](part) if name in REDUCED else float(np.mean(part)) for part in parts])


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
        columns["protocol"] += [run["protocol"]] * count
        columns["flow"] += [run["flow"]] * count
        for name in FIELDS[1:]:
            columns[name] += ["" if value is None else value for value in run[name]]
    return columns
