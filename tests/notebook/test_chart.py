"""`Results.chart`: figures of the report as charts that Altair draws."""

import json
from pathlib import Path

import pytest
import vl_convert

import gauntlet
from gauntlet.errors import UserError
from gauntlet.notebook.chart import KINDS


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"against"}))
def test_each_kind_is_drawn(folder: Path, kind: str) -> None:
    made = gauntlet.load(folder).chart(kind)
    assert "<svg" in vl_convert.vegalite_to_svg(json.dumps(made.to_dict()))


def test_kpi_and_axis_are_what_was_asked_for(folder: Path) -> None:
    spec = gauntlet.load(folder).chart("against", kpi="delay_p95_s", axis="loss").to_dict()
    assert "95" in json.dumps(spec)
    assert spec != gauntlet.load(folder).chart("against", axis="loss").to_dict()


@pytest.mark.parametrize(
    ("kind", "wanted", "words"),
    [
        ("pie", {}, "no kind of chart 'pie'.*repetitions"),
        ("against", {"kpi": "speed"}, "no KPI 'speed'.*throughput_bps"),
        ("against", {"axis": "protocol"}, "no numeric factor 'protocol'.*loss"),
        ("delay", {"axis": "loss"}, "takes no 'axis'"),
        ("delay", {"subject": "voice"}, "no subject 'voice'"),
    ],
)
def test_what_is_not_there_is_one_sentence(
    folder: Path, kind: str, wanted: dict[str, str], words: str
) -> None:
    with pytest.raises(UserError, match=words):
        gauntlet.load(folder).chart(kind, **wanted)
