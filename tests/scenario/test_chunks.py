"""Chunks: by seed, inside the line, evenly along the track."""

from pathlib import Path

import numpy as np
import pytest

from gauntlet.errors import UserError
from gauntlet.scenario import Scenario, chunks, load_scenario, stratum
from gauntlet.scenario.trace import REQUIRED


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


def test_repetitions_are_spread_evenly_along_the_track(regional: Scenario) -> None:
    """Eight begin in eight different eighths, whatever the seed; by chance alone some are left out."""
    assert regional.line is not None
    reference = regional.line.reference
    latest_km = reference.km_at(regional.duration_s - 600)
    orders = set()
    for seed in range(20):
        parts = [stratum(seed, repetition) for repetition in range(1, 9)]
        starts = [chunks(regional, 600, 1, seed=seed + k, part=part)[0] for k, part in enumerate(parts)]
        eighths = [int(8 * reference.km_at(chunk.start_s) / latest_km) for chunk in starts]
        assert eighths == [8 * place // count for place, count in parts]
        assert sorted(eighths) == list(range(8))
        assert len({eighth // 4 for eighth in eighths[:2]}) == 2
        assert len({eighth // 2 for eighth in eighths[:4]}) == 4
        orders.add(tuple(eighths))
    assert len(orders) > 10


def test_no_two_repetitions_share_a_part_and_each_place_is_as_likely() -> None:
    assert len({stratum(7, repetition) for repetition in range(1, 2001)}) == 2000
    first = [place / count for place, count in (stratum(seed, 1) for seed in range(1000))]
    # The mean of 1,000 places has a standard deviation of 0.0091; five of them on either side.
    assert abs(np.mean(first) - 0.5) < 5 * 0.0091
    assert np.histogram(first, bins=10, range=(0, 1))[0].min() > 60


def test_a_mean_over_spread_repetitions_is_better_than_over_drawn_ones() -> None:
    """Of a place's square, ten at a time: over 300 seeds the error is less than 0.4 of that by chance."""
    truth = 1 / 3
    spread, drawn = [], []
    for seed in range(300):
        within = np.random.default_rng(seed).random((2, 10))
        places = [(stratum(seed, it + 1)[0] + within[0, it]) / 16384 for it in range(10)]
        spread.append(np.mean(np.square(places)) - truth)
        drawn.append(np.mean(np.square(within[1])) - truth)
    assert np.std(spread) < 0.4 * np.std(drawn)


def test_a_link_without_end_has_its_chunks_at_the_start() -> None:
    assert [chunk.start_s for chunk in chunks(load_scenario("constant"), 60, 3, seed=1)] == [0, 0, 0]


def _recorded(folder: Path, *last: str) -> Scenario:
    rows = [f"{t_s},{1000000 + t_s},2000000,0.02,0.02,0,0,512000" for t_s in range(0, 300, 10)]
    path = folder / "own.csv"
    path.write_text("\n".join([",".join(REQUIRED), *rows, *last]) + "\n")
    return load_scenario(str(path))


def test_a_recorded_link_without_end_is_cut_up_to_its_last_row(tmp_path: Path) -> None:
    """Not the same stretch in every repetition, which would be one repetition."""
    starts = [chunk.start_s for chunk in chunks(_recorded(tmp_path), 60, 200, seed=1)]
    assert len(set(starts)) > 190
    assert 0 <= min(starts) < 20
    assert 210 < max(starts) <= 290 - 60


def test_a_recorded_link_without_end_that_is_too_short_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no '# end_s'.*last row, for 290 s.*too short for chunks of 600 s"):
        chunks(_recorded(tmp_path), 600, 1, seed=1)
    assert len(chunks(_recorded(tmp_path, "# end_s=900"), 600, 3, seed=1)) == 3


def test_a_constant_link_with_an_end_is_cut_evenly_in_time() -> None:
    starts = [c.start_s for c in chunks(load_scenario("constant", {"duration": 1000}), 100, 500, seed=1)]
    assert 0 <= min(starts) < 30
    assert 870 < max(starts) <= 900


@pytest.mark.parametrize(("duration_s", "count"), [(5000, 1), (0, 1), (60, 0)])
def test_impossible_chunks(hsr: Scenario, duration_s: float, count: int) -> None:
    with pytest.raises(UserError, match=r"too short|above 0"):
        chunks(hsr, duration_s, count, seed=1)
