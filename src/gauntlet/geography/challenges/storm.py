"""A storm on its way: a circle whose middle moves along great circles, at an even speed on each leg.

Where its middle is at an angle w t along a leg, its product with any fixed vector is a sine of that angle.
That a place is in the circle, and that an arc comes into it, are bounds of such products; so the moments at
which they begin and end are arc cosines, and nothing is sampled.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gauntlet.errors import UserError
from gauntlet.geography import sphere
from gauntlet.geography.challenges.intervals import Intervals, intersection, union
from gauntlet.geography.challenges.outages import Outages, outages
from gauntlet.geography.challenges.ring import Ring
from gauntlet.geography.network import Network
from gauntlet.geography.sphere import Place

DRAWN = 5
"""At how many moments a storm is drawn."""


@dataclass(frozen=True)
class Fix:
    """Where a storm's middle is at a moment, and how far it reaches from then until the next fix."""

    at_s: float
    middle: Place
    radius_km: float


@dataclass(frozen=True)
class Storm:
    """A storm by its fixes, two at least; the last one's radius is of no account, as there it ends.

    Raises UserError for fixes that are no way.
    """

    fixes: Sequence[Fix]

    def __post_init__(self) -> None:
        if len(self.fixes) < 2:
            raise UserError("A storm needs two fixes at least: where it begins, and where it ends.")
        for one, other in pairwise(self.fixes):
            if not 0 <= one.at_s < other.at_s:
                raise UserError(
                    f"A fix at {one.at_s:g} s is followed by one at {other.at_s:g} s: let times begin at "
                    "0 or later, and rise."
                )
            if not 0 < one.radius_km < sphere.EARTH_RADIUS_KM:
                raise UserError(
                    f"A storm with a radius of {one.radius_km:g} km: give more than 0, and less "
                    "than the Earth's."
                )

    def outages(self, network: Network) -> Outages:
        """When nodes and links are down: in the circle, or coming into it."""
        legs = [_Leg(one, other) for one, other in pairwise(self.fixes)]
        places = dict(zip(network.nodes, network.vectors, strict=True))
        nodes = {name: union(*(leg.over(place) for leg in legs)) for name, place in places.items()}
        links = {
            link.ends: union(*(leg.over_arc(*(places[end] for end in link.ends)) for leg in legs))
            for link in network.links
        }
        return outages(network, nodes, links)

    def rings(self, count: int = DRAWN) -> list[Ring]:
        """To draw: where it is at so many moments, as far from each other as can be."""
        legs = [_Leg(one, other) for one, other in pairwise(self.fixes)]
        found = []
        for moment_s in map(float, np.linspace(self.fixes[0].at_s, self.fixes[-1].at_s, count)):
            leg = next(it for it in legs if moment_s <= it.to_s)
            found.append(Ring(leg.middle_at(moment_s), leg.radius_km, moment_s, moment_s))
        return found


class _Leg:
    """The way from one fix to the next."""

    def __init__(self, first: Fix, last: Fix) -> None:
        self._from_s, self.to_s = first.at_s, last.at_s
        self.radius_km = first.radius_km
        self._reach = first.radius_km / sphere.EARTH_RADIUS_KM
        start, end = first.middle.vector, last.middle.vector
        self._turn = float(sphere.angles(start, end))
        across = sphere.normals(start, end)
        # The middle at an angle is cos(angle) start + sin(angle) onward.
        self._start, self._onward = start, np.cross(across, start)

    def middle_at(self, moment_s: float) -> Place:
        """Where its middle is at a moment of this leg."""
        angle = self._turn * (moment_s - self._from_s) / (self.to_s - self._from_s)
        return Place.of(math.cos(angle) * self._start + math.sin(angle) * self._onward)

    def over(self, place: sphere.Vectors) -> Intervals:
        """When a place is in the circle."""
        return self._at_least(place, math.cos(self._reach))

    def over_arc(self, start: sphere.Vectors, end: sphere.Vectors) -> Intervals:
        """When the circle reaches an arc: one of its ends, or a point between them."""
        across = sphere.normals(start, end)
        near = -math.sin(self._reach)
        between = (
            intersection(
                self._at_least(across, near),
                self._at_least(-across, near),
                self._at_least(np.cross(across, start), 0.0),
                self._at_least(np.cross(end, across), 0.0),
            )
            if across.any()
            else ()
        )
        return union(self.over(start), self.over(end), between)

    def _at_least(self, vector: sphere.Vectors, bound: float) -> Intervals:
        """When the middle's product with a vector is no less than a bound."""
        whole: Intervals = ((self._from_s, self.to_s),)
        begin, quarter = float(vector @ self._start), float(vector @ self._onward)
        if self._turn == 0:
            return whole if begin >= bound else ()
        height = math.hypot(begin, quarter)
        if abs(bound) >= height:
            return whole if bound <= -height else ()
        middle, width = math.atan2(quarter, begin), math.acos(bound / height)
        # A leg turns by less than half a circle, so that one round more on either side has all of it.
        return union(
            (self._moment(low), self._moment(high))
            for round_ in (-2 * math.pi, 0.0, 2 * math.pi)
            if (low := max(0.0, middle - width + round_)) < (high := min(self._turn, middle + width + round_))
        )

    def _moment(self, angle: float) -> float:
        if angle >= self._turn:
            return self.to_s
        return self._from_s + (self.to_s - self._from_s) * angle / self._turn
