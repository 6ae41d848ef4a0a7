"""The values that AB4Rail D3.4 prints about its lines, cells and rates."""

import itertools

import numpy as np
import pytest

from gauntlet.scenario import Scenario, load_scenario
from gauntlet.scenario.radio import average_bps, capacity_bps, lte_data, lte_zones

IP_SCALE = 72 * 12 / (78 * 14)
"""Resource elements a millisecond that carry user data over those of eq. (1); see docs/scenario-data.md."""


@pytest.mark.parametrize(("line", "count"), [("hsr", 31), ("regional", 41)])
def test_number_of_enbs(line: str, count: int) -> None:
    found = load_scenario(line).line
    assert found is not None
    assert len(found.cells) == count


def test_five_enbs_of_the_high_speed_line_are_urban(hsr: Scenario) -> None:
    assert hsr.line is not None
    urban = [cell.km for cell in hsr.line.cells if cell.area == "urban"]
    assert len(urban) == 5
    assert all(km < 20 or km > 242 for km in urban), "in Rome and Florence"


def test_first_and_last_enb_stand_at_the_terminal_stations(on_line: Scenario) -> None:
    assert on_line.line is not None
    assert on_line.line.cells[0].km == 0
    assert on_line.line.cells[-1].km == on_line.line.length_km


def test_lengths(hsr: Scenario, regional: Scenario, metro: Scenario) -> None:
    lengths = [s.line.length_km for s in (hsr, regional, metro) if s.line]
    assert lengths == [262, 312, 18.63]


def test_highest_rate_is_about_5_2_mbps(hsr: Scenario) -> None:
    """78 carriers and 14 symbols a millisecond; with the 72 of section 6.2.5 it would be 4.8."""
    assert hsr.max_rate_bps == 5_241_600
    assert load_scenario("hsr", {"subcarriers": 72}).max_rate_bps == 4_838_400


def test_average_of_one_train_alone_is_about_2_2_mbps() -> None:
    """Eq. (2) over the whole radius of Table 4, at the IP layer."""
    for area in ("urban", "suburban", "rural"):
        assert average_bps(lte_zones(area, "1.4", 78, IP_SCALE)) == pytest.approx(2.2e6, rel=0.03)


@pytest.mark.parametrize(
    ("mcs", "printed_mbps"),
    [
        ("16QAM 1/2", 1.73),
        ("16QAM 2/3", 2.3),
        ("16QAM 3/4", 2.59),
        ("16QAM 4/5", 2.76),
        ("QPSK 1/3", 0.58),
        ("QPSK 2/3", 1.15),
        ("64QAM 4/5", 4.15),
    ],
)
def test_ip_rates_of_figure_14_and_table_8(mcs: str, printed_mbps: float) -> None:
    bits = next(m.bits_per_symbol for m in lte_data().radii_km.mcs if m.name == mcs)
    assert round(capacity_bps(78, bits, IP_SCALE) / 1e6, 2) == printed_mbps


def test_mcs_at_handover_is_about_qpsk_3_4(hsr: Scenario) -> None:
    """Half of Table 5's distances lies within 3 % of the reach of QPSK 3/4 in Table 4."""
    spacing = lte_data().spacing_km
    for area in ("urban", "suburban", "rural"):
        reach_km = {zone.mcs: zone.reach_km for zone in lte_zones(area, "1.4", 78, 1.0)}
        assert spacing.of(area) / 2 == pytest.approx(reach_km["QPSK 3/4"], rel=0.03)
        assert spacing.of(area) / 2 < reach_km["QPSK 2/3"]


def test_cells_are_as_far_apart_as_table_5_says(hsr: Scenario, regional: Scenario) -> None:
    for scenario in (hsr, regional):
        assert scenario.line is not None
        gaps_km = np.diff([cell.km for cell in scenario.line.cells])
        exact = [round(float(gap), 6) in (3.36, 9.12, 9.6) for gap in gaps_km]
        assert gaps_km.max() <= 9.6 + 1e-9
        # What is left over where fillings meet, or before an urban area, may be shorter.
        assert exact.count(False) <= 5


def test_mostly_no_or_one_other_train_in_the_cell(hsr: Scenario, regional: Scenario) -> None:
    for scenario in (hsr, regional):
        assert scenario.trace.column("sharers").max() == 2
        assert 0.1 < scenario.trace.mean("sharers") - 1 < 0.3


def test_headway_of_5_min_gives_two_others_near_florence() -> None:
    trace = load_scenario("hsr", {"headway": "5min"}).trace
    crowded = trace.column("sharers") == 3
    assert trace.column("sharers").max() == 3
    assert trace.column("km")[crowded].min() > 240


def test_sharing_grows_as_headway_falls() -> None:
    means = [
        load_scenario("hsr", {"headway": headway}).trace.mean("sharers") for headway in (1200, 600, 300, 150)
    ]
    assert means == sorted(means)
    assert means[-1] > 1 + 3 * (means[0] - 1)


def test_high_speed_train_drives_250_from_settebagni_to_rovezzano(hsr: Scenario) -> None:
    assert hsr.line is not None
    journey = hsr.line.reference.journey
    assert journey.speed_kmh.max() == pytest.approx(250)
    fast_km = journey.km[journey.speed_kmh > 249.9]
    assert 16.4 < fast_km.min() < 25
    assert 250 < fast_km.max() < 255


def test_stops(regional: Scenario, metro: Scenario) -> None:
    assert regional.line is not None
    assert metro.line is not None
    stops = {s.name.split("-")[0]: s.stop_s for s in regional.line.stations if s.stop_s}
    assert stops == {"Orte": 600, "Chiusi": 600, "Terontola": 600, "Arezzo": 600}
    assert [s.stop_s for s in metro.line.stations] == [0, *[60] * 25, 0]


def test_headways(hsr: Scenario, regional: Scenario, metro: Scenario) -> None:
    assert [s.line.headway_s for s in (hsr, regional, metro) if s.line] == [600, 1500, 120]


def test_metro_uses_the_ofdm_modes_of_table_7(metro: Scenario) -> None:
    assert metro.max_rate_bps == 54e6
    modes = {str(mcs) for mcs in metro.trace.table.column("mcs").to_pylist()}
    assert modes == {f"OFDM {rate} Mbit/s" for rate in (6, 12, 18, 24, 36, 48, 54)}


@pytest.mark.parametrize(
    ("bandwidth", "carriers"), [("1.4MHz", 78), ("5MHz", 300), ("10MHz", 600), ("20MHz", 1200)]
)
def test_carriers_by_bandwidth(bandwidth: str, carriers: int) -> None:
    assert load_scenario("hsr", {"bandwidth": bandwidth}).max_rate_bps == carriers * 4.8 * 14_000


@pytest.mark.parametrize(("radio", "low_s", "high_s"), [("lte", 0.010, 0.020), ("nr", 0.005, 0.010)])
def test_latency_is_drawn_anew_at_each_change_of_mcs_only(radio: str, low_s: float, high_s: float) -> None:
    trace = load_scenario("hsr", {"radio": radio}, seed=3).trace
    mcs = trace.table.column("mcs").to_pylist()
    for column in ("delay_up_s", "delay_down_s"):
        delay_s = trace.column(column)
        assert low_s <= delay_s.min() < low_s + 0.05 * (high_s - low_s)
        assert high_s - 0.05 * (high_s - low_s) < delay_s.max() <= high_s
        changed = [bool(a != b) for a, b in itertools.pairwise(mcs)]
        assert (np.diff(delay_s) != 0).tolist() == changed
