"""The train of GEOGRAPHY: its Wi-Fi is in reach when the train of the same scenario passes the stations."""

import tomllib
from itertools import pairwise
from typing import Any

import pytest

from gauntlet.scenario import Scenario, load_scenario
from gauntlet.scenario.radio import wifi_data
from gauntlet.studies import study

STUDY = study("geography")
STATIONS = ("Figline Valdarno", "Incisa")
REACH_M = 300
"""How far 6 Mbit/s go (AB4Rail D3.4, Table 7)."""
DURATION_S = 180.0


def read(experiment: str) -> dict[str, Any]:
    return tomllib.loads(STUDY.experiment(experiment).file.read_text(encoding="utf-8"))


def link(experiment: str, name: str) -> dict[str, Any]:
    (found,) = (it for it in read(experiment)["network"]["link"] if it.get("name") == name)
    return dict(found)


def seconds(text: str) -> float:
    return float(text.removesuffix("s"))


def ridden(experiment: str) -> tuple[Scenario, float]:
    """The line of the cell's link, and where on it the run begins."""
    asked = link(experiment, "cell")["scenario"]
    params = {key: value for key, value in asked.items() if key not in ("name", "start")}
    return load_scenario(asked["name"], params, seed=1), seconds(asked["start"])


@pytest.mark.parametrize("experiment", ["train", "train-messages"])
def test_wifi_is_in_reach_while_the_train_of_the_line_is_near_a_station(experiment: str) -> None:
    line_of, start_s = ridden(experiment)
    line = line_of.line
    assert line is not None
    at_km = {it.name: it.km for it in line.stations}
    near = [
        line.reference.inside_s(at_km[name] - REACH_M / 1000, at_km[name] + REACH_M / 1000)
        for name in STATIONS
    ]
    up = [(round(begin_s - start_s, 1), round(end_s - start_s, 1)) for begin_s, end_s in near]
    away = link(experiment, "wifi")["down"]
    assert [(seconds(before[1]), seconds(after[0])) for before, after in pairwise(away)] == up
    assert (away[0][0], away[-1][1]) == ("0s", read(experiment)["experiment"]["limit"])
    passed = {
        it.name for it in line.stations if 0 < line.reference.journey.time_at(it.km) - start_s < DURATION_S
    }
    assert passed == set(STATIONS), "every station of the stretch has its access point"


def test_the_rate_of_wifi_is_that_of_its_reach() -> None:
    rate_mbps = int(link("train", "wifi")["rate"].removesuffix("Mbit/s"))
    assert {it.range_m for it in wifi_data().mode if it.rate_mbps == rate_mbps} == {REACH_M}


def test_cell_and_satellite_together_have_less_than_what_tells_that_wifi_carries() -> None:
    """The bound of train-mptcp-uses-wifi, and the numbers of its threshold."""
    line_of, start_s = ridden("train")
    stretch = line_of.trace.window(start_s, DURATION_S + 1)
    cell_bps = stretch.column("rate_up_bps")
    assert float(cell_bps.max()) == pytest.approx(5.2416e6)
    assert float(cell_bps.min()) == pytest.approx(0.7280e6)
    satellite_bps = 1e6 * int(link("train", "orbit")["scenario"]["rate_up"].removesuffix("Mbit/s"))
    assert float(cell_bps.max()) + satellite_bps < 8e6
    away = link("train", "wifi")["down"]
    for before, after in pairwise(away):
        begin_s, end_s = seconds(before[1]), seconds(after[0])
        near = line_of.trace.window(start_s + begin_s, end_s - begin_s)
        assert float(near.column("rate_up_bps").max()) < 3.5e6


def test_both_experiments_of_the_train_have_the_same_bearers() -> None:
    for name in ("cell", "orbit", "wifi"):
        alone, beside = link("train", name), link("train-messages", name)
        assert (alone.pop("between")[0], beside.pop("between")[0]) == ("train", "gateway")
        assert alone == beside
    assert read("train")["matrix"] == read("train-messages")["matrix"]
