"""Each kind of chart over a made-up tidy table: what is in the table is in the specification."""

from typing import Any

import pyarrow as pa
import pytest

from gauntlet.errors import UserError
from gauntlet.figures.against import NUDGE, against
from gauntlet.figures.arrivals import arrivals
from gauntlet.figures.cdf import cdf
from gauntlet.figures.curves import curves
from gauntlet.figures.look import INK, STAR, Look, finished, on_paper
from gauntlet.figures.rates import rates
from gauntlet.figures.repetitions import AT_LIMIT, MEAN, MEASURED, MEDIAN, repetitions
from gauntlet.figures.style import styles
from gauntlet.figures.tidy import Quantity
from gauntlet.figures.windows import windows
from tests.figures.specs import marks, parts, rows, scale

LOSS, RATE = Quantity("Loss", "%"), Quantity("Throughput", "Mbit/s")
MEANS: dict[str, list[Any]] = {
    "condition": ["25 ms", "25 ms", "150 ms", "150 ms"],
    "protocol": ["tcp-bbr", "sctp", "tcp-bbr", "sctp"],
    "level": [0.0, 0.0, 1.0, 1.0],
    "value": [2.0, 1.5, 1.9, 0.4],
    "low": [1.9, 1.4, 1.8, ""],
    "high": [2.1, 1.6, 2.0, ""],
    "n": [10, 10, 10, 1],
}
SHARES: dict[str, list[Any]] = {
    "condition": ["", "", ""],
    "protocol": ["tcp-bbr", "tcp-bbr", "tcp-bbr"],
    "value": [10.0, 20.0, 400.0],
    "share": [0.1, 0.5, 1.0],
    "low": [0.0, 0.4, 0.9],
    "high": [0.2, 0.6, 1.0],
    "n": [9, 9, 9],
}


def test_against_draws_means_with_their_intervals_side_by_side() -> None:
    chart = against(MEANS, LOSS, RATE)
    drawn = rows(chart)
    assert [(row["value"], row["low"], row["high"]) for row in drawn][::3] == [
        ("2", "1.9", "2.1"),
        ("0.4", "0.4", "0.4"),
    ]
    assert [float(row["x"]) - float(row["level"]) for row in drawn] == pytest.approx(
        [-NUDGE / 2, NUDGE / 2, -NUDGE / 2, NUDGE / 2]
    )
    (bars,) = marks(chart, "rule")
    assert (bars["encoding"]["y"]["field"], bars["encoding"]["y2"]["field"]) == ("low", "high")
    assert bars["encoding"]["x"]["title"] == "Loss (%)"
    (line,) = marks(chart, "line")
    assert line["encoding"]["y"]["title"] == "Throughput (Mbit/s)"
    assert finished(chart)["facet"]["sort"] == ["25 ms", "150 ms"]
    assert scale(chart, "color")["range"] == [styles([it])[0].colour for it in ("tcp-bbr", "sctp")]


def test_against_draws_stars_hollow_markers_and_even_levels() -> None:
    table = {
        **{name: [*column, column[0]] for name, column in MEANS.items()},
        "dash": ["no loss", "no loss", "no loss", "no loss", "printed"],
        "whole": [1, 1, 1, 0, 1],
    }
    table["level"] = [0.0, 0.0, 5.0, 5.0, 0.0]
    look = Look.of_values(["tcp-bbr", "sctp"], ["tcp-bbr", "sctp"], ["no loss"], protocols=True)
    chart = against(table, LOSS, RATE, look=look, even=True)
    assert sorted({round(float(row["x"])) for row in rows(chart)}) == [0, 1]
    points = marks(chart, "point")
    assert [part["mark"].get("shape") for part in points].count(STAR) == 1
    (hollow,) = [part for part in points if part["mark"].get("fill") == "white"]
    assert {"filter": "datum.whole == 0"} in hollow["transform"]
    star = next(row for row in rows(chart) if row["dash"] == "printed")
    assert float(star["x"]) == 0.0, "a printed value stands right on its level"


def test_levels_with_names_say_their_units() -> None:
    chart = against(MEANS, LOSS, RATE, named={0.0: "none", 1.0: "1 %"})
    (line,) = marks(chart, "line")
    x = line["encoding"]["x"]
    assert (x["title"], x["axis"]["labelExpr"].partition("[indexof")[0]) == ("Loss", '["none", "1 %"]')


def test_a_chart_reads_arrow_tables_and_names_the_column_that_is_missing() -> None:
    table = pa.table({name: [str(it) for it in column] for name, column in MEANS.items()})
    assert rows(against(table, LOSS, RATE))[0]["value"] == "2.0"
    with pytest.raises(UserError, match="no column 'n'; this chart needs condition, protocol, level"):
        against(table.drop_columns(["n"]), LOSS, RATE)


def test_cdf_draws_curves_bands_and_what_is_printed() -> None:
    printed = {"value": 30.0, "share": 0.5, "low": "", "high": "", "n": "30 ms"}
    line = {**printed, "value": 50.0, "share": ""}
    extra = [{"condition": "", "protocol": "", "dash": "printed", **it} for it in (printed, line)]
    table = {**SHARES, "dash": ["", "", ""]}
    table = {name: [*column, *(it[name] for it in extra)] for name, column in table.items()}
    chart = cdf(table, Quantity("Delay", "ms"), look=Look.of_values(["tcp-bbr"], ["tcp-bbr"], protocols=True))
    (band,) = marks(chart, "area")
    assert (band["encoding"]["y"]["field"], band["encoding"]["y2"]["field"]) == ("low", "high")
    (curve,) = marks(chart, "line")
    assert (curve["encoding"]["x"]["field"], curve["encoding"]["y"]["field"]) == ("value", "share")
    assert {"filter": "datum.dash !== 'printed'"} in curve["transform"]
    assert len(marks(chart, "rule")) == 1
    assert [part["mark"]["shape"] for part in marks(chart, "point")] == [STAR]
    assert [row["n"] for row in rows(chart)][3:] == ["30 ms", "30 ms"]


def test_a_log_axis_begins_where_the_first_half_percent_is_passed() -> None:
    table = {**SHARES, "share": [0.001, 0.5, 1.0]}
    axis = marks(cdf(table, Quantity("Delay", "ms"), log=True), "line")[0]["encoding"]["x"]
    assert axis["scale"] == {"type": "log", "nice": False, "domain": [20.0, 400.0]}
    assert axis["title"] == "Delay (ms, log axis)"
    assert axis["axis"]["values"] == [20.0, 50.0, 100.0, 200.0]


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([20.0025, 20.1, 20.2], [19.8, 20.0, 20.2, 20.4]),
        ([20.0, 20.0, 20.0], [19.9, 20.0, 20.1]),
        ([310.0, 330.0, 480.0], [300.0, 350.0, 400.0, 450.0, 500.0]),
    ],
)
def test_a_log_axis_over_values_close_together_has_numbers(values: list[float], ticks: list[float]) -> None:
    chart = cdf({**SHARES, "value": values}, Quantity("Delay", "ms"), log=True)
    axis = marks(chart, "line")[0]["encoding"]["x"]
    assert axis["axis"]["values"] == ticks
    assert axis["scale"]["domain"] == [ticks[0], ticks[-1]]


def test_capacity_and_throughput_share_an_axis_that_holds_both() -> None:
    row = {
        "flow": [0],
        "t": [1.0],
        "end": [2.0],
        "throughput": [0.1],
        "capacity": [2.0],
        "cwnd": [1],
        "rtt": [1],
    }
    chart = windows({"protocol": ["udp"], **row, "losses": [0]})
    (area,) = marks(chart, "area")
    line = next(it for it in marks(chart, "line") if it["encoding"]["y"]["field"] == "throughput")
    assert area["encoding"]["y"]["scale"] == line["encoding"]["y"]["scale"]


def test_arrivals_have_both_ends_of_each_message_and_none_of_what_was_lost() -> None:
    table = {
        "condition": ["1 % loss", "1 % loss"],
        "protocol": ["tcp-bbr", "tcp-bbr"],
        "seq": [0, 25],
        "sent_s": [1.0, 2.0],
        "received_s": [1.5, None],
    }
    chart = arrivals(table)
    assert [(row["dash"], row["t"], row["seq"]) for row in rows(chart)] == [
        ("handed over", "1", "0"),
        ("received", "1.5", "0"),
        ("handed over", "2", "25"),
    ]
    assert scale(chart, "strokeDash")["domain"] == ["received", "handed over"]


def test_rates_count_what_arrives_in_whole_windows() -> None:
    messages: dict[str, list[Any]] = {
        "run": ["a", "a", "a", "a"],
        "protocol": ["TCP BBR"] * 4,
        "received_s": [0.5, 1.5, 2.5, None],
        "every": [10, 10, 10, 10],
    }
    found = rates(messages, window_s=1.0, until_s=2.9, message_bytes=1250)
    assert found["x"] == [0.0, 1.0, 2.0], "the last window is closed by a row at its end"
    assert found["y"] == pytest.approx([0.1, 0.1, 0.1])


def test_curves_draw_lines_steps_and_points_on_plain_and_log_axes() -> None:
    table = {"protocol": ["a", "a", "b"], "x": [1.0, 2.0, 1.0], "y": [10.0, 20.0, 30.0]}
    (line,) = marks(curves(table, LOSS, RATE, log_x=True), "line")
    assert line["encoding"]["x"]["scale"]["type"] == "log"
    assert line["encoding"]["x"]["title"] == "Loss (%, log axis)"
    assert marks(curves(table, LOSS, RATE, drawn="steps"), "line")[0]["mark"]["interpolate"] == "step-after"
    several = {**table, "condition": ["one", "one", "two"], "upright": [1.5, 1.5, ""]}
    chart = curves(several, LOSS, RATE, drawn="points")
    assert len(marks(chart, "point")) == 1
    assert marks(chart, "rule")[0]["encoding"]["x"]["field"] == "upright"
    assert finished(chart)["facet"]["sort"] == ["one", "two"]


def test_repetitions_are_dots_crosses_a_mean_with_its_interval_and_a_median() -> None:
    table = {
        "condition": ["all"] * 5,
        "protocol": ["tcp-bbr"] * 5,
        "kind": [MEASURED, AT_LIMIT, "nothing came to be", MEAN, MEDIAN],
        "value": [2.0, 60.0, "", 14.0, 2.0],
        "low": ["", "", "", 1.0, ""],
        "high": ["", "", "", 30.0, ""],
        "repetition": [1, 2, 3, "", ""],
        "n": [3] * 5,
    }
    chart = repetitions(table, Quantity("Download time", "s"))
    asked = {part["filter"] for part in parts(finished(chart)) if "filter" in part}
    assert asked == {f"datum.kind === {kind!r}" for kind in (MEASURED, AT_LIMIT, MEAN, MEDIAN)}
    (interval,) = marks(chart, "rule")
    assert (interval["encoding"]["x"]["field"], interval["encoding"]["x2"]["field"]) == ("low", "high")
    assert [part["mark"].get("shape") for part in marks(chart, "point")] == [None, "cross", "diamond"]


def test_dots_have_an_outline_that_a_dark_page_shows() -> None:
    names = ("condition", "protocol", "kind", "value", "low", "high", "repetition", "n")
    table = {
        name: [value] for name, value in zip(names, ("", "udp", MEASURED, 2.0, "", "", 1, 1), strict=True)
    }
    dots = marks(repetitions(table, Quantity("Delay", "s")), "point")[0]
    assert dots["mark"]["strokeWidth"] > 0
    assert dots["encoding"]["stroke"]["scale"]["range"] == [styles(["udp"])[0].colour]


def test_ticks_are_even() -> None:
    """Left to itself Vega leaves out every second label where there is no room, not those that collide."""
    axis = finished(cdf(SHARES, Quantity("throughput", "Mbit/s")))["config"]["axis"]
    assert "labelOverlap" not in axis
    assert axis["labelSeparation"] > 0


def test_windows_draw_throughput_over_capacity_and_what_the_sender_says() -> None:
    names = ("flow", "t", "end", "throughput", "capacity", "cwnd", "rtt", "losses")
    table = {"protocol": ["TCP BBR"], **{name: [1.0] for name in names}}
    chart = windows(table)
    fields = [part["encoding"]["y"]["field"] for part in (*marks(chart, "area"), *marks(chart, "line"))]
    assert fields == ["capacity", "throughput", "cwnd", "rtt", "losses"]


def test_numbers_have_a_ramp_others_a_palette_protocols_their_own() -> None:
    ramp = Look.of_values(["1", "2"], [1, 2], protocols=False).colours
    palette = Look.of_values(["a", "b"], ["a", "b"], protocols=False).colours
    own = Look.of_values(["TCP BBR"], ["tcp-bbr"], protocols=True)
    assert len({*ramp, *palette}) == 4
    assert (own.colours, own.markers) == ([styles(["tcp-bbr"])[0].colour], [styles(["tcp-bbr"])[0].marker])


def test_a_picture_for_a_dark_page_has_light_ink() -> None:
    spec = finished(against(MEANS, LOSS, RATE))
    assert on_paper(spec)["background"] == "white"
    dark = on_paper(spec, dark=True)
    assert INK not in str(dark)
    assert dark["datasets"] == spec["datasets"]
