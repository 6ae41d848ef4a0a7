"""A KPI against a numeric condition (delay, loss): means with intervals, small multiples by the others."""

import altair as alt

from gauntlet.metrics.kpi import Kpi
from gauntlet.report.axes import Axis, Condition
from gauntlet.report.campaign import Campaign
from gauntlet.report.figures.figure import (
    Figure,
    Look,
    data,
    facet_columns,
    facet_width,
    finished,
    small_multiples,
    table,
)

NUDGE = 0.014
"""Protocols at one level stand side by side, this share of the axis apart: no interval hides another."""


def against(campaign: Campaign, kpi: Kpi, axis: Axis) -> Figure | None:
    """One KPI against one axis; None when no trusted run has it."""
    keys = ("others", "protocol", "x", "level", "value", "low", "high", "n", "completed", "whole")
    rows: dict[str, list[object]] = {key: [] for key in keys}
    position = campaign.axes.index(axis)
    span = axis.shown(axis.values[-1]) - axis.shown(axis.values[0])
    middle = (len(campaign.styles) - 1) / 2
    for condition in campaign.conditions:
        cells = campaign.cells(kpi, condition)
        level = axis.shown(condition[position])
        for place, style in enumerate(campaign.styles):
            found = cells[style.key]
            if found.mean is None or not found.trusted:
                continue
            value, low, high = (
                found.mean.value if end is None else end
                for end in (found.mean.value, found.mean.low, found.mean.high)
            )
            nudged = level + (place - middle) * NUDGE * span
            shown = [number * kpi.shown_factor for number in (value, low, high)]
            others = _others(campaign, condition, position)
            done = (f"{found.completed} of {found.flows}", int(found.completed == found.flows))
            entry = (others, style.label, nudged, level, *shown, found.repetitions, *done)
            for key, item in zip(keys, entry, strict=True):
                rows[key].append(item)
    if not rows["value"]:
        return None
    text = table(rows)
    return Figure(
        name=campaign.named(f"{kpi.name}-against-{axis.name}".replace("_", "-")),
        title=campaign.titled(f"{kpi.label} against {axis.words}"),
        caption="Means over repetitions of trusted runs, 95 % intervals; protocols at one level are drawn "
        "side by side. Hollow: not all flows completed; what did not end counts with its limit, and what has "
        f"no number is not in the mean. {kpi.definition}",
        spec=finished(_chart(campaign, kpi, axis, text)),
        csv=text,
    )


def _others(campaign: Campaign, condition: Condition, position: int) -> str:
    """The condition without one axis, for people."""
    parts = [
        f"{axis.words} {axis.label(value)}"
        for place, (axis, value) in enumerate(zip(campaign.axes, condition, strict=True))
        if place != position
    ]
    return ", ".join(parts) or "all runs"


def _chart(campaign: Campaign, kpi: Kpi, axis: Axis, text: str) -> alt.FacetChart:
    position = campaign.axes.index(axis)
    order = list(dict.fromkeys(_others(campaign, condition, position) for condition in campaign.conditions))
    width = facet_width(max(facet_columns(len(order)), 2))
    look = Look(campaign.styles, lines=False)
    words = axis.words[0].upper() + axis.words[1:]
    levels = [axis.shown(value) for value in axis.values]
    margin = 0.06 * (levels[-1] - levels[0])
    x = alt.X(
        "x:Q",
        title=f"{words} ({axis.unit})" if axis.unit else words,
        axis=alt.Axis(values=levels, grid=False, labelExpr="'' + datum.value"),
        scale=alt.Scale(domain=[levels[0] - margin, levels[-1] + margin], nice=False),
    )
    title = f"{kpi.label} ({kpi.shown_unit})" if kpi.shown_unit else kpi.label
    y = alt.Y("value:Q", title=title)
    base = alt.Chart().encode(x=x, color=look.colour)
    bars = base.mark_rule(strokeWidth=1.4).encode(y=alt.Y("low:Q", title=title), y2="high:Q")
    lines = base.mark_line(strokeWidth=1.6).encode(y=y, strokeDash=look.dash)
    tooltip = [
        alt.Tooltip("protocol:N"),
        alt.Tooltip("level:Q", title=words),
        alt.Tooltip("value:Q", title=kpi.label, format=".3~s"),
        alt.Tooltip("low:Q", format=".3~s"),
        alt.Tooltip("high:Q", format=".3~s"),
        alt.Tooltip("n:Q", title="repetitions"),
        alt.Tooltip("completed:N", title="flows completed"),
    ]
    whole, partly = (base.transform_filter(f"datum.whole == {it}") for it in (1, 0))
    points = (
        mark.encode(y=y, shape=look.shape, tooltip=tooltip)
        for mark in (
            whole.mark_point(size=64, filled=True, opacity=1),
            partly.mark_point(size=64, filled=False, fill="white", strokeWidth=2, opacity=1),
        )
    )
    layered = alt.layer(bars, lines, *points, data=data(text)).properties(width=width, height=210)
    return small_multiples(layered, "others", order)
