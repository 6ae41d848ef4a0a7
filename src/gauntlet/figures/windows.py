"""One stretch over time: throughput over the link's capacity, congestion window, RTT, losses."""

from collections.abc import Collection
from typing import Any

import altair as alt

from gauntlet.figures.look import CAPACITY, PAGE_WIDTH, Look
from gauntlet.figures.tidy import columns_of, data

FIELDS = ("flow", "t", "end", "throughput", "capacity", "cwnd", "rtt", "losses")
"""Columns after the protocol."""
WIDTH = PAGE_WIDTH - 190


PANELS = {"cwnd": ("cwnd (kB)", 110), "rtt": ("smoothed RTT (ms)", 110), "losses": ("lost packets", 80)}
"""Below the throughput: the titles of columns and their heights in pixels."""


def windows(
    table: Any, *, look: Look | None = None, panels: Collection[str] = tuple(PANELS)
) -> alt.VConcatChart:
    """Draw flows over time, one line a flow; below the throughput those of `PANELS` that are among `panels`.

    Columns: `protocol` (the series), `flow` (its place in the run), `t` and `end` (s, of the window),
    `throughput` and `capacity` (Mbit/s), `cwnd` (kB), `rtt` (ms), `losses` (packets); what is empty is not
    drawn. Each window is a step from its start to its end. Raises UserError when a column is missing.
    """
    columns = columns_of(table, ("protocol", *FIELDS))
    look = look or Look.of_table(columns)
    base = alt.Chart()
    below = [name for name in PANELS if name in panels]

    def time(name: str) -> alt.X:
        if name == ["", *below][-1]:
            return alt.X("at:Q", title="time in the run (s)", scale=alt.Scale(nice=False))
        return alt.X("at:Q", title=None, axis=alt.Axis(labels=False), scale=alt.Scale(nice=False))

    scale = alt.Scale(zero=True, domain=alt.DomainUnionWith(unionWith=[0, 1]))

    def lines(field: str, title: str, height: int, x: alt.X) -> alt.Chart:
        chart: alt.Chart = (
            _steps(base.transform_filter(f"isValid(datum.{field}) && datum.{field} !== ''"))
            .mark_line(interpolate="step-after", clip=True)
            .encode(
                x=x,
                y=alt.Y(f"{field}:Q", title=title, scale=scale),
                color=look.colour(lines=True),
                strokeDash=look.dash(lines=True),
                strokeWidth=look.width(),
                detail="flow:N",
                tooltip=[
                    alt.Tooltip("protocol:N"),
                    alt.Tooltip("t:Q", title="t (s)"),
                    alt.Tooltip(f"{field}:Q", title=title, format=".3~s"),
                ],
            )
            .properties(width=WIDTH, height=height)
        )
        return chart

    # Every flow met the same link in windows of its own: the one that starts first shows it.
    capacity = (
        _steps(
            base.transform_filter("isValid(datum.capacity) && datum.capacity !== ''")
            .transform_joinaggregate(first="argmin(t)")
            .transform_filter("datum.protocol === datum.first.protocol && datum.flow === datum.first.flow")
        )
        .mark_area(color=CAPACITY, opacity=1, fillOpacity=0.35, interpolate="step-after")
        .encode(x=time(""), y=alt.Y("capacity:Q", title="", scale=scale, stack=False))
    )
    top = alt.layer(capacity, lines("throughput", "throughput (Mbit/s)", 190, time("")))
    chart: alt.VConcatChart = alt.vconcat(
        top.properties(width=WIDTH, height=190),
        *(lines(name, *PANELS[name], time(name)) for name in below),
        spacing=8,
        data=data(columns),
    ).resolve_scale(x="shared")
    return chart


def _steps(chart: alt.Chart) -> alt.Chart:
    """Each window twice, at its start and at its end: the last one, too, is drawn to its end."""
    both = "[toNumber(datum.t), toNumber(datum.end)]"
    stepped: alt.Chart = chart.transform_calculate(at=both).transform_flatten(["at"])
    return stepped
