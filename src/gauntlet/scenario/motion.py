"""How a train moves along a line: speed limits and stops in, position and speed over time out.

The train is a point that accelerates and brakes at constant rates, never exceeds a limit, and otherwise
drives at the limit. Its square of speed is then linear in position between grid points, which makes the
travel times exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

GRID_KM = 0.01
"""Grid of positions; limits and stops are moved to the nearest grid point."""

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
        after = int(np.searchsorted(self.km, km, side="right"))
        if after >= len(self.km):
            return self.arrival_s
        share = (km - self.km[after - 1]) / (self.km[after] - self.km[after - 1])
        return float(self.t_s[after - 1] + share * (self.t_s[after] - self.t_s[after - 1]))


def journey(
    length_km: float, limits: Sequence[Limit], stops: Sequence[Stop], accel_mps2: float, brake_mps2: float
) -> Journey:
    """Drive from standstill at 0 to standstill at the end of the line, stopping on the way as told."""
    cells = max(2, round(length_km / GRID_KM))
    km = np.linspace(0.0, length_km, cells + 1)
    step_m = 1000.0 * length_km / cells
    cap_mps = np.full(cells + 1, np.inf)
    for limit in limits:
        first, last = round(limit.from_km / length_km * cells), round(limit.to_km / length_km * cells)
        cap_mps[first : last + 1] = np.minimum(cap_mps[first : last + 1], limit.limit_kmh / 3.6)
    stop_at = {round(stop.km / length_km * cells): stop.duration_s for stop in stops}
    cap_mps[[0, cells, *stop_at]] = 0.0

    # Bounds on the square of speed: what braking and acceleration from every other point allow.
    along_m = step_m * np.arange(cells + 1)
    rising, falling = 2 * accel_mps2 * along_m, 2 * brake_mps2 * along_m
    after_accel = np.minimum.accumulate(cap_mps**2 - rising) + rising
    before_brake = np.minimum.accumulate((cap_mps**2 + falling)[::-1])[::-1] - falling
    speed_mps = np.sqrt(np.maximum(np.minimum(after_accel, before_brake), 0.0))

    travel_s = np.append(0.0, np.cumsum(2 * step_m / (speed_mps[:-1] + speed_mps[1:])))
    return _with_stops(travel_s, km, 3.6 * speed_mps, stop_at)


def _with_stops(travel_s: Floats, km: Floats, speed_kmh: Floats, stop_at: dict[int, float]) -> Journey:
    """Hold the clock at each stop by doubling its grid point."""
    order = sorted(index for index, duration_s in stop_at.items() if duration_s > 0)
    t_s = travel_s.copy()
    for index in order:
        t_s[index + 1 :] += stop_at[index]
    waits = np.array([t_s[index] + stop_at[index] for index in order])
    after = np.array([index + 1 for index in order], dtype=np.intp)
    if not order:
        return Journey(t_s, km, speed_kmh)
    return Journey(
        np.insert(t_s, after, waits),
        np.insert(km, after, km[after - 1]),
        np.insert(speed_kmh, after, 0.0),
    )


def reversed_limits(limits: Sequence[Limit], length_km: float) -> list[Limit]:
    """The same limits as seen by a train from the other end."""
    return [Limit(length_km - x.to_km, length_km - x.from_km, x.limit_kmh) for x in reversed(limits)]


def reversed_stops(stops: Sequence[Stop], length_km: float) -> list[Stop]:
    """The same stops as seen by a train from the other end."""
    return [Stop(length_km - x.km, x.duration_s) for x in reversed(stops)]
