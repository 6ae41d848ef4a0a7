"""Survival curves: who is not served counts, and the mean up to the limit is what clients wait."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.attack.requests import mean_of_served_s
from gauntlet.attack.survival import curve
from tests.attack.factory import request

DELAYS = st.lists(st.one_of(st.none(), st.floats(0.001, 9.999)), min_size=1, max_size=40)


def test_a_curve_by_hand() -> None:
    found = curve([1.0, 2.0, None, 4.0], 5.0)
    assert (found.n, found.served) == (4, 3)
    assert [(step.time_s, step.unserved) for step in found.steps] == [(1.0, 0.75), (2.0, 0.5), (4.0, 0.25)]
    assert found.restricted_mean_s == pytest.approx(1 + 0.75 + 2 * 0.5 + 0.25)
    assert found.quantile_s(0.5) == 2.0
    assert found.quantile_s(0.9) is None
    assert [found.unserved(at) for at in (0.5, 1.0, 3.0, 9.0)] == [1.0, 0.75, 0.5, 0.25]


def test_the_interval_is_that_of_the_exponential_greenwood_formula() -> None:
    """For the first of four without a censored one before it: S = 3/4, variance of log(-log S) by hand."""
    step = curve([1.0, 2.0, None, 4.0], 5.0).steps[0]
    spread = 1.959964 * math.sqrt(1 / (4 * 3)) / abs(math.log(0.75))
    middle = math.log(-math.log(0.75))
    assert step.low == pytest.approx(math.exp(-math.exp(middle + spread)), rel=1e-4)
    assert step.high == pytest.approx(math.exp(-math.exp(middle - spread)), rel=1e-4)


def test_who_is_never_served_makes_the_mean_of_the_served_look_good() -> None:
    delays: list[float | None] = [0.1] * 5 + [None] * 5
    assert mean_of_served_s([request(0.0, it, "timeout") for it in delays]) == pytest.approx(0.1)
    assert curve(delays, 10.0).restricted_mean_s == pytest.approx(5.05)


def test_nobody_served_and_everybody_served() -> None:
    nobody = curve([None, None], 3.0)
    assert (nobody.steps, nobody.restricted_mean_s, nobody.quantile_s(0.01)) == ((), 3.0, None)
    everybody = curve([0.5, 0.5], 3.0)
    assert everybody.unserved(0.5) == 0.0
    assert everybody.restricted_mean_s == pytest.approx(0.5)
    with pytest.raises(ValueError, match="at least one request"):
        curve([], 3.0)


def test_a_request_that_ended_after_the_limit_is_not_served() -> None:
    assert curve([1.0, 7.0], 5.0).served == 1
    assert curve([1.0, 5.0], 5.0).served == 2, "at the limit it is"


@given(DELAYS)
def test_the_mean_up_to_the_limit_is_the_mean_of_what_clients_wait(delays: list[float | None]) -> None:
    """Where nothing is censored before the limit the estimate is the plain mean of min(delay, limit)."""
    waits = [10.0 if it is None else it for it in delays]
    assert curve(delays, 10.0).restricted_mean_s == pytest.approx(sum(waits) / len(waits))


@given(DELAYS)
def test_a_curve_falls_and_stays_within_its_interval(delays: list[float | None]) -> None:
    steps = curve(delays, 10.0).steps
    shares = [1.0, *(step.unserved for step in steps)]
    assert all(before > after for before, after in pairwise(shares))
    assert all(0 <= step.low <= step.unserved <= step.high <= 1 for step in steps)
