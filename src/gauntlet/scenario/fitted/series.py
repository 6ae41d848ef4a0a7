"""Models of one quantity that need no fitting, and what all models have to do with arrays."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from gauntlet.scenario.linefile import StrictData

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


class Constant(StrictData):
    """A quantity that does not change."""

    model: Literal["constant"] = "constant"
    value: float

    def draw(self, count: int, _rng: np.random.Generator) -> Floats:
        """The quantity step by step."""
        return np.full(count, self.value)


class Proportional(StrictData):
    """A quantity that is a share of another one at every step, as where one direction alone was measured."""

    model: Literal["proportional"] = "proportional"
    of: str
    ratio: float
