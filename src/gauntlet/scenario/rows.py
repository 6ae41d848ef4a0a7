"""Turns a line, its cells and its trains into the rows of a trace.

A row begins whenever the serving cell, the zone (MCS) or the number of trains in the cell changes. These
instants are computed, not sampled.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from gauntlet.scenario.cells import Cell
from gauntlet.scenario.radio import Latency, Zone
from gauntlet.scenario.trace import Trace
from gauntlet.scenario.traffic import Train

INSTANT_DIGITS = 6
"""Instants are rounded to microseconds, so that a trace reads back from text unchanged."""


@dataclass(frozen=True)
class Stay:
    """A stretch of time during which the reference train is in one zone of one cell."""

    from_s: float
    to_s: float
    cell: Cell
    zone: Zone


@dataclass(frozen=True)
class LinkSettings:
    """What does not depend on where the train is."""

    latency: Latency
    loss: float
    queue_limit_bytes: int
    source: str


def stays(reference: Train, cells: Sequence[Cell]) -> list[Stay]:
    """The reference train's way through cells and zones."""
    found: list[Stay] = []
    for cell in cells:
        edges_km = cell.edges_km()
        for from_km, to_km in pairwise(edges_km):
            zone = cell.zone_at((from_km + to_km) / 2)
            begin_s, end_s = reference.inside_s(from_km, to_km)
            if found and found[-1].cell is cell and found[-1].zone == zone:
                found[-1] = Stay(found[-1].from_s, end_s, cell, zone)
            else:
                found.append(Stay(begin_s, end_s, cell, zone))
    return found


def build_trace(
    trains: Sequence[Train],
    cells: Sequence[Cell],
    settings: LinkSettings,
    rng: np.random.Generator,
    name: str,
) -> Trace:
    """The reference train's link over its whole journey."""
    reference, others = trains[0], trains[1:]
    rows: list[dict[str, Any]] = []
    delay_up_s = delay_down_s = 0.0
    mcs_before = None
    for stay in stays(reference, cells):
        if stay.zone.mcs != mcs_before:
            mcs_before = stay.zone.mcs
            delay_up_s, delay_down_s = rng.uniform(settings.latency.min_s, settings.latency.max_s, 2).tolist()
        for from_s, sharers in _sharers(stay, others):
            rate_bps = stay.zone.rate_bps / sharers
            rows.append(
                {
                    "t_s": from_s,
                    "rate_up_bps": rate_bps,
                    "rate_down_bps": rate_bps,
                    "delay_up_s": delay_up_s,
                    "delay_down_s": delay_down_s,
                    "loss_up": settings.loss,
                    "loss_down": settings.loss,
                    "queue_limit_bytes": settings.queue_limit_bytes,
                    "cell": stay.cell.name,
                    "km": round(reference.km_at(from_s), 6),
                    "speed_kmh": round(reference.journey.speed_at(from_s), 3),
                    "mcs": stay.zone.mcs,
                    "sharers": sharers,
                    "source": settings.source,
                }
            )
    columns = {key: [row[key] for row in rows] for key in rows[0]}
    return Trace.from_columns(columns, round(reference.journey.arrival_s, INSTANT_DIGITS), name)


def _sharers(stay: Stay, others: Sequence[Train]) -> list[tuple[float, int]]:
    """Instants in the stay, and how many trains share the cell from then on, this train among them."""
    from_s, to_s = round(stay.from_s, INSTANT_DIGITS), round(stay.to_s, INSTANT_DIGITS)
    visits = [train.inside_s(stay.cell.from_km, stay.cell.to_km) for train in others]
    visits = [(round(enter, INSTANT_DIGITS), round(leave, INSTANT_DIGITS)) for enter, leave in visits]
    visits = [(enter, leave) for enter, leave in visits if leave > from_s and enter < to_s]
    instants = sorted({from_s, *[t_s for visit in visits for t_s in visit if from_s < t_s < to_s]})
    counted: list[tuple[float, int]] = []
    for t_s in instants if to_s > from_s else []:
        sharers = 1 + sum(enter <= t_s < leave for enter, leave in visits)
        if not counted or counted[-1][1] != sharers:
            counted.append((t_s, sharers))
    return counted
