"""Challenges by name are what docs/geography.md says of them: places, radii and moments, worked out anew."""

import math
from itertools import pairwise

import pytest

from gauntlet.geography import packaged
from gauntlet.geography.challenges import profiles

US = packaged.load("us-fibre")


def km_between(one: tuple[float, float], other: tuple[float, float]) -> float:
    """By the haversine formula, of degrees of latitude and longitude."""
    (lat, lon), (lat2, lon2) = (tuple(math.radians(degrees) for degrees in place) for place in (one, other))
    half = math.sin((lat2 - lat) / 2) ** 2 + math.cos(lat) * math.cos(lat2) * math.sin((lon2 - lon) / 2) ** 2
    return 2 * 6371.0088 * math.asin(math.sqrt(half))


def between(one: tuple[float, float], other: tuple[float, float], share: float) -> tuple[float, float]:
    """A place on the great circle from one to the other: the chord's, seen from the Earth's centre."""
    both = [tuple(map(math.radians, place)) for place in (one, other)]
    ends = [
        (math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat)) for lat, lon in both
    ]
    x, y, z = ((1 - share) * a + share * b for a, b in zip(*ends, strict=True))
    return (math.degrees(math.atan2(z, math.hypot(x, y))), math.degrees(math.atan2(y, x)))


def where(name: str) -> tuple[float, float]:
    place = US.nodes[name]
    return (place.latitude, place.longitude)


@pytest.mark.parametrize(
    ("profile", "legs", "radius_km"),
    [
        ("midwest", [(20.0, (35.47, -97.52)), (120.0, (41.88, -87.63))], 150.0),
        # An hour in 4 s: from the first landfall 21 h 35 min and 25 h.
        ("east-coast", [(20.0, (34.7, -76.5)), (106.33, (39.4, -74.4)), (120.0, (40.6, -74.0))], 148.0),
    ],
)
def test_a_storm_takes_the_nodes_that_its_stated_way_comes_near(
    profile: str, legs: list[tuple[float, tuple[float, float]]], radius_km: float
) -> None:
    found = profiles.outages(profile, US)
    assert found.nodes
    for name in US.nodes:
        nearest_km = min(
            km_between(where(name), between(start, end, step / 1000))
            for (_, start), (_, end) in pairwise(legs)
            for step in range(1001)
        )
        if abs(nearest_km - radius_km) > 2.0:
            assert (name in found.nodes) == (nearest_km < radius_km), (name, nearest_km)
    first_s = min(start for when in found.nodes.values() for start, _ in when)
    last_s = max(end for when in found.nodes.values() for _, end in when)
    assert legs[0][0] <= first_s < last_s <= legs[-1][0] + 0.01


@pytest.mark.parametrize(("moment_s", "radius_km"), [(30, 100.0), (70, 300.0), (110, 500.0)])
def test_the_circle_around_nashville_has_the_stated_radii(moment_s: float, radius_km: float) -> None:
    down, _ = profiles.outages("nashville", US).at(moment_s)
    assert set(down) == {name for name in US.nodes if km_between(where(name), (36.16, -86.78)) <= radius_km}


def test_three_central_nodes_fall_20_s_after_one_another() -> None:
    found = profiles.outages("central", US)
    assert sorted(when[0] for when in found.nodes.values()) == [(20, 120), (40, 120), (60, 120)]
