"""A scenario as plain lists for figures: the report draws its strip from these, and `plot` uses them too."""

import math
from typing import Any

import numpy as np

from gauntlet.scenario.model import Line, Scenario
from gauntlet.scenario.trace import SCHEMA, Trace
from gauntlet.scenario.traffic import Train

POINTS_PER_TRAIN = 120
"""Points of another train's path in a figure, besides its stops."""
REFERENCE_STEP_S = 2.0
"""Step of the reference train's path, whose speed is drawn too."""


def line_figure_data(scenario: Scenario) -> dict[str, Any]:
    """Everything a figure of the link needs; plain JSON types, units in the names.

    `bearers`: per bearer the columns of its trace but `source` as lists (docs/formats/trace.md), and `end_s`.
    `line` (None off the railway): `length_km`; `stations`, `areas` and `cells` with their kilometres and when
    the reference train is there (`t_s`, `from_s`, `to_s`); `journey` of the reference train and `trains`, the
    others on the line meanwhile, each with points `t_s`, `km`. Times are seconds of the scenario;
    `duration_s` and `end_s` are None where there is no end.
    """
    return {
        "name": scenario.name,
        "title": scenario.title,
        "kind": scenario.kind,
        "duration_s": scenario.duration_s if scenario.ends else None,
        "max_rate_bps": scenario.max_rate_bps,
        "bearers": {name: _columns(trace) for name, trace in scenario.bearers.items()},
        "line": None if scenario.line is None else _line(scenario.line),
    }


def _columns(trace: Trace) -> dict[str, Any]:
    columns: dict[str, Any] = {name: trace.table.column(name).to_pylist() for name in SCHEMA.names[:-1]}
    return columns | {"end_s": trace.end_s if math.isfinite(trace.end_s) else None}


def _line(line: Line) -> dict[str, Any]:
    journey = line.reference.journey

    def passed(from_km: float, to_km: float) -> dict[str, Any]:
        from_s, to_s = line.reference.inside_s(from_km, to_km)
        return {"from_km": from_km, "to_km": to_km, "from_s": round(from_s, 3), "to_s": round(to_s, 3)}

    return {
        "length_km": line.length_km,
        "headway_s": line.headway_s,
        "stations": [
            {
                "name": station.name,
                "km": station.km,
                "stop_s": station.stop_s,
                "t_s": round(max(journey.time_at(station.km) - station.stop_s, 0.0), 3),
            }
            for station in line.stations
        ],
        "areas": [{"type": area.type, **passed(area.from_km, area.to_km)} for area in line.areas],
        "cells": [
            {"name": cell.name, "km": cell.km, "area": cell.area, **passed(cell.from_km, cell.to_km)}
            for cell in line.cells
        ],
        "journey": _path(line.reference, 0.0, journey.arrival_s, speed=True),
        "trains": [
            {"outbound": train.outbound, **_path(train, 0.0, journey.arrival_s, speed=False)}
            for train in line.trains[1:]
        ],
    }


def _path(train: Train, from_s: float, to_s: float, *, speed: bool) -> dict[str, Any]:
    """The train's path while it is on the line between two instants."""
    journey = train.journey
    begin_s = max(from_s - train.departure_s, 0.0)
    end_s = min(to_s - train.departure_s, journey.arrival_s)
    standing = np.flatnonzero(np.diff(journey.km) == 0)
    corners_s = journey.t_s[np.concatenate([standing, standing + 1])]
    corners_s = corners_s[(corners_s > begin_s) & (corners_s < end_s)]
    points = math.ceil((end_s - begin_s) / REFERENCE_STEP_S) if speed else POINTS_PER_TRAIN
    t_s = np.unique(np.concatenate([np.linspace(begin_s, end_s, points), corners_s])).tolist()
    path: dict[str, Any] = {
        "t_s": [round(instant + train.departure_s, 3) for instant in t_s],
        "km": [round(train.km_at(instant + train.departure_s), 4) for instant in t_s],
    }
    if speed:
        path["speed_kmh"] = [round(journey.speed_at(instant), 2) for instant in t_s]
    return path
