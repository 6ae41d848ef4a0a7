"""Chunks: by seed, inside the line, evenly along the track."""

import numpy as np
import pytest

from gauntlet.errors import UserError
from gauntlet.scenario import Scenario, chunks, load_scenario


def test_same_seed_same_chunks(hsr: Scenario) -> None:
    assert chunks(hsr, seed=4) == chunks(hsr, seed=4)
    assert chunks(hsr, seed=4) != chunks(hsr, seed=5)
    assert chunks(hsr, count=3, seed=4) == chunks(hsr, count=10, seed=4)[:3]


def test_chunks_can_be_cut(on_line: Scenario) -> None:
    for chunk in chunks(on_line, 600, 10, seed=1):
        assert chunk.duration_s == 600
        assert on_line.trace.window(chunk.start_s, chunk.duration_s).end_s == 600


def test_starts_are_even_along_the_track_not_in_time(regional: Scenario) -> None:
    """The train stands for 40 of 209 min, but hardly a chunk begins at one of its four stops."""
    assert regional.line is not None
    reference = regional.line.reference
    km = np.array([reference.km_at(chunk.start_s) for chunk in chunks(regional, 600, 2000, seed=9)])
    latest_km = reference.km_at(regional.duration_s - 600)
    counts, _ = np.histogram(km, bins=10, range=(0, latest_km))
    # Each count is binomial(2000, 1/10): standard deviation 13.4; five of them on either side.
    assert np.all(np.abs(counts - 200) < 5 * 13.4)
    at_stop = [abs(km - s.km) < 0.005 for s in regional.line.stations if s.stop_s]
    assert np.sum(at_stop) < 20


def test_a_link_without_end_has_its_chunks_at_the_start() -> None:
    assert [chunk.start_s for chunk in chunks(load_scenario("constant"), 60, 3, seed=1)] == [0, 0, 0]


def test_a_constant_link_with_an_end_is_cut_evenly_in_time() -> None:
    starts = [c.start_s for c in chunks(load_scenario("constant", {"duration": 1000}), 100, 500, seed=1)]
    assert 0 <= min(starts) < 30
    assert 870 < max(starts) <= 900


@pytest.mark.parametrize(("duration_s", "count"), [(5000, 1), (0, 1), (60, 0)])
def test_impossible_chunks(hsr: Scenario, duration_s: float, count: int) -> None:
    with pytest.raises(UserError, match=r"too short|above 0"):
        chunks(hsr, duration_s, count, seed=1)
