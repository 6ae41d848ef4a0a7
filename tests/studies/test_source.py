"""Tables for charts have the numbers of the summary, and what a study prints beside them."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from gauntlet.errors import NotMeasured, UserError
from gauntlet.figures.kind import Chosen, Drawing, Measured, Prepared
from gauntlet.metrics.observation import Partly
from gauntlet.studies.plugin import Plugin
from gauntlet.studies.select import by_repetition
from gauntlet.studies.source import SummarySource
from gauntlet.studies.summary import Part, Summary
from tests.studies.factory import flows, steady, study, summary

VALUES = {
    ("tcp-bbr", 0.0): steady(2e6),
    ("tcp-bbr", 0.01): steady(1.9e6),
    ("tcp-cubic", 0.0): steady(2e6),
    ("tcp-cubic", 0.01): steady(1e6),
}


@pytest.fixture
def source(tmp_path: Path) -> SummarySource:
    return SummarySource(study(tmp_path), summary(flows(VALUES)))


def drawing(kpi: str = "throughput_bps", **options: Any) -> Drawing:
    return Drawing.model_validate(
        {"kind": "any", "caption": "A caption.", "experiment": "cbr", "kpi": kpi, **options}
    )


def rows(found: Prepared) -> list[dict[str, Any]]:
    names = list(found.columns)
    return [dict(zip(names, row, strict=True)) for row in zip(*found.columns.values(), strict=True)]


def test_means_have_their_intervals_in_shown_units(source: SummarySource) -> None:
    found = source.means(drawing(), "loss")
    cubic = {row["level"]: row for row in rows(found) if row["protocol"] == "TCP CUBIC"}
    assert {level: row["value"] for level, row in cubic.items()} == pytest.approx({0: 2.0, 1: 1.0})
    assert cubic[1]["low"] < 1.0 < cubic[1]["high"]
    assert all(row["n"] == 10 for row in rows(found))
    assert found.x is not None
    assert (found.x.title, found.y.title) == ("Loss (%)", "Throughput (Mbit/s)")


def test_a_solid_line_is_no_loss_and_a_colour_is_a_protocol(source: SummarySource) -> None:
    look = source.distributions(drawing("window_throughput_bps", dash="loss")).look
    assert list(look.dashes) == ["loss 0 %", "loss 1 %"]
    assert look.dashes["loss 0 %"] == [1, 0]
    assert list(look.names) == ["TCP CUBIC", "TCP BBR"]
    assert len(set(look.colours)) == 2


@pytest.mark.parametrize("protocol", [["tcp-bbr"], ["tcp-bbr", "tcp-cubic"]])
def test_a_distribution_is_that_of_the_messages(tmp_path: Path, protocol: list[str]) -> None:
    """Delays are uniform from 0 to 200 ms, of one flow a repetition as of two together."""
    source = SummarySource(study(tmp_path), summary(flows(VALUES), delay_s=0.1))
    found = source.distributions(drawing("delay_s", of={"protocol": protocol}, colour="loss"))
    clean = [row for row in rows(found) if row["protocol"] == "loss 0 %"]
    values, shares = ([row[key] for row in clean] for key in ("value", "share"))
    assert np.interp([50, 100, 150], values, shares) == pytest.approx([0.25, 0.5, 0.75], abs=0.005)
    assert shares[-1] == 1.0


def test_a_kpi_has_a_distribution_over_runs(source: SummarySource) -> None:
    found = rows(source.distributions(drawing(facet="loss")))
    cubic = [row for row in found if (row["protocol"], row["condition"]) == ("TCP CUBIC", "loss 1 %")]
    assert [row["value"] for row in cubic] == pytest.approx([v * 1e-6 for v in steady(1e6)], rel=1e-3)


def test_runs_that_are_not_trusted_are_not_drawn(tmp_path: Path) -> None:
    table = flows({("tcp-bbr", 0.0): [*steady(2e6, count=9), 9e9]}, trusted=[True] * 9 + [False])
    source = SummarySource(study(tmp_path), summary(table))
    (row,) = rows(source.means(drawing(), "loss"))
    assert (row["value"], row["n"]) == (pytest.approx(2.0), 9)
    assert max(row["value"] for row in rows(source.distributions(drawing()))) < 3.0


def test_printed_values_are_rows_of_their_own(source: SummarySource) -> None:
    stars = [{"x": 0.01, "y": [1.2e6, 1.3e6], "colour": "tcp-cubic"}]
    found = [row for row in rows(source.means(drawing(stars=stars), "loss")) if row["dash"] == "printed"]
    assert [(row["protocol"], row["level"], row["n"]) for row in found] == [
        ("TCP CUBIC", 1.0, "1.2 Mbit/s"),
        ("TCP CUBIC", 1.0, "1.3 Mbit/s"),
    ]
    stars = [{"x": 1.2e6, "y": 0.5, "facet": 0.01}, {"x": 1.4e6, "label": "a line"}]
    asked = drawing("window_throughput_bps", facet="loss", stars=stars)
    found = [row for row in rows(source.distributions(asked)) if row["dash"] == "printed"]
    assert [(row["condition"], row["share"], row["n"]) for row in found] == [
        ("loss 1 %", 0.5, "1.2 Mbit/s"),
        ("loss 0 %", "", "a line"),
        ("loss 1 %", "", "a line"),
    ]


def test_what_was_not_measured_is_said(source: SummarySource) -> None:
    with pytest.raises(NotMeasured, match="No run of cbr with protocol = sctp is among these results"):
        source.distributions(drawing("delay_s", of={"protocol": "sctp"}))
    with pytest.raises(NotMeasured, match="No run of vbr"):
        source.means(drawing(experiment="vbr"), "loss")
    with pytest.raises(UserError, match="protocols has no numbers to stand on an axis"):
        source.means(drawing(), "protocols")
    with pytest.raises(UserError, match="unknown key 'troughput_bps'; did you mean 'throughput_bps'"):
        source.means(drawing("troughput_bps"), "loss")
    assert source.measured(Chosen(experiment="vbr"), "throughput_bps") == Measured()


@pytest.mark.parametrize(
    ("kpi", "ended"), [("download_time_s", (7, 10, 5.0)), ("throughput_bps", None)], ids=["time", "rate"]
)
def test_a_cell_of_a_table_selects_its_flows_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kpi: str, ended: tuple[int, int, float] | None
) -> None:
    """Of ten files seven come after 1 to 7 s, the others are given up after 90 s."""
    took = [*(float(it) for it in range(1, 8)), None, None, None]
    table = flows(
        {("tcp-bbr", 0.0): [2e6] * 10},
        download_time_s=took,
        completed=[it is not None for it in took],
        given_s=[90.0] * 10,
    )
    selected = []

    def once(*asked: Any, **more: Any) -> Any:
        selected.append(asked)
        return by_repetition(*asked, **more)

    monkeypatch.setattr("gauntlet.studies.source.by_repetition", once)
    found = SummarySource(study(tmp_path), summary(table)).measured(Chosen(experiment="cbr"), kpi)
    assert len(selected) == 1
    assert found.mean is not None
    assert found.partly == (None if ended is None else Partly(*ended))


def test_messages_come_run_by_run_with_their_protocols_names(tmp_path: Path) -> None:
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
    part = Part(summary(flows(VALUES)).manifest()["cbr"], {"series": series})
    source = SummarySource(study(tmp_path), Summary("d00", {"cbr": part}))
    found = source.messages("cbr", ["b", "a"], None)
    assert found["protocol"] == ["UDP", "TCP BBR", "TCP BBR"]
    assert found["received_s"] == [1.2, 1.5, None]
    with pytest.raises(NotMeasured, match="The example run c of cbr is not among these results"):
        source.messages("cbr", ["a", "c"], None)
    assert set(source.messages("cbr", ["c", "b", "a"], 1)["run"]) == {"b"}


def test_tables_of_a_plugin_are_asked_by_name(tmp_path: Path) -> None:
    found = summary(flows(VALUES))
    own = study(tmp_path, plugin=Plugin(tables={"formula": lambda _: {"x": [1, 2]}}))
    assert SummarySource(own, found).own("formula") == {"x": [1, 2]}
    with pytest.raises(UserError, match=r"plugin.py has no 'formulas' in TABLES; it has formula"):
        SummarySource(own, found).own("formulas")
    with pytest.raises(NotMeasured, match="which was not run"):
        SummarySource(study(tmp_path, plugin=Plugin(withheld=True)), found).own("formula")
