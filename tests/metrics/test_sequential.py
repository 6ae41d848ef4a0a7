"""Repetitions until a mean is known closely enough: known numbers, and the error rate by simulation."""

import math
from itertools import pairwise

import numpy as np
import pytest

from gauntlet.metrics.sequential import closeness, half_width, looks

VALUES = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
"""Mean 3.5, standard deviation √3.5, so that the standard error is √(3.5 / 6)."""
T_5 = {0.05: 2.5706, 0.02: 3.3649, 0.01: 4.0321}
"""Two-sided quantiles of Student's t with five degrees of freedom, from a printed table."""


def test_it_is_looked_at_half_as_many_again() -> None:
    assert list(looks(6, 40)) == [(1, 6), (2, 9), (3, 14), (4, 21), (5, 32), (6, 40)]
    assert list(looks(10, 10)) == [(1, 10)]
    assert list(looks(10, 4)) == [(1, 4)]


@pytest.mark.parametrize(("look", "alpha", "of_table"), [(1, 0.1, 0.05), (1, 0.02, 0.01), (2, 0.12, 0.02)])
def test_a_look_has_its_share_of_the_error_rate(look: int, alpha: float, of_table: float) -> None:
    """The first has half of it, the second a sixth."""
    expected = T_5[of_table] * math.sqrt(3.5 / 6)
    assert half_width(VALUES, look, alpha) == pytest.approx(expected, rel=1e-4)
    assert closeness(VALUES, look, alpha) == pytest.approx(expected / 3.5, rel=1e-4)


def test_the_shares_of_all_looks_are_the_whole() -> None:
    shares = [1 / (look * (look + 1)) for look in range(1, 10_000)]
    assert sum(shares) == pytest.approx(1.0, abs=1e-3)
    widths = [half_width(VALUES, look) for look in range(1, 9)]
    assert all(earlier < later for earlier, later in pairwise(widths))


def test_what_cannot_be_related_to_a_mean() -> None:
    assert closeness([2.0, 2.0], 1) == 0.0
    assert closeness([0.0, 0.0], 1) == 0.0
    assert closeness([-1.0, 1.0], 1) == math.inf
    assert closeness([1.0], 1) == math.inf
    assert closeness([-3.0, -5.0], 1) == closeness([3.0, 5.0], 1)


def test_stopping_at_the_first_narrow_interval_errs_no_more_than_is_said() -> None:
    """400 campaigns of normal values that stop when the mean is known to ±20 %; looking after every
    repetition with the whole error rate each time errs more often.
    """
    rng = np.random.default_rng(20261127)
    trials, true, wrong, naively_wrong = 400, 10.0, 0, 0
    for _ in range(trials):
        values = rng.normal(true, 5.0, 200)
        for look, count in looks(6, 200):
            if closeness(values[:count], look) <= 0.2:
                break
        wrong += abs(values[:count].mean() - true) > half_width(values[:count], look)
        for count in range(3, 201):
            # The first look with twice the error rate has the whole of it.
            if closeness(values[:count], 1, 0.1) <= 0.2:
                break
        naively_wrong += abs(values[:count].mean() - true) > half_width(values[:count], 1, 0.1)
    allowed = 0.05 + 3 * math.sqrt(0.05 * 0.95 / trials)
    assert wrong / trials <= allowed
    assert naively_wrong > wrong
