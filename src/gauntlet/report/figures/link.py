"""The link over the whole line: stations, areas and cells; capacity, delay and loss; the stretches that runs
rode.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from gauntlet.report.campaign import Campaign
from gauntlet.report.figures.figure import INK, MUTED, PAGE_WIDTH, Figure, data, finished, table

UP, DOWN, BOTH = "train to trackside", "trackside to train", "both directions"
DIRECTIONS = {UP: ("#1F6F8B", [1, 0]), DOWN: ("#B0713A", [4, 2]), BOTH: ("#2F3B47", [1, 0])}
"""Colour and line style of the directions; no protocol has them."""

STRETCH_COLOUR = "#F2C14E"
AREA_COLOURS = {"urban": "#8C96A3", "suburban": "#B9C2CC", "rural": "#DCE8D5"}
WIDTH = PAGE_WIDTH - 250
MINUTE_S = 60.0

Panel = alt.LayerChart | alt.FacetChart
"""What Altair says a layered chart is."""

MOST_NUMBERED_STRETCHES = 12


@dataclass(frozen=True)
class Quantity:
    """One panel of the strip: column of the figure's data, axis title, height, columns of the trace."""

    field: str
    title: str
    height: int
    up: str
    down: str


QUANTITIES = (
    Quantity("rate_mbps", "capacity (Mbit/s)", 150, "rate_up_bps", "rate_down_bps"),
    Quantity("delay_ms", "one-way delay (ms)", 90, "delay_up_s", "delay_down_s"),
    Quantity("loss_pct", "packet loss (%)", 70, "loss_up", "loss_down"),
)


def link(campaign: Campaign) -> list[Figure]:
    """One strip a bearer; none for a link that never changes or when runs rode different scenarios."""
    scenario = campaign.results.scenario
    if scenario is None:
        return []
    found = []
    for bearer, columns in sorted(scenario.get("bearers", {}).items()):
        if len(columns["t_s"]) < 2:
            continue
        end_s = columns.get("end_s") or scenario.get("duration_s") or columns["t_s"][-1]
        text = _csv(columns, end_s)
        stretches = _stretches(campaign, end_s)
        ridden = "Marked: the stretches that runs rode, numbered by repetition. " if stretches else ""
        found.append(
            Figure(
                name=f"link-{bearer}",
                title=f"{scenario.get('title', 'The link')} (bearer {bearer})",
                caption=f"IP-layer rate, one-way delay and loss of the bearer over the journey. {ridden}"
                "Every protocol rode the same stretches.",
                spec=finished(_chart(scenario, columns, text, stretches, end_s)),
                csv=text,
            )
        )
    return found


def _csv(columns: Mapping[str, Sequence[Any]], end_s: float) -> str:
    """The bearer's rows by direction, closed by a last row at the end."""
    rows: dict[str, list[Any]] = {
        name: [] for name in ("minute", "direction", "rate_mbps", "delay_ms", "loss_pct", "cell")
    }
    starts_s = [*columns["t_s"], end_s]
    places = [*range(len(columns["t_s"])), len(columns["t_s"]) - 1]
    cells = columns.get("cell") or [None] * len(columns["t_s"])
    for direction, short in ((UP, "up"), (DOWN, "down")):
        for start_s, place in zip(starts_s, places, strict=True):
            rows["minute"].append(start_s / MINUTE_S)
            rows["direction"].append(direction)
            rows["rate_mbps"].append(columns[f"rate_{short}_bps"][place] * 1e-6)
            rows["delay_ms"].append(columns[f"delay_{short}_s"][place] * 1e3)
            rows["loss_pct"].append(columns[f"loss_{short}"][place] * 100)
            rows["cell"].append(cells[place] or "")
    return table(rows)


def _stretches(campaign: Campaign, end_s: float) -> list[dict[str, Any]]:
    """Stretches of the line that runs rode, by where they start; none when they are the whole of it."""
    ends_s: dict[float, float] = {}
    repetitions: dict[float, set[int]] = {}
    for row in campaign.results.table("flows").select(["run", "observed_until_s"]).to_pylist():
        spec = campaign.specs[row["run"]]
        start_s = spec.get("start_s")
        if start_s is None or row["observed_until_s"] is None:
            continue
        stop_s = min(start_s + row["observed_until_s"], end_s)
        if stop_s - start_s < 0.98 * end_s:
            ends_s[start_s] = max(stop_s, ends_s.get(start_s, 0.0))
            repetitions.setdefault(start_s, set()).add(int(spec.get("factors", {}).get("repetition", 1)))
    numbered = len(ends_s) <= MOST_NUMBERED_STRETCHES
    return [
        {
            "from": start_s / MINUTE_S,
            "to": stop_s / MINUTE_S,
            "middle": (start_s + stop_s) / 2 / MINUTE_S,
            "name": ", ".join(map(str, sorted(repetitions[start_s]))) if numbered else "",
        }
        for start_s, stop_s in sorted(ends_s.items())
    ]


def _chart(
    scenario: Mapping[str, Any],
    columns: Mapping[str, Sequence[Any]],
    text: str,
    stretches: list[dict[str, Any]],
    end_s: float,
) -> alt.VConcatChart:
    panels: list[Panel] = []
    if scenario.get("line"):
        panels += [_stations(scenario["line"], end_s), _ground(scenario["line"], end_s)]
    lossless = not any(columns["loss_up"]) and not any(columns["loss_down"])
    quantities = QUANTITIES[:-1] if lossless else QUANTITIES
    panels += [
        _panel(
            text,
            quantity,
            stretches,
            end_s=end_s,
            both=columns[quantity.up] == columns[quantity.down],
            numbered=quantity is quantities[0],
            last=quantity is quantities[-1],
        )
        for quantity in quantities
    ]
    chart: alt.VConcatChart = alt.vconcat(*panels, spacing=6).resolve_scale(
        color="independent", strokeDash="independent"
    )
    return chart


def _time(field: str, end_s: float, shown: bool = False) -> alt.X:
    axis = alt.Axis(title="minutes since departure" if shown else None, labels=shown, ticks=shown, grid=False)
    return alt.X(f"{field}:Q", axis=axis, scale=alt.Scale(domain=[0, end_s / MINUTE_S], nice=False))


def _panel(
    rows: str,
    quantity: Quantity,
    stretches: list[dict[str, Any]],
    *,
    end_s: float,
    both: bool,
    numbered: bool = False,
    last: bool = False,
) -> Panel:
    """One quantity over time; a single line when both directions have the same values."""
    shown = [BOTH] if both else [UP, DOWN]
    legend = alt.Legend(title=None, symbolType="stroke")
    colours = alt.Scale(domain=shown, range=[DIRECTIONS[name][0] for name in shown])
    dashes = alt.Scale(domain=shown, range=[DIRECTIONS[name][1] for name in shown])
    chart = alt.Chart(data(rows))
    if both:
        chart = chart.transform_filter(f"datum.direction === '{UP}'").transform_calculate(
            direction=f"'{BOTH}'"
        )
    lines = chart.mark_line(interpolate="step-after", strokeWidth=1.3).encode(
        x=_time("minute", end_s, shown=last),
        y=alt.Y(
            f"{quantity.field}:Q",
            title=quantity.title,
            axis=alt.Axis(tickCount=4),
            scale=alt.Scale(zero=True),
        ),
        color=alt.Color("direction:N", scale=colours, legend=legend),
        strokeDash=alt.StrokeDash("direction:N", scale=dashes, legend=legend),
        tooltip=[
            alt.Tooltip("minute:Q", format=".2f"),
            alt.Tooltip("direction:N"),
            alt.Tooltip(f"{quantity.field}:Q", title=quantity.title, format=".3~s"),
            alt.Tooltip("cell:N"),
        ],
    )
    layers: list[alt.Chart] = []
    if stretches:
        bands = alt.Chart(alt.InlineData(values=stretches))
        layers.append(
            bands.mark_rect(color=STRETCH_COLOUR, opacity=1, fillOpacity=0.35).encode(
                x=_time("from", end_s, shown=last), x2="to:Q"
            )
        )
        if numbered:
            layers.append(
                bands.mark_text(baseline="bottom", dy=-3, fontWeight=600, color=INK).encode(
                    x=_time("middle", end_s), y=alt.value(quantity.height), text="name:N"
                )
            )
    return alt.layer(*layers, lines).properties(width=WIDTH, height=quantity.height)


def _stations(line: Mapping[str, Any], end_s: float) -> Panel:
    stations = [
        {"minute": station["t_s"] / MINUTE_S, "name": station["name"]} for station in line["stations"]
    ]
    names = alt.Chart(alt.InlineData(values=stations)).encode(x=_time("minute", end_s))
    ticks = names.mark_tick(color=MUTED, opacity=1, thickness=1.5, height=8).encode(y=alt.value(66))
    words = names.mark_text(angle=328, align="left", baseline="middle", dx=3, dy=-2, color=INK).encode(
        y=alt.value(58), text="name:N"
    )
    return alt.layer(ticks, words).properties(width=WIDTH, height=70)


def _ground(line: Mapping[str, Any], end_s: float) -> Panel:
    """Kind of surroundings, and a mark where the serving cell changes."""
    areas = [
        {"from": area["from_s"] / MINUTE_S, "to": area["to_s"] / MINUTE_S, "area": area["type"]}
        for area in line["areas"]
    ]
    kinds = [kind for kind in AREA_COLOURS if any(area["area"] == kind for area in areas)]
    colour = alt.Color(
        "area:N",
        scale=alt.Scale(domain=kinds, range=[AREA_COLOURS[kind] for kind in kinds]),
        legend=alt.Legend(title=None, symbolType="square", symbolStrokeWidth=0, direction="horizontal"),
    )
    ground = (
        alt.Chart(alt.InlineData(values=areas))
        .mark_rect()
        .encode(x=_time("from", end_s), x2="to:Q", color=colour, tooltip="area:N")
    )
    handoffs = [{"minute": cell["from_s"] / MINUTE_S, "cell": cell["name"]} for cell in line["cells"]]
    marks = (
        alt.Chart(alt.InlineData(values=handoffs))
        .mark_tick(color=INK, opacity=1, thickness=1, height=14)
        .encode(x=_time("minute", end_s), tooltip="cell:N")
    )
    return alt.layer(ground, marks).properties(width=WIDTH, height=14)
