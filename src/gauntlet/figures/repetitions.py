"""Every repetition as a dot, beside mean and median, protocols below each other.

A mean can lie where no repetition does: four of 2 s and one outage of 60 s are 14 s on average. The dots show
it.
"""

from typing import Any

import altair as alt

from gauntlet.figures.look import INK, Look, facet_width, multiple_width, small_multiples
from gauntlet.figures.tidy import Quantity, columns_of, data, in_order

MEASURED, AT_LIMIT, MEAN, MEDIAN = "measured", "did not end (at its limit)", "mean", "median"
"""What the column `kind` says."""
ROW_PX = 34
TICKS = 8
"""About how many numbers stand below a row: those of a limit have six digits and more."""


def repetitions(table: Any, x: Quantity, *, look: Look | None = None) -> alt.FacetChart:
    """Draw one dot a repetition.

    Columns: `condition` (the small multiple), `protocol` (the row), `kind` (one of the words above; what says
    anything else has no place on the axis), `value` (as shown), `low`, `high` (the mean's interval, else
    empty), `repetition`, `n`. Raises UserError when a column is missing.
    """
    needed = ("condition", "protocol", "kind", "value", "low", "high", "repetition", "n")
    columns = columns_of(table, needed)
    look = look or Look.of_table(columns)
    order, labels = in_order(columns["condition"]), list(look.names)
    colours = alt.Scale(domain=labels, range=list(look.colours))
    colour = alt.Color("protocol:N", scale=colours, legend=None)
    rows = alt.Y("protocol:N", sort=labels, title=None, scale=alt.Scale(domain=labels))
    base = alt.Chart().encode(y=rows, color=colour)
    axis = alt.Axis(tickCount=TICKS)
    place = alt.X("value:Q", title=x.title, axis=axis, scale=alt.Scale(zero=True, nice=True))
    tooltip = [
        alt.Tooltip("protocol:N"),
        alt.Tooltip("kind:N", title="what"),
        alt.Tooltip("value:Q", title=x.label, format=".3~s"),
        alt.Tooltip("repetition:N"),
        alt.Tooltip("n:Q"),
    ]

    def only(kind: str) -> alt.Chart:
        found: alt.Chart = base.transform_filter(f"datum.kind === {kind!r}")
        return found

    # Below each other within their row: repetitions that are alike would hide each other.
    apart = alt.YOffset("repetition:O", scale=alt.Scale(paddingOuter=0.5))
    dots, crosses = (
        only(kind).encode(x=place, yOffset=apart, tooltip=tooltip) for kind in (MEASURED, AT_LIMIT)
    )
    layers = (
        only(MEAN).mark_rule(strokeWidth=1.6).encode(x=alt.X("low:Q", title=x.title), x2="high:Q"),
        only(MEAN).mark_tick(thickness=2.4, height=ROW_PX * 0.6).encode(x=place, tooltip=tooltip),
        # With an outline, for a faint fill alone is hardly seen on a dark page.
        dots.mark_point(size=32, filled=True, fillOpacity=0.45, opacity=1, strokeWidth=1).encode(
            stroke=alt.Stroke("protocol:N", scale=colours, legend=None)
        ),
        crosses.mark_point(shape="cross", size=44, filled=True, opacity=1),
        only(MEDIAN)
        .mark_point(shape="diamond", size=70, filled=False, opacity=1, strokeWidth=1.6)
        .encode(x=place, color=alt.value(INK), tooltip=tooltip),
    )
    width = multiple_width(len(order)) if len(order) > 1 else facet_width(1)
    layered = alt.layer(*layers, data=data(columns)).properties(width=width, height=ROW_PX * len(labels))
    return small_multiples(layered, order)
