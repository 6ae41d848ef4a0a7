"""Runs with two flows of different protocols: each is a series of its own, and fairness is reported."""

import json
from pathlib import Path

import pyarrow as pa

from gauntlet import report
from gauntlet.results import store
from tests.report import factory
from tests.report.factory import Campaign, Place

SMALL = Campaign(protocols=("tcp-bbr",), delays_s=(0.025,), losses=(0.0,), repetitions=2, duration_s=6)


def write_pair(results: Path, scratch: Path, repetition: int) -> None:
    """A run whose second flow is CUBIC and gets half of what BBR gets."""
    place = Place("tcp-bbr", 0.025, 0.0, repetition)
    trace = factory.trace_table(factory.stretch_start_s(repetition), 20)
    record_dir = scratch / place.run
    factory.write_record(record_dir, SMALL, place, trace)
    record = json.loads((record_dir / "record.json").read_text())
    record["flows"].append(record["flows"][0] | {"id": "f1", "received_bytes": 0})
    record["paths"].append(record["paths"][0] | {"flow": "f1"})
    (record_dir / "record.json").write_text(json.dumps(record))
    with pa.OSFile(str(record_dir / "messages.arrow")) as source:
        first = pa.ipc.open_file(source).read_all()
    every_second = first.take(pa.array(range(0, first.num_rows, 2)))
    second = every_second.set_column(0, "flow", pa.repeat(pa.scalar(1, pa.uint16()), every_second.num_rows))
    factory.write_arrow(pa.concat_tables([first, second]), record_dir / "messages.arrow")
    flow = {"app": "cbr", "app_params": {"duration_s": SMALL.duration_s}}
    spec = {
        "id": place.run,
        "factors": {"protocol": "tcp-bbr+tcp-cubic", "repetition": repetition},
        "labels": {},
        "flows": [{"protocol": "tcp-bbr", "app": "cbr"}, {"protocol": "tcp-cubic", "app": "cbr"}],
    }
    plan = {"id": place.run, "flows": [flow | {"id": "f0"}, flow | {"id": "f1"}]}
    certificate = factory.certificate(place.run, trusted=True)
    factory.put(results, spec, plan, record_dir, {"lte": trace}, certificate=certificate)


def test_flows_of_one_run_are_told_apart(tmp_path: Path) -> None:
    results = tmp_path / "r"
    store.create(results, factory.EXPERIMENT, factory.manifest(SMALL), scenario=factory.line())
    for repetition in (1, 2):
        write_pair(results, tmp_path / "s", repetition)
    cells = {
        (cell["kpi"], cell["protocol"]): cell["mean"]
        for cell in report.summary(results)["cells"]
        if cell["mean"]
    }
    bbr, cubic = "tcp-bbr beside tcp-cubic", "tcp-cubic beside tcp-bbr"
    ratio = cells["throughput_bps", cubic] / cells["throughput_bps", bbr]
    assert 0.49 < ratio < 0.51
    share = cells["jain_index", bbr]
    assert abs(share - (1 + ratio) ** 2 / (2 * (1 + ratio**2))) < 1e-3
    text = report.build(results).read_text()
    assert "TCP BBR beside TCP CUBIC" in text
    assert "TCP CUBIC beside TCP BBR" in text
