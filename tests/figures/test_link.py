"""The one picture of a link: what is in the scenario is in it, for a report, a study and a file alike."""

import json
from itertools import pairwise
from typing import Any

import pytest

from gauntlet.errors import UserError
from gauntlet.figures.link import link
from gauntlet.figures.link_view import NAME_ROOM, NARROW_NAME_ROOM, Stretch, View
from gauntlet.figures.look import finished
from gauntlet.scenario import line_figure_data, load_scenario
from tests.figures.specs import marks, parts


@pytest.fixture(scope="module")
def hsr() -> dict[str, Any]:
    return line_figure_data(load_scenario("hsr"))


def own(**columns: list[float]) -> dict[str, Any]:
    """A link off the railway, of two rows."""
    trace = {
        "t_s": [0.0, 50.0],
        "end_s": 100.0,
        **{f"rate_{way}_bps": [1e6, 2e6] for way in ("up", "down")},
        **{f"delay_{way}_s": [0.01, 0.02] for way in ("up", "down")},
        **{f"loss_{way}": [0.0, 0.0] for way in ("up", "down")},
        **columns,
    }
    return {"title": "Own", "bearers": {"link": trace}, "line": None, "duration_s": 100.0}


def listed(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of the specification's tables that are no columns."""
    tables = [rows for rows in spec["datasets"].values() if isinstance(rows, list)]
    return [row for rows in tables for row in rows]


def fields(scenario: dict[str, Any], **options: Any) -> list[str]:
    """What the y axes of areas and lines show."""
    chart = link(scenario, **options)
    drawn = [part["encoding"]["y"] for kind in ("area", "line") for part in marks(chart, kind)]
    return [str(it["field"]) for it in drawn]


def test_a_link_off_the_railway_has_capacity_and_delay_and_loss_where_there_is_one() -> None:
    assert fields(own()) == ["rate_mbps", "delay_ms"]
    assert fields(own(loss_up=[0.0, 0.1])) == ["rate_mbps", "delay_ms", "loss_pct"]


def test_directions_that_are_alike_are_one_line() -> None:
    (line,) = marks(link(own(), panels=("capacity",)), "line")
    assert line["encoding"]["color"]["scale"]["domain"] == ["both directions"]
    (line,) = marks(link(own(rate_down_bps=[5e6, 5e6]), panels=("capacity",)), "line")
    assert line["encoding"]["color"]["scale"]["domain"] == ["train to trackside", "trackside to train"]


@pytest.mark.parametrize(
    ("kind", "up", "down"),
    [
        ("satellite", "terminal to gateway", "gateway to terminal"),
        ("deep-space", "Earth to spacecraft", "spacecraft to Earth"),
        ("recorded", "train to trackside", "trackside to train"),
    ],
)
def test_directions_are_called_by_what_the_link_lies_between(kind: str, up: str, down: str) -> None:
    scenario = {**own(rate_down_bps=[5e6, 5e6]), "kind": kind}
    (line,) = marks(link(scenario, panels=("capacity",)), "line")
    assert line["encoding"]["color"]["scale"]["domain"] == [up, down]
    rows = View(scenario, scenario["bearers"]["link"], 0.0, 100.0).rows()
    of = dict(zip(rows["direction"], rows["rate_mbps"], strict=True))
    assert of == pytest.approx({up: 2.0, down: 5.0}), "its last rate, each way"
    (line,) = marks(link({**own(), "kind": kind}, panels=("capacity",)), "line")
    assert {"filter": f"datum.direction === '{up}'"} in line["transform"], "drawn where both are alike"


def test_scenarios_of_space_have_no_train_in_their_pictures() -> None:
    for name in ("leo", "geo", "lunar", "mars"):
        drawn = line_figure_data(load_scenario(name, {"rate_up": "1Mbit/s", "rate_down": "2Mbit/s"}))
        assert "train" not in json.dumps(finished(link(drawn))), name
    assert '"title": "satellite"' in json.dumps(finished(link(line_figure_data(load_scenario("leo")))))


def test_rows_are_the_trace_closed_at_its_end() -> None:
    scenario = own()
    view = View(scenario, scenario["bearers"]["link"], 10.0, 90.0)
    rows = view.rows()
    assert rows["second"][:3] == [10.0, 50.0, 90.0]
    assert rows["rate_mbps"][:3] == pytest.approx([1.0, 2.0, 2.0])
    assert rows["others"] == [""] * 6


def test_a_line_shows_its_stations_cells_and_trains(hsr: dict[str, Any]) -> None:
    assert fields(hsr) == ["cell_mbps", "rate_mbps", "others", "speed", "delay_ms", "km"]
    spec = finished(link(hsr))
    names = [row["name"] for row in listed(spec) if "name" in row]
    assert {"Roma Termini", "Firenze S.M.N.", "urban"} <= set(names)
    cells = [row for row in listed(spec) if "cell" in row]
    assert len(cells) == len(hsr["line"]["cells"])


def test_names_of_stations_leave_each_other_room() -> None:
    regional = line_figure_data(load_scenario("regional"))
    view = View(regional, next(iter(regional["bearers"].values())), 0.0, regional["duration_s"])
    shown = sorted(station["x"] for station in view.stations())
    room = NAME_ROOM * (view.ends[1] - view.ends[0])
    assert min(later - earlier for earlier, later in pairwise(shown)) >= room


def test_a_narrow_page_leaves_out_names_that_have_no_room() -> None:
    regional = line_figure_data(load_scenario("regional"))
    chart = link(regional, panels=("stations",))
    shown = {part["name"]: part["data"]["name"] for part in marks(chart, "text")}
    assert set(shown) == {"names", "wide-names"}
    (names, wide) = (finished(chart)["datasets"][table] for table in shown.values())
    view = View(regional, next(iter(regional["bearers"].values())), 0.0, regional["duration_s"])
    assert sorted(it["x"] for it in [*names, *wide]) == sorted(it["x"] for it in view.stations())
    places = sorted(it["x"] for it in names)
    assert min(later - earlier for earlier, later in pairwise(places)) >= NARROW_NAME_ROOM * view.ends[1]
    assert {"Roma Termini", "Firenze S.M.N."} <= {it["name"] for it in names}


def test_a_part_of_a_line_has_what_lies_in_it(hsr: dict[str, Any]) -> None:
    spec = finished(link(hsr, start_s=1500.0, end_s=2100.0))
    names = [row["name"] for row in listed(spec) if "name" in row]
    assert "Orte" in names
    assert "Roma Termini" not in names
    assert next(part["domain"] for part in parts(spec) if "nice" in part) == [25.0, 35.0]


def test_along_the_line_there_are_kilometres_and_no_trains(hsr: dict[str, Any]) -> None:
    assert "km" not in fields(hsr, along="km")
    titles = {part["title"] for part in parts(finished(link(hsr, along="km"))) if part.get("title")}
    assert "position on the line (km)" in titles


def test_stretches_that_runs_rode_are_marked_and_numbered() -> None:
    chart = link(own(), stretches=[Stretch(10.0, 20.0, "1, 3")])
    assert len(marks(chart, "rect")) == 3, "behind the number, behind capacity and behind delay"
    (words,) = marks(chart, "text")
    assert words["encoding"]["text"]["field"] == "name"
    numbers, capacity, _ = finished(chart)["vconcat"]
    assert words in numbers["layer"], "above what is drawn, not on it"
    assert words not in capacity["layer"]


def test_numbers_of_neighbouring_stretches_do_not_run_together() -> None:
    scenario = own()
    stretches = [Stretch(at_s, at_s + 2.0, name) for at_s, name in ((52.0, "3"), (50.0, "6"), (10.0, "12"))]
    view = View(scenario, scenario["bearers"]["link"], 0.0, 100.0, stretches=stretches)
    assert view.numbers() == [{"x": 11.0, "name": "12"}, {"x": 52.0, "name": "6, 3"}]


def test_what_a_link_does_not_have_cannot_be_drawn() -> None:
    with pytest.raises(UserError, match="no bearer 'wifi'; the bearers are: link"):
        link(own(), bearer="wifi")
    with pytest.raises(UserError, match="not on a line"):
        link(own(), panels=("trains",))
    with pytest.raises(UserError, match="not on a line"):
        link(own(), along="km")
