"""The part of a scenario that a figure shows, along time or along the line."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gauntlet.errors import UserError
from gauntlet.scenario.figure_data import line_figure_data
from gauntlet.scenario.model import Scenario
from gauntlet.scenario.trace import Trace

Axis = Literal["time", "km"]
Array = np.ndarray[Any, Any]

UNBOUNDED_SPAN_S = 600.0
"""How much is shown of a link that never changes and has no end."""
BEARER_TITLES = {"lte": "LTE", "nr": "5G NR", "wifi": "Wi-Fi"}
SECONDS_UNTIL_S = 300.0
"""Spans up to this long get an axis in seconds, longer ones in minutes."""


@dataclass(frozen=True)
class View:
    """Data of one figure.

    `edges` are the positions along the x axis at which the rows of the trace begin, and where the last one
    ends; `rows` the columns between them. `line` is None off the railway.
    """

    title: str
    subtitle: str
    axis: Axis
    begin_s: float
    end_s: float
    edges: Array
    rows: dict[str, Array]
    line: dict[str, Any] | None

    @property
    def seconds_per_unit(self) -> float:
        """Length of one unit of a time axis."""
        return 1.0 if self.end_s - self.begin_s <= SECONDS_UNTIL_S else 60.0

    @property
    def x_label(self) -> str:
        """What the x axis shows, with its unit."""
        if self.axis == "km":
            return "Position on the line, km"
        return (
            f"Time{' since departure' if self.line else ''}, {'s' if self.seconds_per_unit == 1 else 'min'}"
        )

    @property
    def x_range(self) -> tuple[float, float]:
        """Ends of the x axis."""
        return float(self.edges[0]), float(self.edges[-1])

    def x_of(self, t_s: float, km: float) -> float:
        """Where something at this instant and place is on the x axis."""
        return km if self.axis == "km" else t_s / self.seconds_per_unit

    def inside(self, from_x: float, to_x: float) -> tuple[float, float] | None:
        """The visible part of a stretch of the x axis."""
        low, high = max(from_x, self.x_range[0]), min(to_x, self.x_range[1])
        return (low, high) if high > low else None


def view(
    scenario: Scenario, start_s: float | None, duration_s: float | None, axis: Axis, bearer: str | None
) -> View:
    """Cut out what is to be drawn; raises `UserError` for a stretch or bearer that is not there."""
    name = next(iter(scenario.bearers)) if bearer is None else bearer
    if name not in scenario.bearers:
        known = ", ".join(scenario.bearers)
        raise UserError(f"Scenario '{scenario.name}' has no bearer '{name}'; its bearers are: {known}.")
    if axis == "km" and scenario.line is None:
        raise UserError(f"Scenario '{scenario.name}' is not on a line, so it can only be drawn along time.")
    trace = scenario.bearers[name]
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
    part = trace.window(begin_s, end_s - begin_s)
    rows = {column: part.table.column(column).to_numpy() for column in part.table.column_names}
    instants_s = np.append(rows["t_s"], end_s - begin_s) + begin_s
    shown = View(
        title=scenario.title,
        subtitle=_subtitle(scenario, part, name),
        axis=axis,
        begin_s=begin_s,
        end_s=end_s,
        edges=instants_s,
        rows=rows,
        line=line_figure_data(scenario)["line"],
    )
    if axis == "km" and scenario.line is not None:
        edges = np.array([scenario.line.reference.km_at(t_s) for t_s in instants_s])
    else:
        edges = instants_s / shown.seconds_per_unit
    return View(**{**shown.__dict__, "edges": edges})


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
