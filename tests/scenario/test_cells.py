"""Where cells stand and what they serve, on lines made up for it."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.scenario import Scenario
from gauntlet.scenario.cells import Sites, access_point_sites, build_cells, enb_sites
from gauntlet.scenario.linefile import Area, AreaType
from gauntlet.scenario.radio import Zone, lte_data, lte_zones, wifi_zones

SPACING = lte_data().spacing_km.of
AREA_TYPES: list[AreaType] = ["urban", "suburban", "rural"]


def areas(*stretches: tuple[AreaType, float]) -> list[Area]:
    found, km = [], 0.0
    for area, length_km in stretches:
        found.append(Area(type=area, from_km=km, to_km=km + length_km, source="x"))
        km += length_km
    return found


def test_one_area_is_filled_from_the_terminus() -> None:
    sites = enb_sites(areas(("rural", 30.0)), 30.0, SPACING)
    assert sites.km == pytest.approx([0.0, 1.2, 10.8, 20.4, 30.0])


def test_city_at_both_ends_and_a_town_between() -> None:
    line = areas(("urban", 4), ("suburban", 20), ("urban", 3), ("rural", 40), ("urban", 4))
    sites = enb_sites(line, 71.0, SPACING)
    # 3.36 into the city, 9.12 twice, cut short at the town's edge at 24, 3.36 through the town, rural on.
    assert sites.km == pytest.approx([0, 3.36, 12.48, 21.6, 24, 27.36, 36.96, 46.56, 56.16, 65.76, 67.64, 71])
    assert sites.gaps[0] == sites.gaps[4] == sites.gaps[-1] == "urban"
    assert sites.gaps[1:4] == ["suburban"] * 3


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(AREA_TYPES), st.floats(1, 60)), min_size=1, max_size=8))
def test_every_line_is_covered_by_cells_within_table_5(stretches: list[tuple[AreaType, float]]) -> None:
    line = areas(*stretches)
    length_km = line[-1].to_km
    sites = enb_sites(line, length_km, SPACING)
    assert sites.km[0] == 0
    assert sites.km[-1] == length_km
    assert len(sites.gaps) == len(sites.km) - 1
    for gap_km, area in zip(np.diff(sites.km), sites.gaps, strict=True):
        assert 0 < gap_km <= SPACING(area) + 1e-9


def test_neighbours_meet_half_way_and_one_cell_may_reach_differently_far() -> None:
    near, far = (
        [Zone(1.0, "near", 2e6), Zone(9.0, "edge", 1e6)],
        [Zone(3.0, "far", 2e6), Zone(9.0, "edge", 1e6)],
    )
    cells = build_cells(
        Sites([0.0, 4.0, 12.0], ["urban", "rural"]),
        "eNB",
        lambda km: "rural",
        lambda area: near if area == "urban" else far,
    )
    assert [(cell.from_km, cell.to_km) for cell in cells] == [(0, 2), (2, 8), (8, 12)]
    assert [cell.name for cell in cells] == ["eNB 0", "eNB 1", "eNB 2"]
    middle = cells[1]
    assert [middle.zone_at(km).mcs for km in (2.5, 3.0, 4.0, 7.0, 7.5)] == [
        "edge",
        "near",
        "far",
        "far",
        "edge",
    ]
    assert middle.edges_km() == [2, 3, 7, 8]


def test_beyond_the_last_zone_the_last_one_holds() -> None:
    zones = [Zone(1.0, "in", 2e6), Zone(2.0, "out", 1e6)]
    cell = build_cells(Sites([0.0, 50.0], ["rural"]), "x", lambda km: "rural", lambda area: zones)[0]
    assert cell.zone_at(20).mcs == "out"


def test_cells_tile_the_line(on_line: Scenario) -> None:
    assert on_line.line is not None
    cells = on_line.line.cells
    assert cells[0].from_km == 0
    assert cells[-1].to_km == on_line.line.length_km
    assert all(a.to_km == b.from_km for a, b in itertools.pairwise(cells))


@given(st.floats(0.5, 60), st.floats(0.05, 1))
def test_access_points_keep_all_track_within_reach(length_km: float, reach_km: float) -> None:
    km = access_point_sites(length_km, reach_km).km
    assert (km[0], km[-1]) == (0, length_km)
    assert np.diff(km).max() <= 2 * reach_km + 1e-9
    assert len(km) == math.ceil(length_km / (2 * reach_km)) + 1


@pytest.mark.parametrize("bandwidth", ["1.4", "5", "10", "20"])
@pytest.mark.parametrize("area", AREA_TYPES)
def test_faster_schemes_reach_less_far(area: AreaType, bandwidth: str) -> None:
    zones = lte_zones(area, bandwidth, 78, 1.0)
    rates = [zone.rate_bps for zone in zones]
    assert len(zones) == 12
    assert rates == sorted(rates, reverse=True)


def test_rural_cells_reach_only_slightly_farther() -> None:
    for rural, suburban in zip(
        lte_zones("rural", "5", 300, 1), lte_zones("suburban", "5", 300, 1), strict=True
    ):
        assert rural.reach_km / suburban.reach_km == pytest.approx(9.6 / 9.12)


def test_wifi_zones_are_table_7() -> None:
    assert [(round(zone.reach_km * 1000), zone.rate_bps / 1e6) for zone in wifi_zones(1.0)] == [
        (36, 54), (45, 48), (72, 36), (103, 24), (155, 18), (211, 12), (300, 6), (388, 2), (550, 1),
    ]  # fmt: skip
