"""The Earth on a plane: Lambert's azimuthal equal-area projection, in kilometres around a middle.

Areas are true everywhere and circles look like circles near the middle (J. P. Snyder, Map Projections: A
Working Manual, USGS Professional Paper 1395, 1987, equations 24-2 to 24-4).
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gauntlet.geography import sphere
from gauntlet.geography.sphere import Place

Points = NDArray[np.float64]
"""Rows of kilometres to the east and to the north."""

CORNERS = 72
"""Of a circle that is drawn."""


class Projection:
    """A plane that touches the Earth in the middle of some places."""

    def __init__(self, places: Sequence[Place]) -> None:
        mean = np.mean([place.vector for place in places], axis=0)
        self._up = mean / np.linalg.norm(mean)
        east = np.cross([0.0, 0.0, 1.0], self._up)
        length = float(np.linalg.norm(east))
        # At a pole every direction is south: any one serves as east.
        self._east = east / length if length > 0 else np.array([0.0, 1.0, 0.0])
        self._north = np.cross(self._up, self._east)

    def km(self, vectors: sphere.Vectors) -> Points:
        """Where unit vectors from the Earth's centre lie on the plane."""
        scale = sphere.EARTH_RADIUS_KM * np.sqrt(2.0 / (1.0 + vectors @ self._up))
        return np.stack([scale * (vectors @ self._east), scale * (vectors @ self._north)], axis=-1)

    def ring(self, middle: Place, radius_km: float) -> Points:
        """The corners of a circle on the Earth, from the north clockwise; the first comes again last."""
        centre, reach = middle.vector, radius_km / sphere.EARTH_RADIUS_KM
        east = np.array(
            [-math.sin(math.radians(middle.longitude)), math.cos(math.radians(middle.longitude)), 0.0]
        )
        north = np.cross(centre, east)
        turn = np.linspace(0.0, 2 * np.pi, CORNERS + 1)[:, None]
        around = np.cos(turn) * north + np.sin(turn) * east
        return self.km(math.cos(reach) * centre + math.sin(reach) * around)
