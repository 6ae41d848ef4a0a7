"""Where cells stand along a line, which stretch each serves, and which zone the train is in."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gauntlet.scenario.linefile import Area, AreaType
from gauntlet.scenario.radio import Zone


@dataclass(frozen=True)
class Cell:
    """One antenna site, serving from `from_km` to `to_km`, with its zones toward both sides."""

    name: str
    km: float
    from_km: float
    to_km: float
    area: AreaType
    zones_back: tuple[Zone, ...]
    zones_ahead: tuple[Zone, ...]

    def zone_at(self, km: float) -> Zone:
        """The zone that covers a position of the served stretch.

        Beyond the last zone the last one holds: D3.4 section 4.3 takes the link as always available.
        """
        distance_km = abs(km - self.km)
        zones = self.zones_ahead if km >= self.km else self.zones_back
        return next((zone for zone in zones if distance_km <= zone.reach_km), zones[-1])

    def edges_km(self) -> list[float]:
        """Positions inside the served stretch at which the zone changes, and its two ends."""
        back = [self.km - zone.reach_km for zone in self.zones_back[:-1]]
        ahead = [self.km + zone.reach_km for zone in self.zones_ahead[:-1]]
        inside = [km for km in back + ahead if self.from_km < km < self.to_km]
        return sorted({self.from_km, self.to_km, *inside})


@dataclass(frozen=True)
class Sites:
    """Positions of antennas, ascending, and the area type of each gap between neighbours."""

    km: list[float]
    gaps: list[AreaType]


def area_at(areas: Sequence[Area], km: float) -> AreaType:
    """Type of the area at a position; at a border, of the one ahead."""
    return next((area.type for area in areas if area.from_km <= km < area.to_km), areas[-1].type)


def enb_sites(areas: Sequence[Area], length_km: float, spacing_km: Callable[[AreaType], float]) -> Sites:
    """Where eNBs stand, by D3.4 section 4.1: at both ends of the line, and Table 5's distances between them.

    The order is this project's: the last area is filled from the terminus backward, everything before it
    from the start forward. A gap is as long as the area type at its middle asks, where the handover takes
    place; one that would reach into an urban area ends at the edge of it. The one gap where both fillings
    meet is what is left over.
    """
    last = areas[-1]
    from_end, km = [length_km], length_km - spacing_km(last.type)
    while km >= last.from_km and km > 0:
        from_end.append(km)
        km -= spacing_km(last.type)
    positions, gaps = [0.0], []
    while positions[-1] < from_end[-1]:
        here = positions[-1]
        edges = [area.from_km for area in areas[:-1] if area.type == "urban" and area.from_km > here]
        nearest = min([*edges, from_end[-1]])
        middle = (here + min(here + spacing_km(area_at(areas, here)), nearest)) / 2
        gaps.append(area_at(areas, middle))
        positions.append(min(here + spacing_km(gaps[-1]), nearest))
    return Sites([*positions, *from_end[-2::-1]], [*gaps, *[last.type] * (len(from_end) - 1)])


def access_point_sites(length_km: float, reach_km: float) -> Sites:
    """Access points evenly along the line, two of them at its ends, all track within their reach."""
    gaps = math.ceil(length_km / (2 * reach_km))
    return Sites(np.linspace(0.0, length_km, gaps + 1).tolist(), ["urban"] * gaps)


def build_cells(
    sites: Sites,
    prefix: str,
    site_area: Callable[[float], AreaType],
    zones: Callable[[AreaType], Sequence[Zone]],
) -> list[Cell]:
    """Cells at these sites; neighbours meet half-way (D3.4 section 4.1).

    A gap has the zones of its area type on both sides, so one cell may reach differently far toward its two
    sides (D3.4 Figure 10).
    """
    positions, gaps = sites.km, [sites.gaps[0], *sites.gaps, sites.gaps[-1]]
    borders = [
        positions[0],
        *[(a + b) / 2 for a, b in pairwise(positions)],
        positions[-1],
    ]
    return [
        Cell(
            name=f"{prefix} {index}",
            km=km,
            from_km=borders[index],
            to_km=borders[index + 1],
            area=site_area(km),
            zones_back=tuple(zones(gaps[index])),
            zones_ahead=tuple(zones(gaps[index + 1])),
        )
        for index, km in enumerate(positions)
    ]
