"""Tests of latency under load are drawn combined: streams each way above the delays beside them."""

from pathlib import Path

from gauntlet import report
from gauntlet.figures.load import load as picture
from gauntlet.report.figures import load
from tests.figures.specs import marks, rows, scale
from tests.report import flows
from tests.report.flows import Constructed, Did, Flow

LOAD = '\n[load]\ntest = "rrul_be"\nduration = "20s"\n'
FLOWS = (
    Flow("cbr", name="up-1", direction="up", background=True),
    Flow("cbr", name="down-1", direction="down", background=True),
    Flow("cbr", name="ping-up", direction="up", rate_bps=8000),
    Flow("cbr", name="ping-down", direction="down", rate_bps=8000),
)


def did(protocol: str, place: int, repetition: int, loss: float) -> Did:
    """Streams of 0.8 Mbit/s, datagrams that take 50 ms up and 60 ms down, with loss twice that."""
    return Did(20.0, delay_s=(0.05 if place == 2 else 0.06) * (2 if loss else 1))


def drawn(folder: Path, about: str = LOAD) -> list[dict[str, str]] | None:
    made = Constructed(["tcp-cubic"], did, 2, (0.0, 0.01), FLOWS, about=about)
    found = load.load(report.load(flows.build(folder / "r", folder / "s", made)))
    if found is None:
        return None
    names, *rows = found.csv.splitlines()
    return [dict(zip(names.split(","), row.split(","), strict=True)) for row in rows]


def test_streams_and_delays_stand_below_each_other(tmp_path: Path) -> None:
    rows = drawn(tmp_path)
    assert rows is not None
    assert {row["condition"] for row in rows} == {"loss 0 %", "loss 1 %"}
    panels = dict.fromkeys(row["panel"] for row in rows)
    assert list(panels) == ["down (Mbit/s)", "up (Mbit/s)", "delay down (ms)", "delay up (ms)"]
    assert {row["series"] for row in rows if "Mbit" in row["panel"]} == {"stream 1"}
    assert {row["series"] for row in rows if "delay" in row["panel"]} == {"ping"}
    up = [row for row in rows if row["panel"] == "delay up (ms)"]
    assert {row["value"] for row in up if row["condition"] == "loss 0 %"} == {"50"}
    assert {row["value"] for row in up if row["condition"] == "loss 1 %"} == {"100"}


def test_other_experiments_have_none(tmp_path: Path) -> None:
    assert drawn(tmp_path, about="") is None


def test_lines_on_each_other_are_all_seen_on_one_axis() -> None:
    series = ["ping", "voip"] * 2
    chart = picture(
        {
            "condition": ["FIFO", "FIFO", "CAKE", "CAKE"],
            "panel": ["delay up (ms)"] * 4,
            "series": series,
            "t": [1.0] * 4,
            "value": [20.0, 20.0, 200.0, 200.0],
        }
    )
    widths = scale(chart, "strokeWidth")
    wide_px, thin_px = widths["range"]
    assert widths["domain"] == ["ping", "voip"]
    assert wide_px > 2 * thin_px
    assert [row["series"] for row in rows(chart)] == sorted(series), "the wide one is drawn first"
    lines = marks(chart, "line")
    assert len(lines) == 2
    assert {it["encoding"]["y"]["scale"]["domain"][1] for it in lines} == {210.0}, "whatever the condition"


def test_what_happens_above_stands_over_what_it_does_below() -> None:
    """Streams that are silent at first have the same axis of time as the delays beside them."""
    table = {
        "condition": ["FIFO"] * 4,
        "panel": ["up (Mbit/s)"] * 2 + ["delay up (ms)"] * 2,
        "series": ["be"] * 2 + ["ping"] * 2,
        "t": [6.0, 66.0, 1.0, 71.0],
        "value": [1.0] * 4,
    }
    domains = [it["encoding"]["x"]["scale"]["domain"] for it in marks(picture(table), "line")]
    assert domains == [[1.0, 71.0]] * 2
