"""How a train moves along a line: speed limits and stops in, position and speed over time out.

The train is a point that accelerates and brakes at constant rates, never exceeds a limit, and otherwise
drives at the limit. Its square of speed is then linear in position between grid points, which makes the
travel times exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

GRID_KM = 0.01
"""Step of the grid of positions; limits and stops are grid points too."""
LEAST_STEP_KM = 1e-6
"""Even grid points closer than this to a limit or stop give way to it."""

Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Limit:
    """A speed limit in km/h from one position to another."""

    from_km: float
    to_km: float
    limit_kmh: float


@dataclass(frozen=True)
class Stop:
    """A stop of `duration_s` on the way."""

    km: float
    duration_s: float


@dataclass(frozen=True)
class Journey:
    """Position and speed of a train over time since its departure.

    `km` never falls; it is repeated where the train stands. Between points the position is linear in time.
    """

    t_s: Floats
    km: Floats
    speed_kmh: Floats

    @property
    def arrival_s(self) -> float:
        """When the train reaches the end of the line."""
        return float(self.t_s[-1])

    def km_at(self, t_s: float) -> float:
        """Position at an instant; before departure and after arrival the train stands at the ends."""
        return float(np.interp(t_s, self.t_s, self.km))

    def speed_at(self, t_s: float) -> float:
        """Speed in km/h at an instant."""
        return float(np.interp(t_s, self.t_s, self.speed_kmh))

    def time_at(self, km: float) -> float:
        """When the train passes a position; where it stops, when it departs."""
        known_s = self._passed_s.get(km)
        if known_s is None:
            known_s = self._passed_s[km] = self._computed_time_at(km)
        return known_s

    @cached_property
    def _passed_s(self) -> dict[float, float]:
        """Instants by position: every train on a line passes the borders of the same cells."""
        return {}

    def _computed_time_at(self, km: float) -> float:
        after = int(np.searchsorted(self.km, km, side="right"))
        if after >= len(self.km):
            return self.arrival_s
        share = (km - self.km[after - 1]) / (self.km[after] - self.km[after - 1])
        return float(self.t_s[after - 1] + share * (self.t_s[after] - self.t_s[after - 1]))


def journey(
    length_km: float, limits: Sequence[Limit], stops: Sequence[Stop], accel_mps2: float, brake_mps2: float
) -> Journey:
    """Drive from standstill at 0 to standstill at the end of the line, stopping on the way as told."""
    km = _grid(length_km, [limit.from_km for limit in limits] + [stop.km for stop in stops])
    cap_mps = np.full(len(km), np.inf)
    for limit in limits:
        held = (km >= limit.from_km) & (km <= limit.to_km)
        cap_mps[held] = np.minimum(cap_mps[held], limit.limit_kmh / 3.6)
    stopping = np.searchsorted(km, [stop.km for stop in stops])
    cap_mps[[0, -1, *stopping]] = 0.0

    # Bounds on the square of speed: what acceleration and braking from every other point allow.
    along_m = 1000.0 * km
    rising, falling = 2 * accel_mps2 * along_m, 2 * brake_mps2 * along_m
    after_accel = np.minimum.accumulate(cap_mps**2 - rising) + rising
    before_brake = np.minimum.accumulate((cap_mps**2 + falling)[::-1])[::-1] - falling
    speed_mps = np.sqrt(np.maximum(np.minimum(after_accel, before_brake), 0.0))

    travel_s = np.append(0.0, np.cumsum(2 * np.diff(along_m) / (speed_mps[:-1] + speed_mps[1:])))
    for index, stop in zip(stopping, stops, strict=True):
        travel_s[index + 1 :] += stop.duration_s
    departures_s = [travel_s[index] + stop.duration_s for index, stop in zip(stopping, stops, strict=True)]
    return Journey(
        np.insert(travel_s, stopping + 1, departures_s),
        np.insert(km, stopping + 1, km[stopping]),
        np.insert(3.6 * speed_mps, stopping + 1, 0.0),
    )


def _grid(length_km: float, borders_km: Sequence[float]) -> Floats:
    """Evenly spaced positions and these borders; no two so close that rounding could swap them."""
    fixed_km = np.unique([0.0, *borders_km, length_km])
    even_km = np.arange(GRID_KM, length_km, GRID_KM)
    after = np.searchsorted(fixed_km, even_km)
    room_km = np.minimum(even_km - fixed_km[after - 1], fixed_km[after] - even_km)
    return np.sort(np.concatenate([fixed_km, even_km[room_km > LEAST_STEP_KM]]))


def reversed_limits(limits: Sequence[Limit], length_km: float) -> list[Limit]:
    """The same limits as seen by a train from the other end."""
    return [Limit(length_km - x.to_km, length_km - x.from_km, x.limit_kmh) for x in reversed(limits)]


def reversed_stops(stops: Sequence[Stop], length_km: float) -> list[Stop]:
    """The same stops as seen by a train from the other end."""
    return [Stop(length_km - x.km, x.duration_s) for x in reversed(stops)]
