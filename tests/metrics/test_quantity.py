"""Shares from kept quantiles: many alike samples are no slope."""

import math

import numpy as np
import pytest

from gauntlet.metrics.quantity import Quantity, of_distribution

LEVELS = np.linspace(0, 1, 11)
VALUES = np.array([0.1] * 6 + [0.2, 0.3, 0.3, 0.3, 0.5])
"""Half of the samples are 0.1 s and a fifth 0.3 s; the others lie evenly between."""


@pytest.mark.parametrize(
    ("between", "share"),
    [
        ((0.1, 0.1), 0.5),
        ((0.3, 0.3), 0.2),
        ((0.15, math.inf), 0.45),
        ((0.25, math.inf), 0.35),
        ((0.3, math.inf), 0.3),
        ((math.nextafter(0.3, 1), math.inf), 0.1),
        ((-math.inf, 0.4), 0.95),
        ((0.25, 0.29), 0.04),
        ((0.5, 0.5), 0.0),
        ((0.6, 0.9), 0.0),
        ((-math.inf, math.inf), 1.0),
    ],
)
def test_a_share_beside_many_alike_samples(between: tuple[float, float], share: float) -> None:
    found = of_distribution(Quantity("delay_s", between=between), LEVELS, VALUES)
    assert found == pytest.approx(share, abs=1e-9)


def test_of_no_samples_there_is_no_share() -> None:
    nothing = np.full(LEVELS.size, np.nan)
    assert math.isnan(of_distribution(Quantity("delay_s", between=(0.1, 0.2)), LEVELS, nothing))
