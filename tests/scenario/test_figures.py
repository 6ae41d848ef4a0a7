"""Summary, figure data and pictures."""

import json
import math
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gauntlet.errors import UserError
from gauntlet.figures.look import INK, PAPER_ON_DARK
from gauntlet.figures.scenario import picture, plot, span
from gauntlet.scenario import Scenario, line_figure_data, load_scenario, summary
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
        "capacity (Mbit/s)",
        "one-way delay (ms)",
        "packet loss (%)",
        "speed (km/h)",
        "position (km)",
    ):
        assert word in shown
    assert "minutes since departure" in shown
    assert "loss up to 1 %" in " ".join(shown)
    along = texts(plot(scenario, tmp_path / "b.svg", axis="km"))
    assert "position on the line (km)" in along
    assert "minutes since departure" not in along


def test_a_stretch_shows_its_stations_only(hsr: Scenario, tmp_path: Path) -> None:
    assert hsr.line is not None
    orte_s = hsr.line.reference.journey.time_at(71.1)
    shown = texts(plot(hsr, tmp_path / "a.svg", orte_s - 100, 200))
    assert "Orte" in shown
    assert "Orvieto" not in shown
    assert "seconds since departure" in shown


def test_same_scenario_same_svg(hsr: Scenario, tmp_path: Path) -> None:
    first, second = plot(hsr, tmp_path / "a.svg").read_bytes(), plot(hsr, tmp_path / "b.svg").read_bytes()
    assert first == second


def test_paper_is_light_or_dark(tmp_path: Path) -> None:
    light, dark = (
        plot(load_scenario("constant"), tmp_path / f"{it}.svg", dark=it).read_text() for it in (False, True)
    )
    assert 'fill="white"' in light
    assert INK in light
    assert PAPER_ON_DARK in dark
    assert INK not in dark


@pytest.mark.parametrize(("end", "begins"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<svg")])
def test_the_name_says_the_format(tmp_path: Path, end: str, begins: bytes) -> None:
    assert plot(load_scenario("constant"), tmp_path / f"a.{end}").read_bytes().startswith(begins)


def test_a_link_with_different_directions(tmp_path: Path) -> None:
    header = "t_s,rate_up_bps,rate_down_bps,delay_up_s,delay_down_s,loss_up,loss_down,queue_limit_bytes\n"
    (tmp_path / "own.csv").write_text(
        header + "0,1e6,5e6,0.01,0.3,0,0.1,64000\n9,1e6,2e6,0.01,0.3,0,0.1,64000\n"
    )
    shown = texts(plot(load_scenario(str(tmp_path / "own.csv")), tmp_path / "a.svg"))
    assert {"train to trackside", "trackside to train"} <= shown
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
    assert span(scenario.trace, None, None) == (0, 40)
    assert span(scenario.trace, 10, 20) == (10, 30)
    for start_s, duration_s in ((0, 60), (50, None), (50, 5)):
        with pytest.raises(UserError, match="says nothing after its last row, at 40 s"):
            picture(scenario, start_s, duration_s)
    path.write_text("\n".join([",".join(REQUIRED), *rows, "# end_s=90"]) + "\n")
    assert span(load_scenario(str(path)).trace, None, None) == (0, 90)
    assert span(load_scenario("constant").trace, None, None) == (0, 600)
