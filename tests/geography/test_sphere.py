"""Distances: known ones, arcs by sampling, and what fibre makes of them."""

import math
from random import Random

import numpy as np
import pytest

from gauntlet.geography import fibre, sphere
from gauntlet.geography.sphere import Place

LONDON, PARIS, SYDNEY = Place(51.51, -0.13), Place(48.86, 2.35), Place(-33.87, 151.21)


def to_arc_km(point: Place, start: Place, end: Place) -> float:
    """From one place to one arc."""
    return float(sphere.to_arcs_km(point.vector[None], start.vector[None], end.vector[None])[0, 0])


@pytest.mark.parametrize(
    ("first", "second", "km"),
    [
        (LONDON, PARIS, 344),
        (LONDON, SYDNEY, 16_994),
        (Place(35.47, -97.52), Place(38.91, -77.04), 1_853),
        (Place(0, 0), Place(0, 180), math.pi * sphere.EARTH_RADIUS_KM),
        (Place(90, 0), Place(0, 77), math.pi / 2 * sphere.EARTH_RADIUS_KM),
        (Place(0, 179.5), Place(0, -179.5), math.radians(1) * sphere.EARTH_RADIUS_KM),
    ],
)
def test_known_distances(first: Place, second: Place, km: float) -> None:
    assert sphere.distance_km(first, second) == pytest.approx(km, rel=2e-3)
    assert sphere.distance_km(second, first) == sphere.distance_km(first, second)


def test_a_place_is_no_distance_from_itself() -> None:
    assert sphere.distance_km(SYDNEY, SYDNEY) == 0
    assert to_arc_km(LONDON, LONDON, PARIS) == 0
    assert to_arc_km(PARIS, LONDON, PARIS) == 0


@pytest.mark.parametrize(
    ("point", "degrees"),
    [
        (Place(1, 5), 1),
        (Place(-2, 0), 2),
        (Place(0, 13), 3),
        (Place(0, -4), 4),
        (Place(0, 180), 170),
        (Place(90, 0), 90),
    ],
    ids=["beside", "beside its start", "past its end", "before its start", "behind the Earth", "pole"],
)
def test_distances_to_a_piece_of_the_equator(point: Place, degrees: float) -> None:
    km = math.radians(degrees) * sphere.EARTH_RADIUS_KM
    assert to_arc_km(point, Place(0, 0), Place(0, 10)) == pytest.approx(km)


def test_an_arc_is_as_far_as_the_closest_of_its_points() -> None:
    random = Random(7)
    steps = np.linspace(0, 1, 4001)[:, None]
    for _ in range(50):
        point, start, end = (Place(random.uniform(-89, 89), random.uniform(-180, 180)) for _ in range(3))
        turn = sphere.angles(start.vector, end.vector)
        along = np.sin((1 - steps) * turn) * start.vector + np.sin(steps * turn) * end.vector
        sampled = sphere.EARTH_RADIUS_KM * float(sphere.angles(along / np.sin(turn), point.vector).min())
        assert to_arc_km(point, start, end) == pytest.approx(sampled, abs=5)
        assert to_arc_km(point, start, end) <= sampled + 1e-6


def test_an_arc_without_a_length_is_a_place() -> None:
    assert to_arc_km(LONDON, PARIS, PARIS) == pytest.approx(sphere.distance_km(LONDON, PARIS))


def test_the_radius_is_the_mean_one_of_grs_80() -> None:
    """From its semi-major axis and its flattening, (2a + b) / 3."""
    a_km, flattening = 6378.137, 1 / 298.257222101
    assert pytest.approx((2 * a_km + a_km * (1 - flattening)) / 3, abs=1e-4) == sphere.EARTH_RADIUS_KM


def test_light_takes_5_us_a_kilometre_of_fibre() -> None:
    assert fibre.delay_s(1000) == pytest.approx(1000 * 1.4682 / 299_792.458)
    assert fibre.cable_km(1000) == 1250
