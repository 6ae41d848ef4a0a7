"""Shares from kept quantiles: many alike samples are no slope."""

import math

import numpy as np
import pytest

from gauntlet.metrics.message_quantiles import LEVELS as OF_MESSAGES
from gauntlet.metrics.quantity import End, Quantity, of_distribution

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


@pytest.mark.parametrize(
    ("between", "ends"),
    [
        ((0.25, math.inf), (0.3, 0.4)),
        ((0.35, math.inf), (0.0, 0.1)),
        ((0.15, 0.25), (0.0, 0.2)),
        ((math.nextafter(0.3, 1), math.inf), (0.0, 0.1)),
        ((math.nextafter(0.5, 1), math.inf), (0.0, 0.0)),
        ((0.05, math.inf), (1.0, 1.0)),
    ],
)
def test_a_share_lies_between_the_kept_levels_beside_its_values(
    between: tuple[float, float], ends: tuple[float, float]
) -> None:
    found = [of_distribution(Quantity("delay_s", between=between, end=it), LEVELS, VALUES) for it in End]
    assert found == pytest.approx(ends, abs=1e-9)


def test_whatever_the_samples_are_the_share_lies_between_its_ends_give_or_take_one() -> None:
    """Delays with a heavy tail, some of them alike; of many what is told is wrong by more than one."""
    draws = np.random.default_rng(5)
    wrong = 0
    for count in (1, 2, 7, 100, 1200, 5000) * 20:
        samples = np.round(0.05 * draws.pareto(1.2, count), draws.integers(1, 6))
        kept = np.quantile(samples, OF_MESSAGES)
        for deadline_s in draws.choice(samples, 5) + draws.choice([0.0, 1e-3, 0.1]):
            of = (math.nextafter(deadline_s, math.inf), math.inf)
            told = of_distribution(Quantity("delay_s", between=of), OF_MESSAGES, kept)
            least, most = (
                of_distribution(Quantity("delay_s", between=of, end=it), OF_MESSAGES, kept) for it in End
            )
            share = float(np.mean(samples > deadline_s))
            assert least - 1e-12 <= told <= most + 1e-12
            assert least - 1.001 / count <= share <= most + 1.001 / count
            wrong += abs(told - share) > 1 / count
    assert wrong > 100


def test_a_single_slow_message_is_told_as_many_within_its_ends() -> None:
    """One of 10,000 messages takes 20 s, all others 0.1 s."""
    kept = np.quantile([*[0.1] * 9999, 20.0], OF_MESSAGES)
    told, least, most = (
        of_distribution(Quantity("delay_s", between=(1.0, math.inf), end=it), OF_MESSAGES, kept)
        for it in (None, *End)
    )
    assert told == pytest.approx(0.00095, abs=1e-5)
    assert (least, most) == (0.0, pytest.approx(0.001))
