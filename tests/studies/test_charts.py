"""Charts show the numbers of the summary, and what a study prints beside them."""

import csv
import io
from typing import Any

import altair as alt
import numpy as np
import pyarrow as pa
import pytest

from gauntlet.errors import UserError
from gauntlet.report.figures.figure import finished
from gauntlet.studies import charts, charts_over_time
from gauntlet.studies.model import NotMeasured
from gauntlet.studies.summary import Part, Summary
from tests.studies.factory import flows, steady, summary

VALUES = {
    ("tcp-bbr", 0.0): steady(2e6),
    ("tcp-bbr", 0.01): steady(1.9e6),
    ("tcp-cubic", 0.0): steady(2e6),
    ("tcp-cubic", 0.01): steady(1e6),
}


def rows(chart: alt.TopLevelMixin) -> list[dict[str, str]]:
    """The rows that a chart draws."""
    (text,) = finished(chart)["datasets"].values()
    return list(csv.DictReader(io.StringIO(text)))


def scales(spec: Any, channel: str) -> list[dict[str, Any]]:
    """The scales of a channel, anywhere in a specification."""
    found = []
    if isinstance(spec, dict):
        if channel in spec and isinstance(spec[channel], dict) and "scale" in spec[channel]:
            found.append(spec[channel]["scale"])
        found += [scale for value in spec.values() for scale in scales(value, channel)]
    if isinstance(spec, list):
        found += [scale for value in spec for scale in scales(value, channel)]
    return found


def test_against_shows_means_with_their_intervals() -> None:
    found = rows(charts.against(summary(flows(VALUES)), "cbr", "throughput_bps", x="loss", dash=None))
    cubic = {row["level"]: row for row in found if row["protocol"] == "TCP CUBIC"}
    assert {level: float(row["value"]) for level, row in cubic.items()} == pytest.approx({"0": 2.0, "1": 1.0})
    assert float(cubic["1"]["low"]) < 1.0 < float(cubic["1"]["high"])
    assert all(row["n"] == "10" for row in found)


def test_a_solid_line_is_no_loss_and_a_colour_is_a_protocol() -> None:
    spec = finished(charts.cdf(summary(flows(VALUES)), "cbr", "window_throughput_bps", facet=None))
    dashes, colours = scales(spec, "strokeDash")[0], scales(spec, "color")[0]
    assert dashes["domain"] == ["loss 0 %", "loss 1 %"]
    assert dashes["range"][0] == [1, 0]
    assert colours["domain"] == ["TCP CUBIC", "TCP BBR"]
    assert len(set(colours["range"])) == 2


@pytest.mark.parametrize("protocol", [["tcp-bbr"], ["tcp-bbr", "tcp-cubic"]])
def test_a_distribution_is_that_of_the_messages(protocol: list[str]) -> None:
    """Delays are uniform from 0 to 200 ms, of one flow a repetition as of two together."""
    found = summary(flows(VALUES), delay_s=0.1)
    given = {"protocol": protocol}
    drawn = rows(
        charts.cdf(found, "cbr", "delay_s", of=given, colour="loss", dash=None, facet=None, log=False)
    )
    clean = [row for row in drawn if row["protocol"] == "loss 0 %"]
    values, shares = ([float(row[key]) for row in clean] for key in ("value", "share"))
    assert np.interp([50, 100, 150], values, shares) == pytest.approx([0.25, 0.5, 0.75], abs=0.005)
    assert shares[-1] == 1.0


def test_a_kpi_has_a_distribution_over_runs() -> None:
    found = rows(charts.cdf(summary(flows(VALUES)), "cbr", "throughput_bps", facet="loss", dash=None))
    cubic = [row for row in found if (row["protocol"], row["condition"]) == ("TCP CUBIC", "loss 1 %")]
    assert [float(row["value"]) for row in cubic] == pytest.approx([v * 1e-6 for v in steady(1e6)], rel=1e-3)


def test_runs_that_are_not_trusted_are_not_drawn() -> None:
    table = flows({("tcp-bbr", 0.0): [*steady(2e6, count=9), 9e9]}, trusted=[True] * 9 + [False])
    (row,) = rows(charts.against(summary(table), "cbr", "throughput_bps", x="loss", dash=None))
    assert (float(row["value"]), row["n"]) == (pytest.approx(2.0), "9")


def test_printed_values_are_marked() -> None:
    found = summary(flows(VALUES))
    mark = charts.Mark(0.01, 1.2e6, colour="tcp-cubic", label="about 1.2 Mbit/s")
    drawn = charts.against(found, "cbr", "throughput_bps", x="loss", dash=None, printed=[mark])
    (star,) = [row for row in rows(drawn) if row["dash"] == "printed"]
    assert (star["protocol"], star["level"], float(star["value"])) == ("TCP CUBIC", "1", pytest.approx(1.2))
    marks = [charts.Mark(1.2e6, 0.5), charts.Mark(1.4e6)]
    spec = finished(charts.cdf(found, "cbr", "window_throughput_bps", facet=None, printed=marks))
    layers = spec["spec"]["layer"]
    stars = [layer for layer in layers if layer["mark"].get("shape") == charts.STAR]
    lines = [layer for layer in layers if layer["mark"]["type"] == "rule"]
    assert [layer["encoding"]["x"]["datum"] for layer in (*stars, *lines)] == pytest.approx([1.2, 1.4])


def test_what_was_not_measured_is_not_drawn() -> None:
    found = summary(flows(VALUES))
    with pytest.raises(NotMeasured, match="No run of cbr with protocol = sctp is among these results"):
        charts.cdf(found, "cbr", "delay_s", of={"protocol": "sctp"})
    with pytest.raises(NotMeasured, match="No run of vbr"):
        charts.against(found, "vbr", "throughput_bps", x="loss")
    with pytest.raises(UserError, match="protocols has no numbers to stand on an axis"):
        charts.against(found, "cbr", "throughput_bps", x="protocols")


def test_packet_traces_have_both_ends_of_each_message() -> None:
    series = pa.table(
        {
            "run": ["a", "a", "b"],
            "flow": [0, 0, 0],
            "protocol": ["tcp-bbr", "tcp-bbr", "udp"],
            "seq": [0, 25, 0],
            "sent_s": [1.0, 2.0, 1.0],
            "received_s": [1.5, None, 1.2],
            "every": [25, 25, 25],
        }
    )
    whole = summary(flows(VALUES))
    part = Part(whole.manifest()["cbr"], {"series": series})
    found = rows(charts_over_time.arrivals(Summary("d00", {"cbr": part}), "cbr", ["a"], ["with loss"]))
    events = [(row["condition"], row["protocol"], row["dash"], float(row["t"]), row["seq"]) for row in found]
    assert events == [
        ("with loss", "TCP BBR", "handed over", 1.0, "0"),
        ("with loss", "TCP BBR", "received", 1.5, "0"),
        ("with loss", "TCP BBR", "handed over", 2.0, "25"),
    ]
    with pytest.raises(NotMeasured, match="The example run c of cbr is not among these results"):
        charts_over_time.arrivals(Summary("d00", {"cbr": part}), "cbr", ["a", "c"])
