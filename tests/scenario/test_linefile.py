"""Line files of a user's own: a small one works, and what is wrong in one is named."""

from pathlib import Path

import pytest

from gauntlet.errors import UserError
from gauntlet.scenario import load_scenario
from gauntlet.scenario.linefile import Area, LineFile, Section, Sourced, Station, read_builtin
from gauntlet.scenario.radio import lte_data, wifi_data

OWN = """
title = "Branch line"
kind = "rail-lte"
[sources]
own = "measured by us"
[line]
length_km = { value = 20.0, source = "own" }
headway_s = { value = 1800, source = "own" }
accel_mps2 = { value = 0.5, source = "own" }
brake_mps2 = { value = 0.5, source = "own" }
[[section]]
from_km = 0.0
to_km = 20.0
limit_kmh = 100
source = "own"
[[station]]
name = "A"
km = 0.0
source = "own"
[[station]]
name = "B"
km = 8.0
stop_s = 60
stop_source = "own"
source = "own"
[[station]]
name = "C"
km = 20.0
source = "own"
[[area]]
type = "rural"
from_km = 0.0
to_km = 20.0
source = "own"
"""


def load(tmp_path: Path, text: str) -> None:
    path = tmp_path / "branch.toml"
    path.write_text(text)
    load_scenario(str(path))


def test_an_own_line(tmp_path: Path) -> None:
    path = tmp_path / "branch.toml"
    path.write_text(OWN)
    scenario = load_scenario(str(path), {"bandwidth": "5MHz"}, seed=3)
    assert scenario.title == "Branch line"
    assert scenario.line is not None
    assert [cell.km for cell in scenario.line.cells] == pytest.approx([0, 0.8, 10.4, 20])
    # 20 km at 100 km/h, a minute's stop, and half the time of each speeding up and braking.
    assert scenario.duration_s == pytest.approx(720 + 60 + 2 * 100 / 3.6 / 0.5, abs=0.01)


def test_the_place_of_a_line_file_does_not_matter(tmp_path: Path) -> None:
    tables = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "branch.toml"
        path.write_text(OWN)
        tables.append(load_scenario(str(path), seed=3).trace.table)
    assert tables[0].equals(tables[1])


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('kind = "rail-lte"', 'kind = "rail-lora"', ["'rail-lora'", "rail-lte, metro-wifi"]),
        ('kind = "rail-lte"', 'kind = "metro-wifi"', ["[wifi]", "max_reach_m"]),
        ('title = "Branch line"', "title = Branch", ["TOML", "line 2"]),
        ("value = 20.0", "value = -20.0", ["line.length_km.value", "greater than 0"]),
        ("value = 20.0", "value = nan", ["line.length_km.value", "finite"]),
        ("km = 8.0", "km = inf", ["station.1.km", "finite"]),
        ("headway_s", "headway", ["line.headway"]),
        ("to_km = 20.0\nlimit", "to_km = 19.0\nlimit", ["section ends at 19 km", "line at 20 km"]),
        ("from_km = 0.0\nto_km = 20.0\nlimit", "from_km = 1.0\nto_km = 20.0\nlimit", ["must begin at 0 km"]),
        ("limit_kmh = 100", "limit_kmh = 0", ["speed limit", "above 0"]),
        ("limit_kmh = 100", "limit_kmh = { A = 80 }", ["rank 'None'"]),
        ("km = 8.0", "km = 28.0", ["'C'", "'B'"]),
        ('name = "C"\nkm = 20.0', 'name = "C"\nkm = 19.0', ["the last at 20 km"]),
        ('stop_source = "own"\n', "", ["source ''", "[sources]"]),
        (
            'limit_kmh = 100\nsource = "own"',
            'limit_kmh = 100\nsource = "hearsay"',
            ["'hearsay'", "[sources]"],
        ),
        ('type = "rural"', 'type = "wild"', ["area.0.type", "'urban'"]),
        (
            'name = "C"\nkm = 20.0',
            'name = "C"\nkm = 20.0\nstop_s = 5\nstop_source = "own"',
            ["last station", "stop_s"],
        ),
    ],
)
def test_what_is_wrong_in_a_line_file_is_named(tmp_path: Path, old: str, new: str, words: list[str]) -> None:
    assert old in OWN
    with pytest.raises(UserError) as refused:
        load(tmp_path, OWN.replace(old, new, 1))
    for word in ["branch.toml", *words]:
        assert word in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_line_without_areas_cannot_have_lte(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no areas"):
        load(tmp_path, OWN[: OWN.index("[[area]]")])


def test_an_absent_line_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.toml cannot be read"):
        load_scenario(str(tmp_path / "none.toml"))


@pytest.mark.parametrize("name", ["hsr", "regional", "metro-a"])
def test_no_source_is_explained_without_being_used(name: str) -> None:
    """The reader refuses numbers without a source; this is the other way round."""
    line = read_builtin(name, LineFile)
    data = line.line
    numbers = [data.length_km, data.headway_s, data.accel_mps2, data.brake_mps2]
    numbers += [line.wifi.max_reach_m] if line.wifi else []
    rows: list[Sourced | Section | Station | Area] = [*numbers, *line.section, *line.station, *line.area]
    used = {row.source for row in rows}
    used |= {station.stop_source for station in line.station if station.stop_source}
    assert used == set(line.sources)


def test_sources_of_the_radio_data_are_explained() -> None:
    lte, wifi = lte_data(), wifi_data()
    capacity = lte.capacity
    used = {capacity.source, capacity.symbols_source, capacity.carriers_source, lte.queue.source}
    used |= {lte.spacing_km.source, lte.radii_km.source, lte.radii_km.rural_source}
    used |= {latency.source for latency in lte.latency.values()}
    assert used == set(lte.sources)
    assert {wifi.latency.source, wifi.queue.source, wifi.modes_source} == set(wifi.sources)
