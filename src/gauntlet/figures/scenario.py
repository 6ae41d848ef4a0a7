"""A scenario as a picture in a file: the link along the journey, and where the trains are meanwhile."""

import math
from pathlib import Path
from typing import Any

import altair as alt

from gauntlet.errors import UserError
from gauntlet.figures import save
from gauntlet.figures.link import link
from gauntlet.figures.link_view import Along
from gauntlet.figures.look import INK, MUTED, finished
from gauntlet.scenario import Scenario, Trace, line_figure_data

UNBOUNDED_SPAN_S = 600.0
"""How much is shown of a link that never changes and has no end."""
BEARER_TITLES = {"lte": "LTE", "nr": "5G NR", "wifi": "Wi-Fi"}


def plot(
    scenario: Scenario,
    path: str | Path,
    start_s: float | None = None,
    duration_s: float | None = None,
    *,
    dark: bool = False,
    axis: Along = "time",
    bearer: str | None = None,
) -> Path:
    """Draw the scenario, or the stretch of `duration_s` from `start_s`, along time or (`axis="km"`) the line.

    The path's name says whether as .svg, .png or .pdf. Returns the path. Raises `UserError`.
    """
    target = save.target(path)
    spec = picture(scenario, start_s, duration_s, axis=axis, bearer=bearer)
    return save.write(spec, target, dark=dark)


def picture(
    scenario: Scenario,
    start_s: float | None = None,
    duration_s: float | None = None,
    *,
    axis: Along = "time",
    bearer: str | None = None,
) -> dict[str, Any]:
    """The picture as a Vega-Lite specification. Raises UserError for what is not there."""
    name = next(iter(scenario.bearers)) if bearer is None else bearer
    if name not in scenario.bearers:
        known = ", ".join(scenario.bearers)
        raise UserError(f"Scenario '{scenario.name}' has no bearer '{name}'; its bearers are: {known}.")
    if axis == "km" and scenario.line is None:
        raise UserError(f"Scenario '{scenario.name}' is not on a line, so it can only be drawn along time.")
    trace = scenario.bearers[name]
    begin_s, end_s = span(trace, start_s, duration_s)
    part = trace.window(begin_s, end_s - begin_s)
    drawn = link(line_figure_data(scenario), bearer=name, start_s=begin_s, end_s=end_s, along=axis)
    words = alt.TitleParams(
        text=scenario.title,
        subtitle=_subtitle(scenario, part, name),
        anchor="start",
        fontSize=16,
        color=INK,
        subtitleFontSize=12,
        subtitleColor=MUTED,
        offset=12,
    )
    return finished(drawn.properties(title=words, padding=16))


def span(trace: Trace, start_s: float | None, duration_s: float | None) -> tuple[float, float]:
    """What is drawn of a trace, seconds. Raises UserError where an endless one says nothing any more."""
    begin_s = 0.0 if start_s is None else start_s
    end_s = trace.end_s if duration_s is None else begin_s + duration_s
    last_row_s = float(trace.column("t_s")[-1])
    if math.isinf(trace.end_s) and last_row_s > 0:
        end_s = min(end_s, last_row_s)
        if begin_s >= end_s or (duration_s is not None and begin_s + duration_s > last_row_s):
            raise UserError(
                f"{trace.name} says nothing after its last row, at {last_row_s:g} s: draw a stretch before "
                "it, or say in the file how long that row holds ('# end_s=600')."
            )
    elif math.isinf(end_s):
        end_s = begin_s + UNBOUNDED_SPAN_S
    return begin_s, end_s


def _subtitle(scenario: Scenario, part: Trace, bearer: str) -> str:
    until_s = part.end_s if math.isfinite(part.end_s) else 1.0
    words = [BEARER_TITLES.get(bearer, bearer)] if scenario.line else []
    if "bandwidth" in scenario.params:
        words.append(f"{float(str(scenario.params['bandwidth'])) / 1e6:g} MHz")
    if scenario.line:
        words.append(f"a train each {scenario.line.headway_s / 60:g} min")
    up, down = (_rate(part, column, until_s) for column in ("rate_up_bps", "rate_down_bps"))
    words += [up] if up == down else [f"up {up}", f"down {down}"]
    loss = max(part.column("loss_up").max(), part.column("loss_down").max())
    words.append("no loss" if loss == 0 else f"loss up to {loss * 100:g} %")
    words += [f"seed {scenario.seed}"] if scenario.line else []
    return "  ·  ".join(words)


def _rate(part: Trace, column: str, until_s: float) -> str:
    """A direction's rate over the stretch."""
    mean_bps, most_bps = part.mean(column, 0.0, until_s), float(part.column(column).max())
    if math.isclose(mean_bps, most_bps):
        return f"{mean_bps / 1e6:.3g} Mbit/s"
    return f"{mean_bps / 1e6:.3g} Mbit/s on average, at most {most_bps / 1e6:.3g}"
