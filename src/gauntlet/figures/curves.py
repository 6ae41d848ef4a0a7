"""Plain lines as they are given: rates over time, delays packet by packet, formulas."""

from typing import Any, Literal

import altair as alt

from gauntlet.figures.kind import Chart, Kind, Options, Panel, Source
from gauntlet.figures.look import INK, PAGE_WIDTH, Look, multiple_width, small_multiples
from gauntlet.figures.tidy import Quantity, columns_of, data, in_order

WIDTH, HEIGHT = PAGE_WIDTH - 220, 230

Drawn = Literal["line", "steps", "points"]


def curves(
    table: Any,
    x: Quantity,
    y: Quantity,
    *,
    look: Look | None = None,
    drawn: Drawn = "line",
    log_x: bool = False,
    log_y: bool = False,
) -> alt.TopLevelMixin:
    """Draw one line a series.

    Columns: `protocol` (the series), `x`, `y` (as shown). Optional: `condition` (small multiples), `upright`
    (where an upright line stands, the same in all rows of a small multiple; empty: none). `log_x` and
    `log_y` make an axis logarithmic. Raises UserError when a column is missing.
    """
    columns = columns_of(table, ("protocol", "x", "y"))
    look = look or Look.of_table(columns)
    base = alt.Chart().encode(x=_axis(alt.X, "x", x, log_x), color=look.colour(lines=drawn != "points"))
    value = _axis(alt.Y, "y", y, log_y)
    if drawn == "points":
        marks = base.mark_point(size=5, filled=True, opacity=0.8).encode(y=value)
    else:
        marks = base.mark_line(
            strokeWidth=1.8, interpolate="step-after" if drawn == "steps" else "linear"
        ).encode(y=value, strokeDash=look.dash(lines=True))
    layers = [marks]
    if any(it not in (None, "") for it in columns.get("upright", [])):
        rule = alt.Chart().mark_rule(color=INK, strokeDash=[3, 3]).encode(x="max(upright):Q")
        layers.append(rule)
    layered = alt.layer(*layers, data=data(columns))
    if "condition" not in columns:
        return layered.properties(width=WIDTH, height=HEIGHT)
    order = in_order(columns["condition"])
    return small_multiples(layered.properties(width=multiple_width(len(order)), height=HEIGHT), order)


def _axis(channel: type[Any], name: str, what: Quantity, log: bool) -> Any:
    if log:
        scale, axis = alt.Scale(type="log", nice=False), alt.Axis(labelExpr="'' + datum.value")
        return channel(f"{name}:Q", title=what.log_title, scale=scale, axis=axis)
    scale, axis = alt.Scale(zero=True, nice=name == "y"), alt.Axis(labelSeparation=8)
    return channel(f"{name}:Q", title=what.title, scale=scale, axis=axis)


class CurvesOptions(Options):
    """Options in figures.toml: `table` is the name of a tidy table (protocol, x, y) in the study's plugin.py;
    `x` and `y` are the words of the axes.
    """

    table: str
    x: str
    x_unit: str = ""
    y: str
    y_unit: str = ""
    log_x: bool = False
    log_y: bool = False


def _draw(options: CurvesOptions, source: Source) -> Panel:
    axes = (Quantity(options.x, options.x_unit), Quantity(options.y, options.y_unit))
    chart = curves(source.own(options.table), *axes, log_x=options.log_x, log_y=options.log_y)
    return Chart(options.caption, chart)


KIND = Kind("curves", CurvesOptions, _draw)
