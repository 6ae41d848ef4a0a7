"""Distributions with their bands: one small multiple a condition, on shared axes."""

import math
from typing import Any

import altair as alt

from gauntlet.figures.kind import Chart, Drawing, Kind, Panel, Source, repetitions
from gauntlet.figures.look import INK, PRINTED, Look, multiple_width, small_multiples, star
from gauntlet.figures.tidy import Quantity, columns_of, data, in_order
from gauntlet.metrics.ecdf import Cdf, dkw_half_width
from gauntlet.metrics.intervals import BOOTSTRAP_FROM

FIRST_SHOWN = 0.005
"""The log axis starts where this share of the samples is passed: the first few messages do not stretch it."""

WIDEST_BAND = 0.3
"""A band that reaches further to each side than this share covers the chart, says nothing, and is not drawn.
"""

SHARE = "share of samples at most this"


def cdf(
    table: Any,
    x: Quantity,
    *,
    look: Look | None = None,
    log: bool = False,
    width: float | None = None,
    share: str = SHARE,
) -> alt.FacetChart:
    """Draw distributions as steps.

    Columns: `condition` (the small multiple; words, may be empty), `protocol` (the series), `value` (as
    shown, rising within a curve), `share` (0 to 1), `low`, `high` (of the band; empty: no band), `n`
    (repetitions). Optional: `dash` (line style; of rows with the word `printed` a star is drawn, without a
    `share` an upright line, which `n` explains). Raises UserError when a column is missing.
    """
    columns = columns_of(table, ("condition", "protocol", "value", "share", "low", "high", "n"))
    columns.setdefault("dash", [""] * len(columns["value"]))
    look = look or Look.of_table(columns)
    order = in_order(columns["condition"])
    width = width or multiple_width(len(order))
    place = (
        _log_axis(columns, x.log_title)
        if log
        else alt.X("value:Q", title=x.title, scale=alt.Scale(zero=True))
    )
    base = alt.Chart().encode(x=place)
    measured = base.transform_filter(f"datum.dash !== '{PRINTED}'")
    axis = alt.Axis(format="%", title=share, tickCount=5)
    colour, dash = look.colour(lines=True), look.dash(lines=True)
    band = measured.mark_area(opacity=1, fillOpacity=0.07, clip=True, interpolate="step-after").encode(
        color=colour,
        detail=f"{look.dash_by}:N",
        y=alt.Y("low:Q", axis=axis, scale=alt.Scale(domain=[0, 1])),
        y2="high:Q",
    )
    line = measured.mark_line(clip=True, interpolate="step-after").encode(
        y=alt.Y("share:Q", axis=axis),
        color=colour,
        strokeDash=dash,
        strokeWidth=look.width(),
        tooltip=[
            alt.Tooltip("protocol:N"),
            alt.Tooltip("value:Q", format=".3~s"),
            alt.Tooltip("share:Q", format=".1%"),
            alt.Tooltip("n:Q", title="repetitions"),
        ],
    )
    layered = alt.layer(band, line, *_printed(base, columns, colour, axis), data=data(columns))
    return small_multiples(layered.properties(width=width, height=min(width * 0.62, 210)), order)


def banded(found: Cdf) -> bool:
    """Whether there are enough repetitions for a band, and it is narrow enough to say something."""
    return found.repetitions >= BOOTSTRAP_FROM and dkw_half_width(found.effective_samples) < WIDEST_BAND


def _printed(
    base: alt.Chart, columns: dict[str, list[Any]], colour: alt.Color, axis: alt.Axis
) -> list[alt.Chart]:
    """Stars, and upright lines where no share is printed."""
    rows = [
        share in (None, "")
        for dash, share in zip(columns["dash"], columns["share"], strict=True)
        if dash == PRINTED
    ]
    shown = base.encode(tooltip=alt.Tooltip("n:N", title="printed"))
    here, given = f"datum.dash === '{PRINTED}'", "isValid(datum.share) && datum.share !== ''"
    layers = []
    if any(rows):
        lines = shown.transform_filter(f"{here} && !({given})")
        layers.append(lines.mark_rule(color=INK, strokeDash=[3, 3], strokeWidth=1.2))
    if not all(rows):
        points = shown.transform_filter(f"{here} && {given}")
        layers.append(star(points.encode(y=alt.Y("share:Q", axis=axis), color=colour)))
    return layers


def _log_axis(columns: dict[str, list[Any]], title: str) -> alt.X:
    """A log axis from the first half percent on, with ticks at 1, 2 and 5: few and round."""
    rows = zip(columns["value"], columns["share"], columns["dash"], strict=True)
    shown = [float(value) for value, share, dash in rows if dash != PRINTED and float(share) >= FIRST_SHOWN]
    low, high = max(min(shown), 1e-3), max(*shown, 1e-2)
    ticks = [digit * 10.0**power for power in range(-3, 10) for digit in (1, 2, 5)]
    if sum(low <= tick <= high for tick in ticks) < 2:
        low, high, ticks = _close_ticks(low, high)
    return alt.X(
        "value:Q",
        title=title,
        axis=alt.Axis(
            values=[tick for tick in ticks if low <= tick <= high],
            labelExpr="'' + datum.value",
            labelSeparation=6,
        ),
        scale=alt.Scale(type="log", nice=False, domain=[low, high]),
    )


def _close_ticks(low: float, high: float) -> tuple[float, float, list[float]]:
    """An axis for curves so close together that not two of 1, 2 and 5 lie beside them: from a round number to
    a round number, with at most six steps between.
    """
    span = max(high - low, 0.02 * high)
    power = 10.0 ** math.floor(math.log10(span))
    step = next(digit * power for digit in (0.2, 0.5, 1, 2) if span <= 4 * digit * power or digit == 2)
    first, last = math.floor(low / step), math.ceil(high / step)
    if last - first < 3:
        # A curve that is upright, or nearly, does not stand on the edge.
        first, last = max(first - 1, 1), last + 1
    ticks = [round(place * step, 9) for place in range(first, last + 1)]
    return ticks[0], ticks[-1], ticks


class CdfOptions(Drawing):
    """Options in figures.toml: `log` is for a logarithmic axis."""

    log: bool = False


def _draw(options: CdfOptions, source: Source) -> Panel:
    found = source.distributions(options)
    chart = cdf(found.columns, found.y, look=found.look, log=options.log)
    return Chart(f"{options.caption} {repetitions(found.columns)}.", chart)


KIND = Kind("cdf", CdfOptions, _draw)
