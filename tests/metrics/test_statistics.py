"""Bands, intervals and tests do what their names promise: coverage and error rates by simulation, with fixed
seeds.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.metrics.compare import against_best
from gauntlet.metrics.ecdf import Cdf, dkw_half_width, ecdf, ecdf_of_quantiles, effective_samples
from gauntlet.metrics.intervals import mean, typical_mean
from gauntlet.metrics.observation import Observation
from gauntlet.metrics.steps import Floats

TRIALS = 300


def covers(cdf: Cdf | None, truth: Floats) -> bool:
    """Whether the band holds the true distribution (a large sorted sample) at every value of the curve."""
    assert cdf is not None
    true = np.searchsorted(truth, cdf.values, side="right") / truth.size
    return bool(np.all((cdf.low <= true + 1e-9) & (true <= cdf.high + 1e-9)))


def clustered(rng: np.random.Generator, repetitions: int, size: int, between: float) -> list[Floats]:
    """Repetitions whose values share an offset of their own: they are anything but independent."""
    return [rng.normal(rng.normal(0, between), 1, size) for _ in range(repetitions)]


@pytest.mark.parametrize(("repetitions", "between"), [(3, 1.0), (5, 1.0), (10, 0.5), (10, 2.0), (20, 1.0)])
def test_band_covers_clustered_values(repetitions: int, between: float) -> None:
    rng = np.random.default_rng(1)
    truth = np.sort(rng.normal(0, np.hypot(1, between), 200_000))
    hits = sum(covers(ecdf(clustered(rng, repetitions, 100, between)), truth) for _ in range(TRIALS))
    assert hits / TRIALS >= 0.95


def test_counting_every_value_would_not_cover() -> None:
    """The mistake that the effective size avoids is real: a band for n = all values mostly misses."""
    rng = np.random.default_rng(2)
    truth = np.sort(rng.normal(0, np.hypot(1, 1), 200_000))
    hits = 0
    for _ in range(TRIALS):
        cdf = ecdf(clustered(rng, 10, 100, 1.0))
        assert cdf is not None
        naive = dkw_half_width(cdf.samples)
        true = np.searchsorted(truth, cdf.values, side="right") / truth.size
        hits += bool(np.all(np.abs(cdf.probability - true) <= naive))
    assert hits / TRIALS < 0.3


def test_independent_values_are_worth_much_more_than_their_repetitions() -> None:
    rng = np.random.default_rng(3)
    worth = np.median([effective_samples(clustered(rng, 10, 100, 0.0)) for _ in range(100)])
    assert 200 < worth <= 1000
    alike = np.median([effective_samples(clustered(rng, 10, 100, 5.0)) for _ in range(100)])
    assert alike < 20


@given(st.lists(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), min_size=1, max_size=6))
def test_a_distribution_is_one(repetitions: list[list[float]]) -> None:
    cdf = ecdf([np.array(values) for values in repetitions])
    assert cdf is not None
    assert np.all(np.diff(cdf.probability) >= -1e-12)
    assert cdf.probability[-1] == pytest.approx(1)
    assert np.all(cdf.low <= cdf.probability)
    assert np.all(cdf.probability <= cdf.high)
    assert len(repetitions) <= cdf.effective_samples <= max(len(repetitions), cdf.samples)


def test_no_values_no_distribution() -> None:
    assert ecdf([np.empty(0)]) is None
    assert ecdf_of_quantiles(np.array([0.0, 1.0]), [], []) is None


def test_from_quantiles_is_close_to_from_values() -> None:
    rng = np.random.default_rng(4)
    samples = clustered(rng, 6, 5000, 1.0)
    levels = np.linspace(0, 1, 201)
    stored = ecdf_of_quantiles(levels, [np.quantile(values, levels) for values in samples], [5000] * 6)
    full = ecdf(samples)
    assert stored is not None
    assert full is not None
    assert stored.effective_samples == pytest.approx(full.effective_samples, rel=0.3)
    assert np.interp(full.values, stored.values, stored.probability) == pytest.approx(
        full.probability, abs=0.02
    )


@pytest.mark.parametrize("count", [2, 3, 5, 8, 15])
def test_interval_of_the_mean_covers(count: int) -> None:
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(TRIALS):
        found = mean(rng.normal(10, 2, count))
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= 10 <= found.high
    assert 0.91 <= hits / TRIALS <= 0.985


def test_one_repetition_has_no_interval_and_the_same_values_give_the_same_interval() -> None:
    assert mean([3.0]).low is None
    values = np.random.default_rng(6).exponential(1, 12)
    assert mean(values) == mean(values)
    assert mean(values).method == "bootstrap"
    with pytest.raises(ValueError, match="at least one"):
        mean([])


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=12))
def test_the_interval_of_a_report_keeps_to_what_was_seen(values: list[float]) -> None:
    found = typical_mean(values)
    assert found.low is not None
    assert found.high is not None
    assert min(values) - 1e-6 <= found.low <= found.value + 1e-6
    assert found.value - 1e-6 <= found.high <= max(values) + 1e-6


@pytest.mark.parametrize(("count", "share"), [(2, 0.5), (3, 0.75), (5, 0.9375), (6, 0.96875), (7, 0.953125)])
def test_means_of_subsets_cover_as_often_as_they_say(count: int, share: float) -> None:
    """Exactly so where values are symmetric; four standard errors of the simulation are allowed."""
    rng = np.random.default_rng(7)
    hits = 0
    for _ in range(4 * TRIALS):
        found = typical_mean(rng.laplace(10, 2, count))
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= 10 <= found.high
    tolerance = 4 * np.sqrt(share * (1 - share) / (4 * TRIALS))
    assert hits / (4 * TRIALS) == pytest.approx(share, abs=tolerance)


def test_what_the_stretch_does_to_all_cancels_out() -> None:
    """A difference of 1 shows under a spread of 100 between stretches, because pairs are compared."""
    rng = np.random.default_rng(8)
    stretch = rng.normal(0, 100, 6)
    values = {
        name: {number: Observation(float(value)) for number, value in enumerate(each)}
        for name, each in (
            ("good", stretch + 1 + rng.normal(0, 0.1, 6)),
            ("bad", stretch + rng.normal(0, 0.1, 6)),
            ("same", stretch + 1 + rng.normal(0, 0.1, 6)),
        )
    }
    standings = against_best(values, higher_is_better=True)
    best = next(name for name, standing in standings.items() if standing.best)
    assert best in {"good", "same"}
    assert standings["bad"].distinguishable is True
    assert not standings["good"].distinguishable
    assert not standings["same"].distinguishable
    assert next(v.name for v in against_best(values, higher_is_better=False).values() if v.best) == "bad"


def test_one_repetition_decides_nothing() -> None:
    standings = against_best({"a": {1: Observation(5.0)}, "b": {1: Observation(1.0)}}, higher_is_better=True)
    assert standings["a"].best
    assert standings["b"].distinguishable is None
    assert against_best({"a": {}}, higher_is_better=True) == {}
