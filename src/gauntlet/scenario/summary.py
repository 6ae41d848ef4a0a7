"""A scenario in a few figures, as plain data for the terminal and for JSON."""

import math
from typing import Any

import numpy as np

from gauntlet.scenario.model import Line, Scenario
from gauntlet.scenario.trace import Trace


def summary(scenario: Scenario) -> dict[str, Any]:
    """What a person wants to know first; plain JSON types, units in the names, `None` for "without end"."""
    return {
        "name": scenario.name,
        "title": scenario.title,
        "kind": scenario.kind,
        "duration_s": scenario.duration_s if scenario.ends else None,
        "max_rate_bps": scenario.max_rate_bps,
        "seed": scenario.seed,
        "params": dict(scenario.params),
        "bearers": {name: _bearer(trace) for name, trace in scenario.bearers.items()},
        "line": None if scenario.line is None else _line(scenario.line),
    }


def _bearer(trace: Trace) -> dict[str, Any]:
    """Time averages of a trace without end are those up to its last row."""
    ends = math.isfinite(trace.end_s)
    until_s = trace.end_s if ends else float(trace.column("t_s")[-1])
    figures: dict[str, Any] = {"rows": trace.table.num_rows, "end_s": trace.end_s if ends else None}
    for column in ("rate_up_bps", "rate_down_bps", "delay_up_s", "delay_down_s", "loss_up", "loss_down"):
        values = trace.column(column)
        mean = trace.mean(column, 0.0, until_s) if until_s > 0 else float(values[0])
        figures[column] = {"min": float(values.min()), "mean": mean, "max": float(values.max())}
    figures["queue_limit_bytes"] = int(trace.column("queue_limit_bytes").max())
    figures["time_share_by_mcs"] = _shares(trace, "mcs", until_s)
    figures["time_share_by_sharers"] = _shares(trace, "sharers", until_s)
    return figures


def _shares(trace: Trace, column: str, until_s: float) -> dict[str, float]:
    """Share of time for each value of a column, the most frequent first; empty where the column is."""
    if trace.table.column(column).null_count or until_s <= 0:
        return {}
    lasting_s = np.diff(np.append(trace.column("t_s"), until_s))
    shares: dict[str, float] = {}
    for value, seconds in zip(trace.table.column(column).to_pylist(), lasting_s.tolist(), strict=True):
        shares[str(value)] = shares.get(str(value), 0.0) + seconds / until_s
    return dict(sorted(shares.items(), key=lambda item: -item[1]))


def _line(line: Line) -> dict[str, Any]:
    return {
        "title": line.title,
        "length_km": line.length_km,
        "headway_s": line.headway_s,
        "cells": len(line.cells),
        "cells_by_area": {
            area: sum(cell.area == area for cell in line.cells)
            for area in dict.fromkeys(cell.area for cell in line.cells)
        },
        "stations": [{"name": s.name, "km": s.km, "stop_s": s.stop_s} for s in line.stations],
        "journey_s": line.reference.journey.arrival_s,
        "top_speed_kmh": float(line.reference.journey.speed_kmh.max()),
    }
