"""A quantity against a numeric condition (delay, loss): means with intervals, small multiples by the rest."""

import itertools
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import altair as alt

from gauntlet.figures.kind import Chart, Drawing, Kind, Panel, Source, repetitions
from gauntlet.figures.look import PRINTED, Look, multiple_width, small_multiples, star
from gauntlet.figures.tidy import Quantity, columns_of, data, in_order

NUDGE = 0.012
"""Series at one level stand side by side, this share of the axis apart: no interval hides another."""

HEIGHT = 220


def against(
    table: Any,
    x: Quantity,
    y: Quantity,
    *,
    look: Look | None = None,
    even: bool = False,
    width: float | None = None,
    named: Mapping[float, str] = MappingProxyType({}),
) -> alt.FacetChart:
    """Draw a mean a level of the condition.

    Columns: `condition` (the small multiple; words, may be empty), `protocol` (the series), `level` (of the
    condition, as shown), `value`, `low`, `high` (as shown; no interval: the ends are empty or the value),
    `n` (repetitions). Optional: `dash` (line style; of rows with the word `printed` stars are drawn, which
    `n` explains), `completed` (words), `whole` (0: the marker is hollow). With `even` levels stand side by
    side, whatever lies between them; they are `named` with their units, where they are. Raises UserError when
    a column is missing.
    """
    columns = columns_of(table, ("condition", "protocol", "level", "value", "low", "high", "n"))
    columns.setdefault("dash", [""] * len(columns["level"]))
    look = look or Look.of_table(columns)
    levels = sorted({float(it) for it in columns["level"]})
    at = {level: float(place) if even else level for place, level in enumerate(levels)}
    columns["x"] = _side_by_side(columns, look, at)
    for end in ("low", "high"):
        measured = zip(columns[end], columns["value"], columns["dash"], strict=True)
        columns[end] = [
            value if given in (None, "") and dash != PRINTED else given for given, value, dash in measured
        ]
    order = in_order(columns["condition"])
    layered = alt.layer(*_layers(columns, look, _axis(x, at, named), x, y), data=data(columns))
    width = width or multiple_width(len(order))
    return small_multiples(layered.properties(width=width, height=HEIGHT), order)


def _side_by_side(columns: dict[str, list[Any]], look: Look, at: dict[float, float]) -> list[float]:
    """Where each row stands: at its level, series beside each other, printed values right on it."""
    dashes = list(look.dashes) if look.dash_by == "dash" else []
    lines = list(itertools.product(look.names, dashes or [""]))
    there = set(zip(columns["protocol"], columns["dash"], strict=True))
    series = [line for line in lines if line in there or not dashes]
    span = max(at.values()) - min(at.values()) or 1.0
    places = []
    for protocol, dash, level in zip(columns["protocol"], columns["dash"], columns["level"], strict=True):
        line = (protocol, dash if dashes else "")
        aside = series.index(line) - (len(series) - 1) / 2 if line in series else 0.0
        places.append(at[float(level)] + aside * NUDGE * span)
    return places


def _axis(x: Quantity, at: Mapping[float, float], named: Mapping[float, str]) -> alt.X:
    places = list(at.values())
    margin = 0.08 * (places[-1] - places[0] or 1.0)
    labels = json.dumps([named.get(level, f"{level:g}") for level in at])
    return alt.X(
        "x:Q",
        title=x.label if named else x.title,
        axis=alt.Axis(
            values=places,
            grid=False,
            labelExpr=f"{labels}[indexof({json.dumps(places)}, datum.value)]",
            # Levels are where they are: to leave out every second one would be no more even.
            labelOverlap="greedy",
        ),
        scale=alt.Scale(domain=[places[0] - margin, places[-1] + margin], nice=False),
    )


def _layers(
    columns: dict[str, list[Any]], look: Look, place: alt.X, x: Quantity, y: Quantity
) -> list[alt.Chart]:
    value = alt.Y("value:Q", title=y.title)
    base = alt.Chart().encode(x=place, color=look.colour(lines=False))
    measured = base.transform_filter(f"datum.dash !== '{PRINTED}'")
    tooltip = [
        alt.Tooltip("protocol:N"),
        *([alt.Tooltip("dash:N", title="condition")] if any(columns["dash"]) else []),
        alt.Tooltip("level:Q", title=x.label),
        alt.Tooltip("value:Q", title=y.label, format=".3~s"),
        alt.Tooltip("low:Q", format=".3~s"),
        alt.Tooltip("high:Q", format=".3~s"),
        alt.Tooltip("n:Q", title="repetitions"),
        *([alt.Tooltip("completed:N", title="flows completed")] if "completed" in columns else []),
    ]
    points = {"y": value, "shape": look.shape(), "tooltip": tooltip}
    layers = [
        measured.mark_rule(strokeWidth=1.4).encode(y=alt.Y("low:Q", title=y.title), y2="high:Q"),
        measured.mark_line(strokeWidth=1.6).encode(y=value, strokeDash=look.dash(lines=False)),
        measured.mark_point(size=60, filled=True, opacity=1).encode(**points),
    ]
    if not all(columns.get("whole", [])):
        partly = measured.transform_filter("datum.whole == 0")
        hollow = partly.mark_point(size=60, filled=False, fill="white", strokeWidth=2, opacity=1)
        layers.append(hollow.encode(**points))
    if PRINTED in columns["dash"]:
        printed = base.transform_filter(f"datum.dash === '{PRINTED}'")
        layers.append(star(printed.encode(y=value, tooltip=alt.Tooltip("n:N", title="printed"))))
    return layers


class AgainstOptions(Drawing):
    """Options in figures.toml: `x` is the factor of the axis, `even` has its levels stand side by side."""

    x: str = "channel_delay_s"
    even: bool = False


def _draw(options: AgainstOptions, source: Source) -> Panel:
    found = source.means(options, options.x)
    assert found.x is not None
    chart = against(found.columns, found.x, found.y, look=found.look, even=options.even)
    return Chart(f"{options.caption} {repetitions(found.columns)}.", chart)


KIND = Kind("against", AgainstOptions, _draw)
