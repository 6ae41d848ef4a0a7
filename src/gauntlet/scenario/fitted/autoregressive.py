"""An autoregression: each value is a weighted sum of those before it and a draw of a normal distribution.

Of the logarithm where all values are above 0. The weights follow from the autocovariance by the equations of
Yule (1927) and Walker (1931), so that what is drawn never grows without end; the order, unless it is given,
is that of Akaike's criterion (1974).
"""

from collections.abc import Sequence
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from gauntlet.scenario.fitted.series import Floats
from gauntlet.scenario.linefile import StrictData

MOST_ORDER = 8
_RUN_UP_STEPS = 1000
"""Steps that are drawn and thrown away, until the beginning from the mean is forgotten."""
_DIGITS = 12


class Autoregressive(StrictData):
    """`weights` are those of the values one, two, ... steps before, around `mean`; `deviation` is the
    standard deviation of the draws, all of the logarithm where `logarithmic`. Values are kept within what was
    measured, from `least` to `most`.
    """

    model: Literal["autoregressive"] = "autoregressive"
    logarithmic: bool
    mean: float
    weights: list[float] = Field(min_length=1)
    deviation: float = Field(ge=0)
    least: float = Field(ge=0)
    most: float

    @model_validator(mode="after")
    def _settles(self) -> Self:
        roots = np.roots(np.concatenate([[1.0], -np.array(self.weights)]))
        if len(roots) and np.max(np.abs(roots)) >= 1:
            raise ValueError("these weights make a series that grows without end")
        if self.most < self.least:
            raise ValueError("most must not be below least")
        return self

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """The quantity step by step."""
        # SciPy takes longer to load than most commands to run.
        from scipy.signal import lfilter

        noise = rng.normal(0.0, self.deviation, _RUN_UP_STEPS + count)
        series = self.mean + lfilter([1.0], [1.0, *(-weight for weight in self.weights)], noise)
        values: Floats = np.clip(np.exp(series) if self.logarithmic else series, self.least, self.most)[
            _RUN_UP_STEPS:
        ]
        return values


def fit(values: Floats, order: int | None = None) -> Autoregressive:
    """Calibrate to a series that is not constant; `order` None: the best of 1 to 8 by Akaike's criterion."""
    logarithmic = bool(values.min() > 0)
    series = np.log(values) if logarithmic else values
    mean = float(np.mean(series))
    around = series - mean
    orders: Sequence[int] = range(1, MOST_ORDER + 1) if order is None else [order]
    count = len(around)
    covariances = np.array([around[: count - lag] @ around[lag:] / count for lag in range(orders[-1] + 1)])
    found = [_weights(covariances, own) for own in orders]
    weights, variance = min(found, key=lambda own: count * np.log(own[1]) + 2 * len(own[0]))
    return Autoregressive(
        logarithmic=logarithmic,
        mean=round(mean, _DIGITS),
        weights=np.round(weights, _DIGITS).tolist(),
        deviation=round(float(np.sqrt(variance)), _DIGITS),
        least=float(values.min()),
        most=float(values.max()),
    )


def _weights(covariances: Floats, order: int) -> tuple[Floats, float]:
    """Weights of this order and the variance that they leave."""
    from scipy.linalg import solve_toeplitz

    weights: Floats = solve_toeplitz(covariances[:order], covariances[1 : order + 1])
    variance = float(covariances[0] - weights @ covariances[1 : order + 1])
    return weights, max(variance, 1e-12 * float(covariances[0]))
