"""`gauntlet.load`: tables that agree with the folder, of trusted runs and of those that failed."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import gauntlet
from gauntlet.errors import RunError, UserError
from gauntlet.results import pcapng, store
from tests.report import factory
from tests.report.factory import FAILED, UNTRUSTED

FACTORS = ["channel_delay_s", "loss", "protocol", "repetition"]


@pytest.fixture(scope="module")
def results(folder: Path) -> gauntlet.Results:
    """The folder, loaded."""
    return gauntlet.load(folder)


def names(table: gauntlet.Table, column: str = "run") -> set[str]:
    """The different values of a column."""
    return set(table.arrow[column].to_pylist())


def of_run(table: gauntlet.Table, run: str) -> pa.Table:
    """The rows of a run."""
    return table.arrow.filter(pc.equal(table.arrow["run"].cast(pa.string()), run))


def test_what_is_not_trusted_is_there_only_when_asked_for(results: gauntlet.Results, folder: Path) -> None:
    for name in ("runs", "flows", "messages", "series"):
        assert UNTRUSTED not in names(getattr(results, name)), name
    assert "1 more left out" in repr(results)
    every = gauntlet.load(folder, untrusted=True)
    for name in ("runs", "flows", "messages", "series"):
        assert UNTRUSTED in names(getattr(every, name)), name
    assert of_run(every.flows, UNTRUSTED)["trusted"].to_pylist() == [False]
    assert "left out" not in repr(every)


def test_packets_too(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "results"
    shutil.copytree(folder, place)
    (tmp_path / "record.json").write_text(json.dumps({"taps": [{"tap": 0, "link": "a>b"}]}))
    row = np.zeros(2, pcapng.packet_type("headers"))
    row["size_bytes"] = 100
    row.tofile(tmp_path / "packets.bin")
    trusted = next(run.id for run in store.Results.open(folder).runs() if run.trusted)
    for run in (trusted, UNTRUSTED):
        plan = {"id": run, "record": {"packets": "headers"}}
        pcapng.convert(tmp_path, plan, place / "runs" / run / "capture.pcapng")
    assert names(gauntlet.load(place).packets) == {trusted}
    assert names(gauntlet.load(place, untrusted=True).packets) == {trusted, UNTRUSTED}


def test_a_folder_without_a_trusted_run_gives_nothing_that_was_not_asked_for(tmp_path: Path) -> None:
    few = factory.Campaign(protocols=("tcp-bbr",), delays_s=(0.025,), repetitions=2, duration_s=5.0)
    none = replace(few, untrusted=frozenset(place.run for place in factory.places(few)))
    found = gauntlet.load(factory.build(tmp_path / "results", tmp_path / "scratch", none))
    assert (len(found.runs), len(found.flows), len(found.series)) == (0, 0, 0)
    with pytest.raises(UserError, match=r"No run here is trusted; gauntlet\.load.*untrusted=True"):
        _ = found.messages
    for kind in ("repetitions", "throughput", "delay"):
        with pytest.raises(UserError, match="no trusted run"):
            found.chart(kind)


def test_runs_that_failed_stay_as_rows_with_their_reason(results: gauntlet.Results) -> None:
    for table, prefix in ((results.runs, ""), (results.flows, "run_")):
        (row,) = of_run(table, FAILED).to_pylist()
        assert row[f"{prefix}outcome"] == "failed"
        assert "no sign of life" in row[f"{prefix}reason"]
        assert row["loss"] == 0.01
    assert row["throughput_bps"] is None
    assert row["flow"] is None


def test_flows_are_those_of_the_folder_with_factors_beside_them(
    results: gauntlet.Results, folder: Path
) -> None:
    assert results.factors == FACTORS
    flows = results.flows.arrow
    assert flows.column_names[:5] == ["run", "channel_delay_s", "loss", "run_protocol", "repetition"]
    assert flows["run"].to_pylist() == results.runs.arrow["run"].to_pylist()
    stored = {row["run"]: row for row in pq.read_table(folder / "tables" / "flows.parquet").to_pylist()}
    factors = {row["run"]: row for row in pq.read_table(folder / "tables" / "runs.parquet").to_pylist()}
    for row in flows.to_pylist():
        if row["run"] != FAILED:
            assert row["throughput_bps"] == stored[row["run"]]["throughput_bps"]
            assert row["run_protocol"] == factors[row["run"]]["protocol"]
            assert row["loss"] == factors[row["run"]]["loss"]


def test_messages_are_those_of_every_run(results: gauntlet.Results, folder: Path) -> None:
    for run in store.Results.open(folder).runs():
        if run.trusted:
            stored, loaded = run.messages(), of_run(results.messages, run.id)
            assert stored is not None
            assert loaded.select(stored.column_names).equals(
                stored.cast(loaded.select(stored.column_names).schema)
            )
            assert set(loaded["protocol"].to_pylist()) == {run.factors["protocol"]}
    assert FAILED not in names(results.messages)


def test_series_have_windows_sockets_and_links_in_seconds(results: gauntlet.Results, folder: Path) -> None:
    found = store.Results.open(folder)
    run = next(run for run in found.runs() if run.trusted)
    rows = of_run(results.series, run.id).to_pylist()
    by_quantity = {
        name: [row for row in rows if row["quantity"] == name] for name in {row["quantity"] for row in rows}
    }
    windows = [row for row in found.table("windows").to_pylist() if row["run"] == run.id]
    assert [row["value"] for row in by_quantity["throughput_bps"]] == [
        row["throughput_bps"] for row in windows
    ]
    assert [row["t_s"] for row in by_quantity["throughput_bps"]] == [row["start_s"] for row in windows]
    sockets, trace = run.sockets(), run.trace()
    assert sockets is not None
    assert trace is not None
    rtts = by_quantity["srtt_s"]
    assert [row["value"] for row in rtts] == pytest.approx(
        [ns / 1e9 for ns in sockets["srtt_ns"].to_pylist()]
    )
    assert [row["t_s"] for row in rtts] == pytest.approx([ns / 1e9 for ns in sockets["t_ns"].to_pylist()])
    assert {row["flow"] for row in rtts} == {0}
    rates = by_quantity["rate_up_bps"]
    assert [row["value"] for row in rates] == trace["rate_up_bps"].to_pylist()
    assert {(row["bearer"], row["flow"]) for row in rates} == {("lte", None)}


def test_tables_go_to_polars_pandas_and_duckdb(results: gauntlet.Results) -> None:
    messages, flows = results.messages, results.flows
    polars = messages.to_polars().join(flows.to_polars().select("run", "throughput_bps"), on="run")
    assert polars.height == len(messages) > 0
    assert messages.to_pandas().merge(flows.to_pandas()[["run", "throughput_bps"]], on="run").shape[0] == len(
        messages
    )
    counted = duckdb.execute(
        "SELECT count(*), count(DISTINCT run) FROM messages JOIN flows USING (run)"
    ).fetchall()
    assert counted == [(len(messages), len(names(messages)))]


def test_what_is_not_there_is_one_sentence(results: gauntlet.Results, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--capture"):
        _ = results.packets
    with pytest.raises(UserError, match="is not a results folder"):
        gauntlet.load(tmp_path)
    (tmp_path / "manifest.json").write_text((folder / "manifest.json").read_text())
    with pytest.raises(RunError, match="holds no run yet"):
        gauntlet.load(tmp_path)


def test_a_factor_never_hides_a_column(folder: Path, tmp_path: Path) -> None:
    """An experiment that varies `size` has a factor `size_bytes`, and messages have a column of that name."""
    place = tmp_path / "results"
    (place / "runs").mkdir(parents=True)
    (place / "manifest.json").write_text((folder / "manifest.json").read_text())
    run = next(run for run in store.Results.open(folder).runs() if run.trusted)
    (place / "runs" / run.id).mkdir()
    for file in run.folder.iterdir():
        (place / "runs" / run.id / file.name).write_bytes(file.read_bytes())
    spec = json.loads((run.folder / "spec.json").read_text())
    spec["factors"]["size_bytes"] = 123
    (place / "runs" / run.id / "spec.json").write_text(json.dumps(spec))
    messages = gauntlet.load(place).messages
    assert names(messages, "run_size_bytes") == {123}
    assert names(messages, "size_bytes") == {1448}
