"""Charts that several figures of a study share, drawn from its summary.

    cdf(...)      distributions with bands by repetition, small multiples on shared axes
    against(...)  a KPI against a numeric condition, means with intervals

`gauntlet.studies.charts_over_time` has those of single runs.

Colours are the protocols' own, the same as in every other report; a solid line is the first value of the
factor `dash` (no loss), broken lines are the further ones. Values that a study prints are stars.
"""

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from gauntlet.errors import UserError
from gauntlet.metrics.ecdf import Cdf, ecdf, ecdf_of_quantiles, mixed_quantiles
from gauntlet.metrics.kpi import Kpi
from gauntlet.report.axes import Axis
from gauntlet.report.figures import cdfs
from gauntlet.report.figures.figure import (
    INK,
    data,
    multiple_width,
    small_multiples,
    table,
)
from gauntlet.studies.factors import factor_axis
from gauntlet.studies.grid import Grid
from gauntlet.studies.model import NotMeasured
from gauntlet.studies.select import DISTRIBUTIONS, Quantity, Selection, by_repetition, quantiles, rows, shown
from gauntlet.studies.summary import Summary

STAR = (
    "M0,-1L0.225,-0.309L0.951,-0.309L0.363,0.118L0.588,0.809L0,0.382"
    "L-0.588,0.809L-0.363,0.118L-0.951,-0.309L-0.225,-0.309Z"
)
"""A five-pointed star as a Vega symbol: no protocol has it."""

POINTS = 64
"""Points of a distribution: as many as a small multiple has room for."""

NUDGE = 0.012
"""Series at one level stand side by side, this share of the axis apart: no interval hides another."""


@dataclass(frozen=True)
class Mark:
    """A value that the study prints, in SI units, at its place in a chart.

    `x` is the level of the condition in `against`; in `cdf` it is the value of the quantity and `y` the share
    of samples (None: a line at the value). `colour` and `facet` are values of those factors, None for all.
    """

    x: float
    y: float | None = None
    colour: Any = None
    facet: Any = None
    label: str = ""


def cdf(
    summary: Summary,
    experiment: str,
    kpi: str | Kpi,
    *,
    of: Selection | None = None,
    colour: str = "protocol",
    dash: str | None = "loss",
    facet: str | None = "channel_delay_s",
    log: bool | None = None,
    printed: Sequence[Mark] = (),
) -> alt.FacetChart:
    """Distributions of a quantity: of messages (delay_s), of 1-s windows (window_throughput_bps,
    window_capacity_bps), or of whole flows (any KPI, such as download_time_s; each repetition one value).

    One curve a value of `colour` and `dash`, one small multiple a value of `facet`. `log` is the default for
    delays. Raises NotMeasured when nothing of the selection was measured.
    """
    what = _kpi(kpi)
    grid = Grid(summary, experiment, of or {}, colour=colour, dash=dash, facet=facet)
    found = {place: _cdf(summary, experiment, what, chosen) for place, chosen in grid.cells()}
    shown_cdfs = {place: one for place, one in found.items() if one is not None}
    if not shown_cdfs:
        raise NotMeasured(f"No trusted run of {experiment} has a {what.name}.")
    keys = ("condition", "protocol", "dash", "value", "share", "low", "high", "n")
    columns: dict[str, list[object]] = {key: [] for key in keys}
    scaled = {place: _scaled(one, what.shown_factor) for place, one in shown_cdfs.items()}
    for place, one in scaled.items():
        banded = cdfs.banded(one)
        for value, share, low, high in zip(one.values, one.probability, one.low, one.high, strict=True):
            limits = (_short(low), _short(high)) if banded else ("", "")
            entry = (*grid.words(place), _short(value), _short(share), *limits, one.repetitions)
            for key, item in zip(keys, entry, strict=True):
                columns[key].append(item)
    title = _titled(what, log := what.name == "delay_s" if log is None else log)
    x = (
        cdfs.log_axis(list(scaled.values()), title)
        if log
        else alt.X("value:Q", title=title, scale=alt.Scale(zero=True))
    )
    look, stars = grid.look(), _cdf_marks(grid, printed, what)
    return cdfs.curves(
        table(columns),
        x,
        grid.facets,
        colour=look.colour,
        dash=look.dash,
        over=stars,
        width=multiple_width(len(grid.facets)),
    )


def against(
    summary: Summary,
    experiment: str,
    kpi: str | Kpi,
    *,
    x: str = "channel_delay_s",
    of: Selection | None = None,
    colour: str = "protocol",
    dash: str | None = "loss",
    facet: str | None = None,
    quantile: float | None = None,
    over_flows: str = "mean",
    even: bool = False,
    printed: Sequence[Mark] = (),
) -> alt.FacetChart:
    """Means over repetitions with 95 % intervals against a numeric factor `x`.

    One line a value of `colour` and `dash`, one small multiple a value of `facet`; `quantile` is for
    distributions. With `even` the values of `x` stand side by side, whatever lies between them. Raises
    NotMeasured when nothing of the selection was measured.
    """
    what, quantity = _kpi(kpi), Quantity(_kpi(kpi).name, quantile)
    grid = Grid(summary, experiment, of or {}, colour=colour, dash=dash, facet=facet)
    axis = factor_axis(summary, experiment, x)
    if not axis.numeric:
        raise UserError(f"{experiment}: {x} has no numbers to stand on an axis; choose another factor for x.")
    places = _places(axis, even)
    span = max(places.values()) - min(places.values()) or 1.0
    keys = ("condition", "protocol", "dash", "x", "level", "value", "low", "high", "n")
    columns: dict[str, list[object]] = {key: [] for key in keys}
    cells = list(grid.cells())
    series = list(dict.fromkeys(place[1:] for place, _ in cells))
    for place, chosen in cells:
        for value in axis.values:
            try:
                picked = by_repetition(
                    summary,
                    experiment,
                    {**chosen, x: value},
                    quantity,
                    over_flows,
                    measures={what.name: what},
                )
                found = picked.mean().within(what.least, what.most)
            except NotMeasured:
                continue
            ends = (found.value, found.low, found.high)
            numbers = [(found.value if end is None else end) * what.shown_factor for end in ends]
            nudged = places[value] + (series.index(place[1:]) - (len(series) - 1) / 2) * NUDGE * span
            entry = (*grid.words(place), nudged, axis.shown(value), *numbers, found.n)
            for key, item in zip(keys, entry, strict=True):
                columns[key].append(item)
    if not columns["value"]:
        raise NotMeasured(f"No trusted run of {experiment} has a {what.name}.")
    _add_printed(columns, grid, axis, what, printed, places=places)
    return _against_chart(grid, axis, what, columns, places)


def _places(axis: Axis, even: bool) -> dict[Any, float]:
    """Where the values of a numeric factor stand: at their numbers, or evenly side by side."""
    return {value: float(n) if even else axis.shown(value) for n, value in enumerate(axis.values)}


def _against_chart(
    grid: Grid,
    axis: Axis,
    what: Kpi,
    columns: Mapping[str, Sequence[object]],
    places: Mapping[Any, float],
) -> alt.FacetChart:
    look, title = grid.look(lines=False), _titled(what)
    levels = list(places.values())
    labels = json.dumps([f"{axis.shown(value):g}" for value in axis.values])
    words = axis.words[0].upper() + axis.words[1:]
    margin = 0.08 * (levels[-1] - levels[0] or 1.0)
    place = alt.X(
        "x:Q",
        title=f"{words} ({axis.unit})" if axis.unit else words,
        axis=alt.Axis(
            values=levels, grid=False, labelExpr=f"{labels}[indexof({json.dumps(levels)}, datum.value)]"
        ),
        scale=alt.Scale(domain=[levels[0] - margin, levels[-1] + margin], nice=False),
    )
    y = alt.Y("value:Q", title=title)
    base = alt.Chart().encode(x=place, color=look.colour)
    measured = base.transform_filter("datum.dash !== 'printed'")
    tooltip = [
        alt.Tooltip("protocol:N"),
        alt.Tooltip("dash:N", title="condition"),
        alt.Tooltip("level:Q", title=words),
        alt.Tooltip("value:Q", title=what.label, format=".3~s"),
        alt.Tooltip("low:Q", format=".3~s"),
        alt.Tooltip("high:Q", format=".3~s"),
        alt.Tooltip("n:Q", title="repetitions"),
    ]
    layers: list[alt.Chart] = [
        measured.mark_rule(strokeWidth=1.4).encode(y=alt.Y("low:Q", title=title), y2="high:Q"),
        measured.mark_line(strokeWidth=1.6).encode(y=y, strokeDash=look.dash),
        measured.mark_point(size=56, filled=True, opacity=1).encode(y=y, shape=look.shape, tooltip=tooltip),
    ]
    if "printed" in columns["dash"]:
        layers.append(_star(base.transform_filter("datum.dash === 'printed'").encode(y=y)))
    width = multiple_width(len(grid.facets))
    layered = alt.layer(*layers, data=data(table(columns))).properties(width=width, height=220)
    return small_multiples(layered, "condition", grid.facets)


def _add_printed(
    columns: dict[str, list[object]],
    grid: Grid,
    axis: Axis,
    what: Kpi,
    printed: Sequence[Mark],
    *,
    places: Mapping[Any, float],
) -> None:
    """The study's values as rows of their own, whose dash is the word printed."""
    for mark, facet in itertools.product(printed, grid.facets):
        if mark.y is None or grid.facet_words(mark.facet) not in ("", facet):
            continue
        entry: tuple[object, ...] = (
            facet,
            grid.colour_words(mark.colour),
            "printed",
            places.get(mark.x, axis.shown(mark.x)),
            axis.shown(mark.x),
            mark.y * what.shown_factor,
            "",
            "",
            mark.label or "printed",
        )
        for column, item in zip(columns.values(), entry, strict=True):
            column.append(item)


def _kpi(kpi: str | Kpi) -> Kpi:
    """A KPI, a measure or a distribution by name."""
    if isinstance(kpi, Kpi):
        return kpi
    return shown(Quantity(kpi, 0.5 if kpi in DISTRIBUTIONS else None), {})


def _cdf(summary: Summary, experiment: str, what: Kpi, chosen: Selection) -> Cdf | None:
    """The distribution under one selection, None when nothing trusted is there."""
    try:
        found = rows(summary, experiment, chosen).to_pylist()
    except NotMeasured:
        return None
    trusted = [row for row in found if row["trusted"]]
    if what.name not in DISTRIBUTIONS:
        known = [row[what.name] for row in trusted if row.get(what.name) is not None]
        failed = sum(row.get(what.name) is None and row["outcome"] != "ok" for row in trusted)
        return ecdf([np.array([value]) for value in known], points=POINTS, nothing=failed)
    name, column, _ = DISTRIBUTIONS[what.name]
    kept = quantiles(summary, experiment, name, column)
    repetitions: dict[int, list[tuple[str, int]]] = {}
    for row in trusted:
        if (row["run"], row["flow"]) in kept and not np.isnan(kept[row["run"], row["flow"]][1]).any():
            repetitions.setdefault(row["repetition"], []).append((row["run"], row["flow"]))
    if not repetitions:
        return None
    levels = next(iter(kept.values()))[0]
    counts = {(row["run"], row["flow"]): row["received_messages"] or 1 for row in trusted}
    values = [mixed_quantiles(levels, [kept[key][1] for key in keys]) for keys in repetitions.values()]
    samples = [sum(counts[key] for key in keys) for keys in repetitions.values()]
    return ecdf_of_quantiles(levels, values, samples, points=POINTS)


def _scaled(one: Cdf, factor: float) -> Cdf:
    """The same distribution in shown units."""
    return Cdf(
        values=one.values * factor,
        probability=one.probability,
        low=one.low,
        high=one.high,
        repetitions=one.repetitions,
        samples=one.samples,
        effective_samples=one.effective_samples,
    )


def _cdf_marks(grid: Grid, printed: Sequence[Mark], what: Kpi) -> list[alt.Chart]:
    """Stars (or lines, where no share is printed) over the small multiples that they belong to."""
    found: list[alt.Chart] = []
    for mark in printed:
        facet = grid.facet_words(mark.facet)
        chart = alt.Chart().transform_aggregate(n="count()", groupby=["condition"])
        if facet:
            chart = chart.transform_filter(f"datum.condition === {facet!r}")
        chart = chart.encode(
            x=alt.datum(mark.x * what.shown_factor), tooltip=alt.value(mark.label or "printed")
        )
        if mark.y is None:
            found.append(chart.mark_rule(color=INK, strokeDash=[3, 3], strokeWidth=1.2))
        else:
            fill = alt.value(grid.colour_of(mark.colour) or "white")
            found.append(_star(chart.encode(y=alt.datum(mark.y), color=fill)))
    return found


def _star(chart: alt.Chart) -> alt.Chart:
    marked: alt.Chart = chart.mark_point(
        shape=STAR, size=150, filled=True, opacity=1, stroke=INK, strokeWidth=0.9
    )
    return marked


def _short(value: float) -> str:
    """Four significant digits: more than a line's width."""
    return f"{value:.4g}"


def _titled(what: Kpi, log: bool = False) -> str:
    parts = ([what.shown_unit] if what.shown_unit else []) + (["log axis"] if log else [])
    return f"{what.label} ({', '.join(parts)})" if parts else what.label
