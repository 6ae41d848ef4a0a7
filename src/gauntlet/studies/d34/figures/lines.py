"""The lines: Figures 11 to 13 (trains in a cell), and a map of each with what Figures 4 to 9 show."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from gauntlet.report.figures.figure import CAPACITY, INK, MUTED, data, table
from gauntlet.scenario.figure_data import line_figure_data
from gauntlet.studies.d34.scenarios import LINES, Line, others, scenario, shared_part, track
from gauntlet.studies.model import Chart, Figure, Panel, Printed
from gauntlet.studies.summary import Summary

WIDTH = 860
MINUTE_S = 60.0
JOURNEY_POINTS = 500
TRAIN_POINTS = 40
"""Points kept of a path; a path is straight where a train keeps its speed."""

SHARED, SPEED, OUTBOUND, INBOUND = "#E69F00", "#009E73", "#0072B2", "#D55E00"
AREAS = {"urban": "#8C96A3", "suburban": "#B9C2CC", "rural": "#DCE8D5"}
Layers = alt.LayerChart | alt.FacetChart
"""What Altair says a layered chart is."""

NAME_ROOM = 0.028
"""Least distance between the names of two stations, as a share of the axis."""


def figures() -> tuple[Figure, ...]:
    """Figures 11 to 13, and one map a line."""
    return (
        Figure(
            "11",
            "Other trains in the cell: high-speed line",
            "Trains beside the reference train that share its cell over its journey, a train each 10 min "
            "from both ends. Upright lines: the reference train enters another cell.",
            (),
            lambda _: [_sharers("hsr", None)],
            (Printed("Other trains in the cell", "0 or 1", "read from section 4.2"),),
        ),
        Figure(
            "12",
            "Other trains in the cell: regional line",
            "The same with a train each 25 min and stops of 10 min.",
            (),
            lambda _: [_sharers("regional", None)],
            (Printed("Other trains in the cell", "0 or 1", "read from section 4.2"),),
        ),
        Figure(
            "13",
            "Other trains in the cell: high-speed line, a train each 5 min",
            "Twice as many trains as in Figure 11.",
            (),
            lambda _: [_sharers("hsr", 300.0)],
            (Printed("Other trains in the cell near Florence", "up to 2", "section 4.2"),),
        ),
        *(
            Figure(
                f"map-{line.key}",
                f"{line.words}: stations, cells, capacity, speed, positions",
                "One journey of the reference train. Speeds and positions are the counterparts of Figures 4 "
                "to 9, whose curves are reconstructed (docs/scenario-data.md); what another train in the "
                "cell takes away is shown on top of the capacity.",
                (),
                _map_of(line),
                beyond=True,
            )
            for line in LINES
        ),
    )


def _map_of(line: Line) -> Any:
    def draw(_: Summary) -> Sequence[Panel]:
        return [_map(line)]

    return draw


def _time(field: str, end_min: float, *, shown: bool) -> alt.X:
    axis = alt.Axis(title="minutes since departure" if shown else None, labels=shown, ticks=shown, grid=False)
    return alt.X(f"{field}:Q", axis=axis, scale=alt.Scale(domain=[0, end_min], nice=False))


def _sharers(key: str, headway_s: float | None) -> Chart:
    found = scenario(key, headway_s)
    starts_s, count = others(found)
    end_min = found.duration_s / MINUTE_S
    rows = table({"minute": (starts_s / MINUTE_S).tolist(), "others": np.append(count, count[-1]).tolist()})
    cells = [{"minute": cell["from_s"] / MINUTE_S} for cell in line_figure_data(found)["line"]["cells"][1:]]
    rules = (
        alt.Chart(alt.InlineData(values=cells))
        .mark_rule(color=CAPACITY, strokeWidth=0.6, opacity=0.7)
        .encode(x=_time("minute", end_min, shown=True))
    )
    steps = (
        alt.Chart(data(rows))
        .mark_area(interpolate="step-after", color=SHARED, opacity=0.85)
        .encode(
            x=_time("minute", end_min, shown=True),
            y=alt.Y(
                "others:Q",
                title="other trains in the cell",
                axis=alt.Axis(values=list(range(int(count.max()) + 1)), format="d"),
            ),
            tooltip=[alt.Tooltip("minute:Q", format=".1f"), alt.Tooltip("others:Q", format="d")],
        )
    )
    layered = alt.layer(rules, steps).properties(width=WIDTH, height=120)
    caption = (
        f"{track(found).title}, {len(track(found).cells)} cells, a train each "
        f"{track(found).headway_s / MINUTE_S:g} min: another train shares the cell for "
        f"{100 * shared_part(found):.0f} % of the journey."
    )
    return Chart(caption, layered)


def _map(line: Line) -> Chart:
    found = scenario(line.key)
    drawn = line_figure_data(found)
    end_min = found.duration_s / MINUTE_S
    panels: list[Any] = [
        _stations(drawn["line"], end_min),
        _ground(drawn["line"], end_min),
        _capacity(next(iter(drawn["bearers"].values())), end_min),
        _speed(drawn["line"]["journey"], end_min),
        _positions(drawn["line"], end_min),
    ]
    chart = alt.vconcat(*panels, spacing=6).resolve_scale(color="independent")
    caption = (
        f"{drawn['title']}: {drawn['line']['length_km']:g} km, {len(drawn['line']['cells'])} cells, a train "
        f"each {line.headway_s / MINUTE_S:g} min from both ends, at most {found.max_rate_bps / 1e6:.3g} "
        "Mbit/s."
    )
    return Chart(caption, chart)


def _stations(line: dict[str, Any], end_min: float) -> Layers:
    kept: list[dict[str, Any]] = []
    ends = (line["stations"][0], line["stations"][-1])
    for station in sorted(line["stations"], key=lambda it: (it not in ends, -it["stop_s"])):
        minute = station["t_s"] / MINUTE_S
        if all(abs(minute - other["minute"]) >= NAME_ROOM * end_min for other in kept):
            kept.append({"minute": minute, "name": station["name"]})
    names = alt.Chart(alt.InlineData(values=kept)).encode(x=_time("minute", end_min, shown=False))
    ticks = names.mark_tick(color=MUTED, opacity=1, thickness=1.5, height=8).encode(y=alt.value(76))
    words = names.mark_text(angle=322, align="left", baseline="middle", dx=3, dy=-2, color=INK).encode(
        y=alt.value(68), text="name:N"
    )
    return alt.layer(ticks, words).properties(width=WIDTH, height=80)


def _ground(line: dict[str, Any], end_min: float) -> Layers:
    """Areas, and a mark where each antenna stands."""
    journey = line["journey"]
    layers = []
    areas = [
        {"from": area["from_s"] / MINUTE_S, "to": area["to_s"] / MINUTE_S, "area": area["type"]}
        for area in line["areas"]
    ]
    kinds = [kind for kind in AREAS if any(area["area"] == kind for area in areas)]
    if areas:
        colour = alt.Color(
            "area:N",
            scale=alt.Scale(domain=kinds, range=[AREAS[kind] for kind in kinds]),
            legend=alt.Legend(title=None, symbolType="square", symbolStrokeWidth=0),
        )
        layers.append(
            alt.Chart(alt.InlineData(values=areas))
            .mark_rect()
            .encode(x=_time("from", end_min, shown=False), x2="to:Q", color=colour, tooltip="area:N")
        )
    sites = [
        {
            "minute": float(np.interp(cell["km"], journey["km"], journey["t_s"])) / MINUTE_S,
            "cell": cell["name"],
        }
        for cell in line["cells"]
    ]
    layers.append(
        alt.Chart(alt.InlineData(values=sites))
        .mark_point(shape="triangle-up", filled=True, size=45, opacity=1, color=INK)
        .encode(x=_time("minute", end_min, shown=False), tooltip=["cell:N"])
    )
    return alt.layer(*layers).properties(width=WIDTH, height=14)


def _capacity(trace: dict[str, Any], end_min: float) -> Layers:
    """Rate of the reference train's link, and above it what other trains in the cell have."""
    minutes = [t_s / MINUTE_S for t_s in [*trace["t_s"], trace["end_s"]]]
    rates = [rate / 1e6 for rate in [*trace["rate_up_bps"], trace["rate_up_bps"][-1]]]
    sharers = [*trace["sharers"], trace["sharers"][-1]]
    rows = table(
        {"minute": minutes, "own": rates, "alone": [rate * n for rate, n in zip(rates, sharers, strict=True)]}
    )
    base = alt.Chart(data(rows)).encode(x=_time("minute", end_min, shown=False))
    names = alt.Scale(domain=["this train", "others in the cell"], range=[OUTBOUND, SHARED])
    legend = alt.Legend(title=None, symbolType="square", symbolStrokeWidth=0)
    title = "capacity (Mbit/s)"

    def area(low: str | None, high: str, name: str) -> alt.Chart:
        y = {"y": alt.Y(f"{high}:Q", title=title, axis=alt.Axis(tickCount=4))}
        y2 = {} if low is None else {"y2": alt.Y2(f"{low}:Q")}
        chart: alt.Chart = (
            base.mark_area(interpolate="step-after", opacity=0.8, line=False)
            .encode(**y, **y2, color=alt.Color("who:N", scale=names, legend=legend))
            .transform_calculate(who=f"'{name}'")
        )
        return chart

    return alt.layer(area("own", "alone", "others in the cell"), area(None, "own", "this train")).properties(
        width=WIDTH, height=110
    )


def _speed(journey: dict[str, Any], end_min: float) -> alt.Chart:
    step = max(1, len(journey["t_s"]) // JOURNEY_POINTS)
    rows = table(
        {
            "minute": [t_s / MINUTE_S for t_s in journey["t_s"][::step]],
            "speed": journey["speed_kmh"][::step],
        }
    )
    chart: alt.Chart = (
        alt.Chart(data(rows))
        .mark_area(color=SPEED, opacity=0.25, line={"color": SPEED, "strokeWidth": 1.3})
        .encode(
            x=_time("minute", end_min, shown=False),
            y=alt.Y("speed:Q", title="speed (km/h)", axis=alt.Axis(tickCount=4)),
        )
        .properties(width=WIDTH, height=90)
    )
    return chart


def _positions(line: dict[str, Any], end_min: float) -> Layers:
    """Position over time of all trains, and the cells as bands."""
    columns: dict[str, list[Any]] = {"train": [], "who": [], "minute": [], "km": []}

    def add(name: str, who: str, path: dict[str, Any], points: int) -> None:
        step = max(1, len(path["t_s"]) // points)
        kept = sorted({*range(0, len(path["t_s"]), step), len(path["t_s"]) - 1})
        for place in kept:
            for key, value in zip(
                columns, (name, who, path["t_s"][place] / MINUTE_S, path["km"][place]), strict=True
            ):
                columns[key].append(value)

    for number, train in enumerate(line["trains"]):
        add(str(number), "same way" if train["outbound"] else "other way", train, TRAIN_POINTS)
    add("reference", "this train", line["journey"], JOURNEY_POINTS)
    bands = alt.InlineData(
        values=[
            {"low": cell["from_km"], "high": cell["to_km"]}
            for place, cell in enumerate(line["cells"])
            if place % 2 == 0
        ]
    )
    y_scale = alt.Scale(domain=[0, line["length_km"]], nice=False)
    cells = (
        alt.Chart(bands)
        .mark_rect(color=CAPACITY, opacity=0.18)
        .encode(
            y=alt.Y("low:Q", scale=y_scale, title="position (km)", axis=alt.Axis(grid=False)), y2="high:Q"
        )
    )
    who = alt.Scale(domain=["this train", "same way", "other way"], range=[INK, OUTBOUND, INBOUND])
    paths = (
        alt.Chart(data(table(columns)))
        .mark_line(clip=True)
        .encode(
            x=_time("minute", end_min, shown=True),
            y=alt.Y("km:Q", scale=y_scale, title="position (km)", axis=alt.Axis(grid=False)),
            detail="train:N",
            color=alt.Color("who:N", scale=who, legend=alt.Legend(title=None, symbolType="stroke")),
            strokeWidth=alt.condition("datum.who === 'this train'", alt.value(2.4), alt.value(0.9)),
        )
    )
    return alt.layer(cells, paths).properties(width=WIDTH, height=230)
