"""A mean that is freed of what a covariate explains: narrower, and as often right as it says."""

import numpy as np
import numpy.typing as npt
import pytest

from gauntlet.metrics.adjusted import ADJUSTED, adjusted
from gauntlet.metrics.intervals import mean
from gauntlet.metrics.steps import Floats

PLACES = 4000


def line(seed: int) -> Floats:
    """A long-tailed number of each place, as the time that a file takes along a railway."""
    return np.asarray(np.random.default_rng(seed).lognormal(0.0, 0.6, PLACES))


def rides(count: int, seed: int, *, stratified: bool) -> list[npt.NDArray[np.int64]]:
    """Places of many studies of `count` repetitions."""
    draw = np.random.default_rng(seed)
    if not stratified:
        return [draw.integers(0, PLACES, count) for _ in range(1500)]
    return [((np.arange(count) + draw.random(count)) / count * PLACES).astype(np.int64) for _ in range(1500)]


@pytest.mark.parametrize("stratified", [False, True])
@pytest.mark.parametrize("count", [10, 20])
@pytest.mark.parametrize("bent", [1.0, 0.5], ids=["straight", "bent"])
def test_its_interval_is_narrower_and_holds_the_truth_as_often_as_it_says(
    bent: float, count: int, stratified: bool
) -> None:
    """A time that is mostly the line's own, with scatter of its own that grows with it: once in proportion to
    the covariate, once as its root, which no straight line fits; that costs 4 % of the 95, as long tails cost
    the plain mean of the first. Of 1,500 studies a standard deviation is 0.6 %.
    """
    own = line(1)
    truth = own**bent
    noise = np.random.default_rng(2)
    held = plain_held = 0
    widths, plain_widths = [], []
    for ride in rides(count, 3, stratified=stratified):
        seen = truth[ride] * (1 + 0.05 * noise.standard_normal(count))
        found, plain = adjusted(seen, [(own[ride], own.mean())]), mean(seen)
        assert found.low is not None and found.high is not None and found.method == ADJUSTED
        assert plain.low is not None and plain.high is not None
        held += found.low <= truth.mean() <= found.high
        plain_held += plain.low <= truth.mean() <= plain.high
        widths.append(found.high - found.low)
        plain_widths.append(plain.high - plain.low)
    assert held / 1500 > (0.93 if bent == 1 else 0.90)
    if bent == 1:
        assert held > plain_held
    assert np.median(widths) < 0.5 * np.median(plain_widths)


def test_a_covariate_that_explains_nothing_costs_little() -> None:
    """Of 20 repetitions one degree of freedom, and what HC3 allows for."""
    draw = np.random.default_rng(4)
    wider = []
    for _ in range(500):
        seen, other = draw.standard_normal(20), draw.standard_normal(20)
        found, plain = adjusted(seen, [(other, 0.0)]), mean(seen)
        assert found.low is not None and found.high is not None
        assert plain.low is not None and plain.high is not None
        wider.append((found.high - found.low) / (plain.high - plain.low))
    assert np.median(wider) < 1.15


def test_it_is_read_where_the_covariate_has_its_true_mean() -> None:
    """All ten rode slow places, of 1 to 2 where the line has 3: the value at 3 is told, not their mean."""
    own = np.linspace(1.0, 2.0, 10)
    found = adjusted(2 * own + np.tile([0.01, -0.01], 5), [(own, 3.0)])
    assert found.value == pytest.approx(6.0, abs=0.05)
    assert found.low is not None and found.low > 5.8


def test_two_covariates_each_take_their_part_and_the_same_one_twice_takes_it_once() -> None:
    draw = np.random.default_rng(5)
    one, other = draw.random(12), draw.random(12)
    seen = one - other + 0.001 * draw.standard_normal(12)
    found = adjusted(seen, [(one, 0.5), (other, 0.2)])
    assert found.value == pytest.approx(0.3, abs=0.005)
    assert adjusted(one, [(one, 0.5), (one, 0.5)]).value == pytest.approx(0.5)
    assert adjusted(seen, [(one, 0.5), (one, 0.5)]) == adjusted(seen, [(one, 0.5)])


@pytest.mark.parametrize(
    ("count", "own"),
    [(7, list(range(7))), (10, [2.0] * 10), (10, [1.0] * 9 + [2.0])],
    ids=["few", "all alike", "one alone tells them apart"],
)
def test_where_nothing_can_be_fitted_it_is_the_plain_mean(count: int, own: list[float]) -> None:
    seen = np.random.default_rng(6).random(count)
    assert adjusted(seen, [(own, 1.0)]) == mean(seen)
    assert adjusted(seen, []) == mean(seen)
