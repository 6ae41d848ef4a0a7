"""Summary, figure data and pictures."""

import json
import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.image import imread

from gauntlet.errors import UserError
from gauntlet.scenario import Scenario, line_figure_data, load_scenario, summary
from gauntlet.scenario.plot import plot
from gauntlet.scenario.plot_view import view
from gauntlet.scenario.trace import REQUIRED


def test_summary_is_plain_and_true(on_line: Scenario) -> None:
    found = json.loads(json.dumps(summary(on_line), allow_nan=False))
    [figures] = found["bearers"].values()
    assert figures["rate_up_bps"]["mean"] == pytest.approx(on_line.trace.mean("rate_up_bps"))
    assert sum(figures["time_share_by_mcs"].values()) == pytest.approx(1)
    assert sum(int(n) * share for n, share in figures["time_share_by_sharers"].items()) == pytest.approx(
        on_line.trace.mean("sharers")
    )
    assert found["line"]["cells"] == sum(found["line"]["cells_by_area"].values())


def test_summary_of_a_link_without_end() -> None:
    found = json.loads(json.dumps(summary(load_scenario("constant")), allow_nan=False))
    assert found["duration_s"] is None
    assert found["bearers"]["link"]["rate_up_bps"] == {"min": 5.2e6, "mean": 5.2e6, "max": 5.2e6}
    assert found["line"] is None


def test_figure_data_agrees_with_the_scenario(on_line: Scenario) -> None:
    data = json.loads(json.dumps(line_figure_data(on_line), allow_nan=False))
    [bearer] = data["bearers"].values()
    assert bearer["t_s"] == on_line.trace.column("t_s").tolist()
    assert bearer["end_s"] == on_line.duration_s
    line, real = data["line"], on_line.line
    assert real is not None
    assert [cell["name"] for cell in line["cells"]] == [cell.name for cell in real.cells]
    for cell in line["cells"]:
        middle_s = (cell["from_s"] + cell["to_s"]) / 2
        assert on_line.trace.at(middle_s).cell == cell["name"]
    for station in line["stations"]:
        assert real.reference.km_at(station["t_s"]) == pytest.approx(station["km"], abs=0.02)
        assert real.reference.km_at(station["t_s"] + station["stop_s"]) == pytest.approx(
            station["km"], abs=0.02
        )
    for path, train in zip(line["trains"], real.trains[1:], strict=True):
        assert path["km"][50] == pytest.approx(train.km_at(path["t_s"][50]), abs=0.01)
        assert 0 <= min(path["t_s"]) <= max(path["t_s"]) <= on_line.duration_s + 1e-3


def texts(svg: Path) -> set[str]:
    found = ElementTree.parse(svg).iter("{http://www.w3.org/2000/svg}text")
    return {"".join(node.itertext()).strip() for node in found}


def test_picture_names_what_it_shows(tmp_path: Path) -> None:
    scenario = load_scenario("regional", {"loss": "1%"})
    shown = texts(plot(scenario, tmp_path / "a.svg"))
    for word in (
        "Rome-Florence, regional line",
        "Orte",
        "Arezzo",
        "Mbit/s",
        "ms, one way",
        "km/h",
        "Position, km",
    ):
        assert word in shown
    assert "Time since departure, min" in shown
    assert "loss up to 1 %" in " ".join(shown)
    along = texts(plot(scenario, tmp_path / "b.svg", axis="km"))
    assert "Position on the line, km" in along
    assert "Time since departure, min" not in along


def test_a_stretch_shows_its_stations_only(hsr: Scenario, tmp_path: Path) -> None:
    assert hsr.line is not None
    orte_s = hsr.line.reference.journey.time_at(71.1)
    shown = texts(plot(hsr, tmp_path / "a.svg", orte_s - 100, 200))
    assert "Orte" in shown
    assert "Orvieto" not in shown
    assert "Time since departure, s" in shown


def test_same_scenario_same_svg(hsr: Scenario, tmp_path: Path) -> None:
    first, second = plot(hsr, tmp_path / "a.svg").read_bytes(), plot(hsr, tmp_path / "b.svg").read_bytes()
    assert first == second


@pytest.mark.parametrize(("dark", "low", "high"), [(False, 0.8, 1.0), (True, 0.0, 0.25)])
def test_paper_is_light_or_dark(tmp_path: Path, dark: bool, low: float, high: float) -> None:
    pixels = imread(plot(load_scenario("constant"), tmp_path / "a.png", dark=dark))[..., :3]
    assert low <= float(np.median(pixels)) <= high
    assert pixels.std() > 0.03, "something is drawn"


def test_a_link_with_different_directions(tmp_path: Path) -> None:
    header = "t_s,rate_up_bps,rate_down_bps,delay_up_s,delay_down_s,loss_up,loss_down,queue_limit_bytes\n"
    (tmp_path / "own.csv").write_text(
        header + "0,1e6,5e6,0.01,0.3,0,0.1,64000\n9,1e6,2e6,0.01,0.3,0,0.1,64000\n"
    )
    shown = texts(plot(load_scenario(str(tmp_path / "own.csv")), tmp_path / "a.svg"))
    assert {"up", "down"} <= shown
    assert math.isinf(load_scenario(str(tmp_path / "own.csv")).duration_s)


def test_pictures_that_cannot_be(hsr: Scenario, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"\.svg, \.png, \.pdf"):
        plot(hsr, tmp_path / "a.gif")
    with pytest.raises(UserError, match="not on a line"):
        plot(load_scenario("constant"), tmp_path / "a.svg", axis="km")
    with pytest.raises(UserError, match="runs from 0 to"):
        plot(hsr, tmp_path / "a.svg", 5000, 10)
    with pytest.raises(UserError, match="cannot be written"):
        plot(hsr, tmp_path / "none" / "a.svg")
    with pytest.raises(UserError, match="its bearers are: lte"):
        plot(hsr, tmp_path / "a.svg", bearer="wifi")


def test_the_rates_of_the_two_directions_are_not_mixed(tmp_path: Path) -> None:
    trace = tmp_path / "uneven.csv"
    trace.write_text(
        "t_s,rate_up_bps,rate_down_bps,delay_up_s,delay_down_s,loss_up,loss_down,queue_limit_bytes\n"
        "0,5000000,20000000,0.02,0.02,0,0,512000\n"
        "50,1000000,20000000,0.02,0.02,0,0,512000\n"
        "# end_s=100\n"
    )
    plot(load_scenario(str(trace)), tmp_path / "uneven.svg")
    subtitle = next(text for text in texts(tmp_path / "uneven.svg") if "on average" in text)
    assert "up 3 Mbit/s on average, at most 5" in subtitle
    assert "down 20 Mbit/s" in subtitle


def test_a_picture_invents_nothing_after_the_last_row_of_a_link_without_end(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    rows = ["0,1000000,2000000,0.02,0.02,0,0,512000", "40,3000000,2000000,0.02,0.02,0,0,512000"]
    path.write_text("\n".join([",".join(REQUIRED), *rows]) + "\n")
    scenario = load_scenario(str(path))
    assert view(scenario, None, None, "time", None).end_s == 40
    assert view(scenario, 10, 20, "time", None).end_s == 30
    for start_s, duration_s in ((0, 60), (50, None), (50, 5)):
        with pytest.raises(UserError, match="says nothing after its last row, at 40 s"):
            view(scenario, start_s, duration_s, "time", None)
    path.write_text("\n".join([",".join(REQUIRED), *rows, "# end_s=90"]) + "\n")
    assert view(load_scenario(str(path)), None, None, "time", None).end_s == 90
    assert view(load_scenario("constant"), None, None, "time", None).end_s == 600
