"""One stretch over time: throughput over the link's capacity, congestion window, RTT, losses.

The page picks condition, repetition and protocols; their windows replace the data of this one figure
(`Series.runs`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from gauntlet.metrics.steps import Floats
from gauntlet.report.campaign import Campaign, Row, by_flow
from gauntlet.report.figures.figure import CAPACITY, PAGE_WIDTH, Figure, Look, data, finished, table

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

FIELDS = ("flow", "t", "throughput", "capacity", "cwnd", "rtt", "losses")
"""Columns of the figure's data after the protocol, here and in the page's script."""


@dataclass(frozen=True)
class Series:
    """The figure with the first stretch drawn, and all runs for the page to choose from."""

    figure: Figure
    runs: list[dict[str, Any]]
    shown: list[dict[str, Any]]
    """Those of `runs` that the figure shows at first: one condition, one repetition."""


def series(campaign: Campaign) -> Series | None:
    """All runs' windows; None when there are none."""
    windows = by_flow(campaign.results.table("windows"), COLUMNS)
    rows = [row for row in campaign.rows if (row.run, row.flow) in windows]
    if not rows:
        return None
    points = sum(len(columns["start_s"]) for columns in windows.values())
    merged = max(1, -(-points // POINTS_IN_ALL))
    runs = [_run(campaign, row, windows[row.run, row.flow], merged) for row in rows]
    condition = min(run["condition"] for run in runs)
    repetition = min(run["repetition"] for run in runs if run["condition"] == condition)
    shown = [run for run in runs if (run["condition"], run["repetition"]) == (condition, repetition)]
    text = _csv(shown)
    length = "each window" if merged == 1 else f"{merged} windows merged (rates averaged, losses added)"
    figure = Figure(
        name="time-series",
        title="A stretch over time",
        caption=f"One point for {length}, at its start. Grey: IP-layer capacity of the narrowest link. "
        "cwnd and "
        "smoothed RTT are means of the sender's samples in the window; losses are packets sent again and, "
        "for a transport that does not send again, messages lost. Throughput above the capacity is data that "
        "waited at the receiver for a lost packet and was handed over with it.",
        spec=finished(_chart(campaign, text)),
        csv=text,
    )
    return Series(figure, runs, shown)


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


def _csv(runs: list[dict[str, Any]]) -> str:
    columns: dict[str, list[Any]] = {name: [] for name in ("protocol", *FIELDS)}
    for run in runs:
        count = len(run["t"])
        columns["protocol"] += [run["protocol"]] * count
        columns["flow"] += [run["flow"]] * count
        for name in FIELDS[1:]:
            columns[name] += ["" if value is None else value for value in run[name]]
    return table(columns)


def _chart(campaign: Campaign, text: str) -> alt.VConcatChart:
    look = Look(campaign.styles)
    width = PAGE_WIDTH - 190
    base = alt.Chart()
    time = alt.X("t:Q", title=None, axis=alt.Axis(labels=False), scale=alt.Scale(nice=False))
    timed = alt.X("t:Q", title="time in the run (s)", scale=alt.Scale(nice=False))

    def lines(field: str, title: str, height: int, x: alt.X, step: bool = False) -> alt.Chart:
        chart: alt.Chart = (
            base.transform_filter(f"isValid(datum.{field}) && datum.{field} !== ''")
            .mark_line(strokeWidth=1.5, interpolate="step-after" if step else "linear", clip=True)
            .encode(
                x=x,
                y=alt.Y(
                    f"{field}:Q",
                    title=title,
                    scale=alt.Scale(zero=True, domain=alt.DomainUnionWith(unionWith=[0, 1])),
                ),
                color=look.colour,
                strokeDash=look.dash,
                detail="flow:N",
                tooltip=[
                    alt.Tooltip("protocol:N"),
                    alt.Tooltip("t:Q", title="t (s)"),
                    alt.Tooltip(f"{field}:Q", title=title, format=".3~s"),
                ],
            )
            .properties(width=width, height=height)
        )
        return chart

    # Every flow met the same link in windows of its own: the one that starts first shows it.
    capacity = (
        base.transform_filter("isValid(datum.capacity) && datum.capacity !== ''")
        .transform_joinaggregate(first="argmin(t)")
        .transform_filter("datum.protocol === datum.first.protocol && datum.flow === datum.first.flow")
        .mark_area(color=CAPACITY, opacity=1, fillOpacity=0.35, interpolate="step-after")
        .encode(x=time, y=alt.Y("capacity:Q", title=""))
    )
    top = alt.layer(capacity, lines("throughput", "throughput (Mbit/s)", 190, time)).properties(
        width=width, height=190
    )
    chart: alt.VConcatChart = alt.vconcat(
        top,
        lines("cwnd", "cwnd (kB)", 110, time),
        lines("rtt", "smoothed RTT (ms)", 110, time),
        lines("losses", "lost packets", 80, timed, step=True),
        spacing=8,
        data=data(text),
    ).resolve_scale(x="shared")
    return chart
