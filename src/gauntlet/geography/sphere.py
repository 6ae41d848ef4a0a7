"""Distances on the Earth, taken as a sphere: between places, and from places to great-circle arcs."""

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float64]
"""Unit vectors from the Earth's centre, in the last axis."""

EARTH_RADIUS_KM = 6371.0088
"""Mean radius (2a + b) / 3 of the ellipsoid GRS 80 (H. Moritz, Geodetic Reference System 1980, Journal of
Geodesy 74, 2000). Distances on that ellipsoid differ by at most 0.6 %.
"""


@dataclass(frozen=True)
class Place:
    """A point on the Earth, in degrees."""

    latitude: float
    """North of the equator, from -90 to 90."""
    longitude: float
    """East of Greenwich, from -180 to 180."""

    @property
    def vector(self) -> Vectors:
        """Where it is, seen from the Earth's centre."""
        north, east = np.radians(self.latitude), np.radians(self.longitude)
        return np.array([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)])

    @classmethod
    def of(cls, vector: Vectors) -> Self:
        """The place that a unit vector from the Earth's centre points to."""
        east, north, up = map(float, vector)
        return cls(math.degrees(math.asin(min(max(up, -1.0), 1.0))), math.degrees(math.atan2(north, east)))


def angles(first: Vectors, second: Vectors) -> NDArray[Any]:
    """Angles between vectors, exact for small and large ones alike."""
    across = np.linalg.norm(np.cross(first, second), axis=-1)
    return np.asarray(np.arctan2(across, np.sum(first * second, axis=-1)))


def distance_km(first: Place, second: Place) -> float:
    """Along the great circle."""
    return EARTH_RADIUS_KM * float(angles(first.vector, second.vector))


def normals(starts: Vectors, ends: Vectors) -> Vectors:
    """Unit vectors across arcs; zero where an arc's two ends are one place."""
    across = np.cross(starts, ends)
    lengths = np.linalg.norm(across, axis=-1, keepdims=True)
    return np.asarray(np.divide(across, lengths, out=np.zeros_like(across), where=lengths > 0))


def to_arcs_km(points: Vectors, starts: Vectors, ends: Vectors) -> Vectors:
    """From each of n points to each of m arcs, as n rows; an arc is the shorter part of its great circle."""
    across = normals(starts, ends)
    is_arc = np.any(across != 0, axis=-1)
    # A point's foot on the great circle lies on the arc where it is past its start and not past its end.
    past_start = points @ np.cross(across, starts).T >= 0
    before_end = points @ np.cross(ends, across).T >= 0
    beside = np.abs(np.arcsin(np.clip(points @ across.T, -1.0, 1.0)))
    to_ends = np.minimum(angles(points[:, None], starts[None]), angles(points[:, None], ends[None]))
    found = np.where(past_start & before_end & is_arc, np.minimum(beside, to_ends), to_ends)
    return np.asarray(EARTH_RADIUS_KM * found)
