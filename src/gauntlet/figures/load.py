"""Latency under load over time: what streams bring each way, and below it delays of what is sent beside."""

import itertools
from typing import Any

import altair as alt

from gauntlet.figures.look import PAGE_WIDTH, PALETTE, legend
from gauntlet.figures.tidy import columns_of, data, in_order

HEIGHT = 110
ROOM = 150
"""For the axis and the legend."""


def load(table: Any) -> alt.VConcatChart:
    """Draw a panel a quantity below each other, a column a condition.

    Columns: `condition` (words), `panel` (the quantity with its unit), `series`, `t` (s), `value`. Panels
    stand in the order in which they come. Raises UserError when a column is missing.
    """
    columns = columns_of(table, ("condition", "panel", "series", "t", "value"))
    conditions, panels, series = (in_order(columns[name]) for name in ("condition", "panel", "series"))
    width = (PAGE_WIDTH - ROOM) // len(conditions) - 50
    colours = alt.Scale(domain=series, range=list(itertools.islice(itertools.cycle(PALETTE), len(series))))
    colour = alt.Color("series:N", scale=colours, legend=legend(lines=True))
    table_of = data(columns)
    drawn = []
    for panel in panels:
        last = panel == panels[-1]
        time = alt.X(
            "t:Q",
            title="time in the run (s)" if last else None,
            axis=alt.Axis(labels=last, ticks=last),
            scale=alt.Scale(nice=False),
        )
        lines = (
            alt.Chart(table_of)
            .transform_filter(alt.datum.panel == panel)
            .mark_line(strokeWidth=1.3)
            .encode(
                x=time,
                y=alt.Y("value:Q", title=panel, scale=alt.Scale(zero=True)),
                color=colour,
                tooltip=["series:N", "t:Q", alt.Tooltip("value:Q", title=panel, format=".3~r")],
            )
            .properties(width=width, height=HEIGHT)
        )
        # Labels that are switched off are drawn all the same where small multiples wrap.
        head = alt.Header(title=None)
        if panel != panels[0]:
            head = alt.Header(title=None, labelExpr="''", labelPadding=0)
        facet = alt.Facet("condition:N", sort=conditions, header=head)
        drawn.append(lines.facet(facet=facet, columns=len(conditions)))
    # Below each other, conditions would be told from each other in the first panel only.
    stacked: alt.VConcatChart = alt.vconcat(*drawn, spacing=4, usermeta={"keepsWidth": True})
    return stacked
