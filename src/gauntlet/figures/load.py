"""Latency under load over time: what streams bring each way, and below it delays of what is sent beside."""

import itertools
import math
from typing import Any

import altair as alt

from gauntlet.figures.look import INK, PAGE_WIDTH, PALETTE, legend
from gauntlet.figures.tidy import columns_of, data, in_order

HEIGHT = 110
ROOM = 150
"""For the axis and the legend."""
THINNEST_PX, WIDER_PX = 1.2, 1.8
"""How wide the last series is drawn, and by how much each before it is wider: none hides another."""


def load(table: Any) -> alt.HConcatChart:
    """Draw a panel a quantity below each other, a column a condition.

    Columns: `condition` (words), `panel` (the quantity with its unit), `series`, `t` (s), `value`. Panels
    stand in the order in which they come. Raises UserError when a column is missing.
    """
    columns = columns_of(table, ("condition", "panel", "series", "t", "value"))
    conditions, panels, series = (in_order(columns[name]) for name in ("condition", "panel", "series"))
    width = (PAGE_WIDTH - ROOM) // len(conditions) - 50
    colours = alt.Scale(domain=series, range=list(itertools.islice(itertools.cycle(PALETTE), len(series))))
    colour = alt.Color("series:N", scale=colours, legend=legend(lines=True))
    ranks = range(len(series) - 1, -1, -1)
    widths = alt.Scale(type="ordinal", domain=series, range=[THINNEST_PX + rank * WIDER_PX for rank in ranks])
    width_of = alt.StrokeWidth("series:N", scale=widths, legend=legend(lines=True))
    # Lines are drawn in the order of their rows.
    order = sorted(range(len(columns["series"])), key=lambda row: series.index(str(columns["series"][row])))
    table_of = data({name: [column[row] for row in order] for name, column in columns.items()})

    most = dict.fromkeys(panels, -math.inf)
    for value, panel in zip(columns["value"], columns["panel"], strict=True):
        most[str(panel)] = max(most[str(panel)], float(value))

    instants_s = [float(it) for it in columns["t"]]
    span_s = [min(instants_s), max(instants_s)]

    def drawn(condition: str, panel: str) -> alt.Chart:
        last = panel == panels[-1]
        time = alt.X(
            "t:Q",
            title="time in the run (s)" if last else None,
            axis=alt.Axis(labels=last, ticks=last),
            # One axis for all panels, so that what happens above stands over what it does below.
            scale=alt.Scale(domain=span_s, nice=False),
        )
        chart: alt.Chart = (
            alt.Chart()
            .transform_filter((alt.datum.panel == panel) & (alt.datum.condition == condition))
            .mark_line(clip=True, strokeJoin="round")
            .encode(
                x=time,
                # One axis for a quantity, whatever the condition.
                y=alt.Y("value:Q", title=panel, scale=alt.Scale(domain=[0, 1.05 * most[panel] or 1])),
                color=colour,
                strokeWidth=width_of,
                tooltip=["series:N", "t:Q", alt.Tooltip("value:Q", title=panel, format=".3~r")],
            )
            .properties(width=width, height=HEIGHT)
        )
        return chart

    # On a narrow page conditions stand below each other (report.js), so that each has all its panels.
    side_by_side = [
        alt.vconcat(
            *(drawn(condition, panel) for panel in panels),
            spacing=4,
            title=alt.TitleParams(condition, anchor="middle", fontSize=12, fontWeight=600, color=INK),
        )
        for condition in conditions
    ]
    chart: alt.HConcatChart = alt.hconcat(*side_by_side, data=table_of, spacing=12)
    return chart
