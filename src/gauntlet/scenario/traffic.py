"""Other trains on the line: when each is inside a cell, and so how many share it with the reference train.

The reference train leaves the start of the line at time 0. Others leave both ends at a fixed headway, before
and after it (D3.4 sections 3.3 and 4.2), those at the far end later by a fixed lag. A train counts from its
departure to its arrival.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from gauntlet.scenario.motion import Journey


@dataclass(frozen=True)
class Train:
    """A train in the reference train's clock; `outbound` trains run in its direction."""

    departure_s: float
    outbound: bool
    journey: Journey
    length_km: float

    def km_at(self, t_s: float) -> float:
        """Position on the line at an instant."""
        run_km = self.journey.km_at(t_s - self.departure_s)
        return run_km if self.outbound else self.length_km - run_km

    def inside_s(self, from_km: float, to_km: float) -> tuple[float, float]:
        """When the train enters and leaves a stretch of the line."""
        if not self.outbound:
            from_km, to_km = self.length_km - to_km, self.length_km - from_km
        enter_s = 0.0 if from_km <= 0 else self.journey.time_at(from_km)
        return self.departure_s + enter_s, self.departure_s + self.journey.time_at(to_km)


def trains(
    outbound: Journey, opposite: Journey, headway_s: float, lag_s: float, length_km: float
) -> list[Train]:
    """The reference train, then all others that are on the line at some time of its journey."""
    reference = Train(0.0, True, outbound, length_km)
    others = [
        Train(departure_s, is_outbound, run, length_km)
        for is_outbound, run, first_s in ((True, outbound, 0.0), (False, opposite, lag_s))
        for departure_s in _departures_s(first_s, run.arrival_s, outbound.arrival_s, headway_s)
        if not (is_outbound and departure_s == 0)
    ]
    return [reference, *others]


def _departures_s(first_s: float, run_s: float, reference_s: float, headway_s: float) -> Iterator[float]:
    earliest = math.floor((-run_s - first_s) / headway_s) + 1
    latest = math.ceil((reference_s - first_s) / headway_s) - 1
    yield from (first_s + number * headway_s for number in range(earliest, latest + 1))
