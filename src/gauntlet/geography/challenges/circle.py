"""A circle that stays where it is, in stages, and grows or shrinks evenly in each: a region that fails."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gauntlet.errors import UserError
from gauntlet.geography import sphere
from gauntlet.geography.challenges.intervals import Interval, union
from gauntlet.geography.challenges.outages import Outages, outages
from gauntlet.geography.challenges.ring import Ring
from gauntlet.geography.network import Network
from gauntlet.geography.sphere import Place


@dataclass(frozen=True)
class Stage:
    """The circle from one moment to another; its radius is `radius_km` at first and changes evenly to
    `last_radius_km`, or stays. Raises UserError for what is no stage.
    """

    from_s: float
    to_s: float
    radius_km: float
    last_radius_km: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.from_s < self.to_s:
            raise UserError(
                f"A stage from {self.from_s:g} s to {self.to_s:g} s: let it begin at 0 or later and end "
                "after that."
            )
        if not min(self.radius_km, self._last_km) >= 0:
            raise UserError(f"The radius {min(self.radius_km, self._last_km):g} km: give 0 or more.")

    @property
    def _last_km(self) -> float:
        return self.radius_km if self.last_radius_km is None else self.last_radius_km

    @property
    def largest_km(self) -> float:
        """Its radius when it reaches farthest."""
        return max(self.radius_km, self._last_km)

    @property
    def changes(self) -> bool:
        """Whether it grows or shrinks."""
        return self.radius_km != self._last_km

    def covers(self, distance_km: float) -> Interval | None:
        """When what is so far from the middle is in the circle."""
        first, last = self.radius_km, self._last_km
        if max(first, last) < distance_km:
            return None
        if min(first, last) >= distance_km:
            return self.from_s, self.to_s
        crossed_s = self.from_s + (self.to_s - self.from_s) * (distance_km - first) / (last - first)
        return (crossed_s, self.to_s) if last > first else (self.from_s, crossed_s)


@dataclass(frozen=True)
class Circle:
    """Whatever it covers is down: nodes in it, and links that come into it."""

    middle: Place
    stages: Sequence[Stage]

    def outages(self, network: Network) -> Outages:
        """When nodes and links are down."""
        middle = self.middle.vector[None]
        starts, ends = (network.vectors[network.ends_of[:, side]] for side in (0, 1))
        to_links_km = sphere.to_arcs_km(middle, starts, ends)[0]
        to_nodes_km = sphere.EARTH_RADIUS_KM * sphere.angles(network.vectors, middle)
        return outages(
            network,
            {name: union(self._when(km)) for name, km in zip(network.nodes, to_nodes_km, strict=True)},
            {link.ends: union(self._when(km)) for link, km in zip(network.links, to_links_km, strict=True)},
        )

    def rings(self) -> list[Ring]:
        """To draw: one a stage, as large as it gets."""
        return [
            Ring(self.middle, it.largest_km, it.from_s, it.to_s, at_largest=it.changes) for it in self.stages
        ]

    def _when(self, distance_km: np.float64) -> Iterator[Interval]:
        for stage in self.stages:
            when = stage.covers(float(distance_km))
            if when is not None:
                yield when
