"""Rows of a trace against an independent, sampled reckoning of the same line."""

import itertools

import numpy as np
import pytest

from gauntlet.scenario import Scenario, Trace, load_scenario
from gauntlet.scenario.radio import lte_data


def eq1_bps(mcs: str, sharers: int) -> float:
    """D3.4 eq. (1) from the name of the scheme alone."""
    modulation, rate = mcs.split()
    bits = {"QPSK": 2, "16QAM": 4, "64QAM": 6}[modulation]
    over, under = map(int, rate.split("/"))
    return 78 / sharers * bits * over / under * 14_000


@pytest.mark.parametrize("line", ["hsr", "regional"])
@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_every_rate_is_eq_1(line: str, scale: float) -> None:
    trace = load_scenario(line, {"ip_scale": scale}).trace
    for row in trace.table.to_pylist():
        assert row["rate_up_bps"] == pytest.approx(scale * eq1_bps(row["mcs"], row["sharers"]))
        assert row["rate_down_bps"] == row["rate_up_bps"]


def test_metro_shares_the_mode_of_table_7(metro: Scenario) -> None:
    for row in metro.trace.table.to_pylist():
        assert row["rate_up_bps"] == pytest.approx(float(row["mcs"].split()[1]) * 1e6 / row["sharers"])


def test_cell_and_sharers_agree_with_positions_of_all_trains(on_line: Scenario) -> None:
    """Every train is looked up at random instants; instants at a border of a cell are left out."""
    line = on_line.line
    assert line is not None
    borders_km = np.array([cell.from_km for cell in line.cells] + [line.length_km])
    checked = 0
    for t_s in np.random.default_rng(1).uniform(0, on_line.duration_s, 600).tolist():
        on_track = [t for t in line.trains if t.departure_s <= t_s <= t.departure_s + t.journey.arrival_s]
        positions_km = np.array([train.km_at(t_s) for train in on_track])
        if np.abs(positions_km[:, None] - borders_km[None, :]).min() < 1e-3:
            continue
        cells = np.searchsorted(borders_km, positions_km) - 1
        row = on_line.trace.at(t_s)
        assert row.cell == line.cells[cells[0]].name
        assert row.sharers == int(np.sum(cells == cells[0]))
        checked += 1
    assert checked > 400


def test_mcs_follows_from_the_distance_to_the_serving_cell(hsr: Scenario) -> None:
    line = hsr.line
    assert line is not None
    reach_km = {mcs.name: mcs.suburban[0] for mcs in lte_data().radii_km.mcs}
    names = sorted(reach_km, key=lambda name: reach_km[name])
    cell = next(c for c in line.cells if c.area == "suburban" and c.zones_ahead == c.zones_back)
    for distance_km in np.linspace(-3.9, 3.9, 41).tolist():
        row = hsr.trace.at(line.reference.journey.time_at(cell.km + distance_km))
        assert row.cell == cell.name
        assert row.mcs == next(name for name in names if abs(distance_km) <= reach_km[name])


def test_rows_differ_from_their_neighbours(on_line: Scenario) -> None:
    rows = on_line.trace.table.select(["cell", "mcs", "sharers"]).to_pylist()
    assert all(a != b for a, b in itertools.pairwise(rows))


def test_positions_and_speeds_are_those_of_the_journey(on_line: Scenario) -> None:
    assert on_line.line is not None
    km = on_line.trace.column("km")
    assert np.all(np.diff(km) >= 0)
    for row in on_line.trace.table.to_pylist()[::25]:
        assert row["km"] == pytest.approx(on_line.line.reference.km_at(row["t_s"]), abs=1e-5)


def test_same_seed_same_table() -> None:
    def table(seed: int) -> Trace:
        return load_scenario("hsr", {"loss": "0.1%"}, seed=seed).trace

    assert table(5).table.equals(table(5).table)
    assert not table(5).table.equals(table(6).table)
    assert (
        table(5)
        .table.drop_columns(["delay_up_s", "delay_down_s"])
        .equals(table(6).table.drop_columns(["delay_up_s", "delay_down_s"]))
    )


def test_loss_and_queue_reach_every_row() -> None:
    trace = load_scenario("regional", {"loss": "1%", "queue_limit": "64kB"}).trace
    assert set(trace.column("loss_up")) == set(trace.column("loss_down")) == {0.01}
    assert set(trace.column("queue_limit_bytes")) == {64_000}


def test_opposite_trains_may_drive_their_own_profile() -> None:
    line = load_scenario("hsr", {"opposite": "own"}).line
    assert line is not None
    back = next(train for train in line.trains if not train.outbound)
    slow_end_s = back.departure_s + back.journey.arrival_s
    assert back.km_at(slow_end_s - 60) < 2, "into Rome it crawls through the section of 75 km/h"
    same = load_scenario("hsr").line
    assert same is not None
    mirrored = next(train for train in same.trains if not train.outbound)
    assert mirrored.journey is same.reference.journey
