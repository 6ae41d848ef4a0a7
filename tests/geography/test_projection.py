"""The Earth on a plane: areas stay as they are, and lengths do near the middle."""

import math

import numpy as np
import pytest

from gauntlet.geography import sphere
from gauntlet.geography.projection import Projection
from gauntlet.geography.sphere import Place

NASHVILLE, CHICAGO, OSLO = Place(36.16, -86.78), Place(41.88, -87.63), Place(59.91, 10.75)


@pytest.mark.parametrize("middle", [NASHVILLE, OSLO, Place(-89.0, 30.0)])
@pytest.mark.parametrize("radius_km", [100.0, 500.0])
def test_a_circle_keeps_its_area_wherever_it_lies(middle: Place, radius_km: float) -> None:
    x, y = Projection([NASHVILLE]).ring(middle, radius_km).T
    area = abs(float(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1]))) / 2
    cap = 2 * math.pi * sphere.EARTH_RADIUS_KM**2 * (1 - math.cos(radius_km / sphere.EARTH_RADIUS_KM))
    # A polygon with 72 corners has 0.13 % less than its circle.
    assert area == pytest.approx(cap, rel=3e-3)


def test_north_is_up_and_lengths_are_true_near_the_middle() -> None:
    found = Projection([NASHVILLE, CHICAGO]).km(np.array([NASHVILLE.vector, CHICAGO.vector]))
    assert found[1][1] > found[0][1]
    assert np.hypot(*(found[1] - found[0])) == pytest.approx(sphere.distance_km(NASHVILLE, CHICAGO), rel=1e-3)


@pytest.mark.parametrize("place", [NASHVILLE, OSLO, Place(-33.9, 151.2)])
def test_a_vector_is_a_place_again(place: Place) -> None:
    found = Place.of(place.vector)
    assert (found.latitude, found.longitude) == pytest.approx((place.latitude, place.longitude))
