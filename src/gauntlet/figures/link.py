"""A link over time, or along its line: stations, areas and cells; capacity, delay and loss; other trains.

    link(line_figure_data(scenario), panels=("stations", "ground", "capacity", "speed"))

Each panel is one function; all share the x axis.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import altair as alt
import numpy as np
from pydantic import Field

from gauntlet.errors import UserError
from gauntlet.figures.kind import Chart, Kind, Options, Source
from gauntlet.figures.link_view import BOTH, NARROW_NAME_ROOM, Along, Stretch, View
from gauntlet.figures.look import AREA_COLOURS, CAPACITY, INK, MUTED, PAGE_WIDTH, legend
from gauntlet.figures.tidy import add, data

WIDTH = PAGE_WIDTH - 250
UP, DOWN = ("#1F6F8B", [1, 0]), ("#B0713A", [4, 2])
ALIKE = ("#2F3B47", [1, 0])
"""Colour and line style of the directions, and of both where they are alike; no protocol has them."""
STRETCH_COLOUR = "#F2C14E"
NUMBERS_PX = 15
"""Height of the row with the numbers of stretches."""
OWN, SHARED, SPEED, INBOUND = "#0072B2", "#E69F00", "#009E73", "#D55E00"
ROUNDED_S = 0.01
"""Instants of a line are rounded to less."""
JOURNEY_POINTS, TRAIN_POINTS = 500, 40
"""Points kept of a path; a path is straight where a train keeps its speed."""

COLOURS = {*(colour for colour, _ in (UP, DOWN, ALIKE)), OWN, SHARED, SPEED, INBOUND}
"""Of lines and marks, which a dark page lightens."""

Layers = alt.LayerChart | alt.FacetChart
"""What Altair says a layered chart is."""
Panel = Callable[[View, bool], Layers]
"""One panel of the picture; the last one has the labels of the x axis."""
PanelName = Literal["stations", "ground", "capacity", "delay", "loss", "others", "speed", "trains"]


def link(
    scenario: Mapping[str, Any],
    *,
    bearer: str | None = None,
    panels: Sequence[PanelName] | None = None,
    start_s: float = 0.0,
    end_s: float | None = None,
    along: Along = "time",
    stretches: Sequence[Stretch] = (),
) -> alt.VConcatChart:
    """Draw the link of a scenario.

    `scenario` is what `gauntlet.scenario.line_figure_data` gives and results keep: `bearers` with their
    traces as columns (docs/formats/trace.md), `line` with stations, areas, cells and trains, or None.
    `panels` are all that the scenario has something for, unless given; `stretches` are marked. Raises
    UserError for a bearer that is not there and for trains or kilometres off the railway.
    """
    bearers = scenario["bearers"]
    name = next(iter(bearers)) if bearer is None else bearer
    if name not in bearers:
        raise UserError(f"There is no bearer '{name}'; the bearers are: {', '.join(bearers)}.")
    trace = bearers[name]
    until_s = end_s or trace.get("end_s") or scenario.get("duration_s") or trace["t_s"][-1]
    view = View(scenario, trace, start_s, float(until_s), along, stretches)
    wanted = panels or suited(view)
    if view.line is None and (along == "km" or set(wanted) & {"stations", "ground", "speed", "trains"}):
        raise UserError("This link is not on a line: draw capacity, delay and loss along time.")
    drawn = []
    for panel in wanted:
        # Right above the first panel that has stretches marked.
        drawn += [_numbers(view)] if panel == "capacity" and view.numbers() else []
        drawn.append(PANELS[panel](view, panel == wanted[-1]))
    stacked = alt.vconcat(*drawn, data=data(view.rows()), spacing=6)
    chart: alt.VConcatChart = stacked.resolve_scale(color="independent", strokeDash="independent")
    return chart


def suited(view: View) -> list[PanelName]:
    """The panels that a link has something for."""
    lossy = any(view.trace["loss_up"]) or any(view.trace["loss_down"])
    always: list[PanelName] = ["capacity", "delay", *(["loss"] if lossy else [])]  # type: ignore[list-item]
    if view.line is None:
        return always
    moving: list[PanelName] = ["speed", "trains"] if view.along == "time" else ["speed"]
    return ["stations", "ground", *always, *(["others"] if view.shared else []), *moving]  # type: ignore[list-item]


def _x(view: View, field: str, last: bool) -> alt.X:
    axis = alt.Axis(title=view.title if last else None, labels=last, ticks=last, grid=False)
    return alt.X(f"{field}:Q", axis=axis, scale=alt.Scale(domain=list(view.ends), nice=False))


def _boxes(view: View, spans: Sequence[tuple[float, float, str]]) -> list[dict[str, Any]]:
    """The visible parts of spans of time: `from`, `to`, `name`."""
    shown = ((view.inside(from_s, to_s), name) for from_s, to_s, name in spans)
    return [{"from": ends[0], "to": ends[1], "name": name} for ends, name in shown if ends]


def _stations(view: View, last: bool) -> Layers:
    # On a narrow page report.js leaves out what is called "wide".
    shown = view.stations()
    fitting = view.spaced(shown, NARROW_NAME_ROOM)
    layers = []
    for stations, name in ((fitting, "names"), ([it for it in shown if it not in fitting], "wide-names")):
        names = alt.Chart(alt.InlineData(values=stations), name=name).encode(x=_x(view, "x", last))
        ticks = names.mark_tick(color=MUTED, opacity=1, thickness=1.5, height=8).encode(y=alt.value(76))
        words = names.mark_text(angle=322, align="left", baseline="middle", dx=3, dy=-2, color=INK).encode(
            y=alt.value(68), text="name:N"
        )
        layers += [ticks.properties(name=f"{name}-ticks"), words] if stations else []
    return alt.layer(*layers).properties(width=WIDTH, height=80)


def _numbers(view: View) -> Layers:
    """Names of the stretches that runs rode, above all that they are marked in."""
    names = alt.Chart(alt.InlineData(values=view.numbers())).mark_text(fontWeight=600, color=INK)
    words = names.encode(x=_x(view, "x", last=False), y=alt.value(NUMBERS_PX / 2), text="name:N")
    return alt.layer(*_behind(view, False), words).properties(width=WIDTH, height=NUMBERS_PX)


def _ground(view: View, last: bool) -> Layers:
    """Kind of surroundings, and a mark where each antenna stands."""
    assert view.line is not None
    line, journey = view.line, view.line["journey"]
    areas = _boxes(view, [(it["from_s"], it["to_s"], it["type"]) for it in line["areas"]])
    kinds = [kind for kind in AREA_COLOURS if any(area["name"] == kind for area in areas)]
    passed_s = np.interp([cell["km"] for cell in line["cells"]], journey["km"], journey["t_s"]).tolist()
    sites = [
        {"x": view.x(at_s), "cell": cell["name"]}
        for cell, at_s in zip(line["cells"], passed_s, strict=True)
        # Rounded, the last antenna may seem to stand just beyond the end.
        if view.begin_s <= at_s <= view.end_s + ROUNDED_S
    ]
    marks = (
        alt.Chart(alt.InlineData(values=sites))
        .mark_point(shape="triangle-up", filled=True, size=45, opacity=1, color=INK)
        .encode(x=_x(view, "x", last), tooltip=["cell:N"])
    )
    colour = alt.Color(
        "name:N",
        scale=alt.Scale(domain=kinds, range=[AREA_COLOURS[kind] for kind in kinds]),
        legend=alt.Legend(title=None, symbolType="square", symbolStrokeWidth=0, direction="horizontal"),
    )
    ground = (
        alt.Chart(alt.InlineData(values=areas))
        .mark_rect()
        .encode(
            x=_x(view, "from", last), x2="to:Q", color=colour, tooltip=alt.Tooltip("name:N", title="area")
        )
    )
    return alt.layer(*([ground] if areas else []), marks).properties(width=WIDTH, height=14)


def _behind(view: View, last: bool) -> list[alt.Chart]:
    """Stretches that runs rode, behind a panel."""
    ridden = _boxes(view, [(it.from_s, it.to_s, it.name) for it in view.stretches])
    if not ridden:
        return []
    bands = alt.Chart(alt.InlineData(values=ridden))
    return [
        bands.mark_rect(color=STRETCH_COLOUR, opacity=1, fillOpacity=0.35).encode(
            x=_x(view, "from", last), x2="to:Q"
        )
    ]


def _once(view: View) -> alt.Chart:
    """The rows of one direction, for what is the same in both."""
    up, _ = view.directions
    chart: alt.Chart = (
        alt.Chart().transform_filter(f"datum.direction === '{up}'").transform_calculate(direction=f"'{BOTH}'")
    )
    return chart


def _tooltip(view: View, field: str, title: str) -> list[alt.Tooltip]:
    return [
        alt.Tooltip(f"{view.unit}:Q", format=".2f"),
        alt.Tooltip("direction:N"),
        alt.Tooltip(f"{field}:Q", title=title, format=".3~s"),
        alt.Tooltip("cell:N", title=view.served_by),
    ]


def _both_ways(field: str, title: str, height: int) -> Panel:
    """A quantity of both directions; a single line where they are the same."""

    def draw(view: View, last: bool) -> Layers:
        alike = view.alike(field)
        shown = [BOTH] if alike else list(view.directions)
        rows = _once(view) if alike else alt.Chart()
        colours, dashes = ([look[place] for look in ([ALIKE] if alike else [UP, DOWN])] for place in (0, 1))
        lines = rows.mark_line(interpolate="step-after", strokeWidth=1.3).encode(
            x=_x(view, view.unit, last),
            y=alt.Y(f"{field}:Q", title=title, axis=alt.Axis(tickCount=4), scale=alt.Scale(zero=True)),
            color=alt.Color(
                "direction:N", scale=alt.Scale(domain=shown, range=colours), legend=legend(lines=True)
            ),
            strokeDash=alt.StrokeDash(
                "direction:N", scale=alt.Scale(domain=shown, range=dashes), legend=legend(lines=True)
            ),
            tooltip=_tooltip(view, field, title),
        )
        return alt.layer(*_behind(view, last), lines).properties(width=WIDTH, height=height)

    return draw


def _capacity(view: View, last: bool) -> Layers:
    """Rate of the link; where it is known, above it what other trains in the cell have."""
    title, height = "capacity (Mbit/s)", 150
    if not (view.alike("rate_mbps") and view.shared):
        return _both_ways("rate_mbps", title, height)(view, last)
    names = alt.Scale(domain=["this train", "others in the cell"], range=[OWN, SHARED])
    squares = alt.Legend(title=None, symbolType="square", symbolStrokeWidth=0)

    def area(high: str, name: str, **low: alt.Y2) -> alt.Chart:
        chart: alt.Chart = (
            _once(view)
            .mark_area(interpolate="step-after", opacity=0.8, line=False)
            .transform_calculate(who=f"'{name}'")
            .encode(
                x=_x(view, view.unit, last),
                y=alt.Y(f"{high}:Q", title=title, axis=alt.Axis(tickCount=4)),
                color=alt.Color("who:N", scale=names, legend=squares),
                tooltip=_tooltip(view, high, title),
                **low,
            )
        )
        return chart

    above = area("cell_mbps", "others in the cell", y2=alt.Y2("rate_mbps:Q"))
    layers = [*_behind(view, last), above, area("rate_mbps", "this train")]
    return alt.layer(*layers).properties(width=WIDTH, height=height)


def _others(view: View, last: bool) -> Layers:
    """Other trains in the cell; upright lines where the reference train enters another one."""
    most = int(max(it for it in view.rows()["others"] if it != ""))
    entered = [view.x(it["from_s"]) for it in view.line["cells"][1:]] if view.line else []
    low, high = view.ends
    rules = (
        alt.Chart(alt.InlineData(values=[{"x": x} for x in entered if low <= x <= high]))
        .mark_rule(color=CAPACITY, strokeWidth=0.6, opacity=0.7)
        .encode(x=_x(view, "x", last))
    )
    steps = (
        _once(view)
        .mark_area(interpolate="step-after", color=SHARED, opacity=0.85)
        .encode(
            x=_x(view, view.unit, last),
            y=alt.Y(
                "others:Q",
                title="other trains in the cell",
                axis=alt.Axis(values=list(range(most + 1)), format="d"),
            ),
            tooltip=[alt.Tooltip(f"{view.unit}:Q", format=".1f"), alt.Tooltip("others:Q", format="d")],
        )
    )
    return alt.layer(rules, steps).properties(width=WIDTH, height=120)


def _path(view: View, path: Mapping[str, Sequence[float]], points: int) -> list[int]:
    """Some points of a path, from the last before the picture to the first after it."""
    low, high = (int(np.searchsorted(path["t_s"], t_s)) for t_s in (view.begin_s, view.end_s))
    seen = range(max(low - 1, 0), min(high + 1, len(path["t_s"])))
    return sorted({*seen[:: max(1, len(seen) // points)], *seen[-1:]})


def _speed(view: View, last: bool) -> Layers:
    assert view.line is not None
    journey = view.line["journey"]
    kept = _path(view, journey, JOURNEY_POINTS)
    columns = {
        "x": [view.x(journey["t_s"][n]) for n in kept],
        "speed": [journey["speed_kmh"][n] for n in kept],
    }
    chart = (
        alt.Chart(data(columns))
        .mark_area(clip=True, color=SPEED, opacity=0.25, line={"color": SPEED, "strokeWidth": 1.3})
        .encode(x=_x(view, "x", last), y=alt.Y("speed:Q", title="speed (km/h)", axis=alt.Axis(tickCount=4)))
    )
    return alt.layer(chart).properties(width=WIDTH, height=90)


def _trains(view: View, last: bool) -> Layers:
    """Position over time of all trains, and the cells as bands."""
    assert view.line is not None
    line = view.line
    columns: dict[str, list[Any]] = {"train": [], "who": [], "x": [], "km": []}
    paths = [("same way" if it["outbound"] else "other way", it, TRAIN_POINTS) for it in line["trains"]]
    for number, (who, path, points) in enumerate([*paths, ("this train", line["journey"], JOURNEY_POINTS)]):
        for place in _path(view, path, points):
            add(columns, number, who, view.x(path["t_s"][place]), path["km"][place])
    journey, length_km = line["journey"], line["length_km"]
    ends = np.interp([view.begin_s, view.end_s], journey["t_s"], journey["km"])
    whole = view.end_s - view.begin_s > 0.9 * journey["t_s"][-1]
    margin = max(0.6 * float(np.ptp(ends)), 0.03 * length_km)
    low, high = float(max(min(ends) - margin, 0.0)), float(min(max(ends) + margin, length_km))
    if whole:
        low, high = 0.0, float(length_km)

    def y(field: str) -> alt.Y:
        scale = alt.Scale(domain=[low, high], nice=False)
        return alt.Y(f"{field}:Q", title="position (km)", axis=alt.Axis(grid=False), scale=scale)

    bands = [
        {"low": max(cell["from_km"], low), "high": min(cell["to_km"], high)}
        for cell in line["cells"][::2]
        if cell["from_km"] < high and cell["to_km"] > low
    ]
    cells = (
        alt.Chart(alt.InlineData(values=bands))
        .mark_rect(color=CAPACITY, opacity=0.18)
        .encode(y=y("low"), y2="high:Q")
    )
    colours = alt.Scale(domain=["this train", "same way", "other way"], range=[INK, OWN, INBOUND])
    paths_drawn = (
        alt.Chart(data(columns))
        .mark_line(clip=True)
        .encode(
            x=_x(view, "x", last),
            y=y("km"),
            detail="train:N",
            color=alt.Color("who:N", scale=colours, legend=alt.Legend(title=None, symbolType="stroke")),
            strokeWidth=alt.condition("datum.who === 'this train'", alt.value(2.4), alt.value(0.9)),
        )
    )
    return alt.layer(cells, paths_drawn).properties(width=WIDTH, height=230)


PANELS: Mapping[PanelName, Panel] = {
    "stations": _stations,
    "ground": _ground,
    "capacity": _capacity,
    "delay": _both_ways("delay_ms", "one-way delay (ms)", 90),
    "loss": _both_ways("loss_pct", "packet loss (%)", 70),
    "others": _others,
    "speed": _speed,
    "trains": _trains,
}
"""All panels by name, from top to bottom."""


class LinkOptions(Options):
    """Options in figures.toml: a scenario with its parameters and seed, and the panels of its picture."""

    scenario: str
    params: dict[str, Any] = Field(default_factory=dict)
    seed: int = 1
    panels: list[PanelName] = Field(min_length=1)


def _draw(options: LinkOptions, source: Source) -> Chart:
    found = source.scenario(options.scenario, options.params, options.seed)
    return Chart(f"{_words(found)} {options.caption}", link(found, panels=options.panels))


def _words(scenario: Mapping[str, Any]) -> str:
    """What a link is, in a sentence."""
    most = f"at most {scenario['max_rate_bps'] / 1e6:.3g} Mbit/s"
    line = scenario["line"]
    if line is None:
        return f"{scenario['title']}: {most}."
    (trace, *_) = scenario["bearers"].values()
    lengths_s = np.diff([*trace["t_s"], trace["end_s"]])
    together = float(lengths_s[np.array(trace["sharers"]) > 1].sum() / lengths_s.sum())
    return (
        f"{scenario['title']}: {line['length_km']:g} km, {len(line['cells'])} cells, a train each "
        f"{line['headway_s'] / 60:g} min from both ends, {most}. Another train shares the cell for "
        f"{100 * together:.0f} % of the journey."
    )


KIND = Kind("link", LinkOptions, _draw)
