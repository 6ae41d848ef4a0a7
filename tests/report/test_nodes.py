"""What nodes of runs in real time used up: in a table, and in the report with a word on who was idle."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import gauntlet
from gauntlet import report
from gauntlet.errors import UserError
from gauntlet.metrics.tables import finalize
from gauntlet.report.nodes import usage
from gauntlet.report.trust import trust
from gauntlet.results import layout
from tests.documentation.snippets import blocks
from tests.report import factory


def _node(name: str, cpu_ns: int | None, **more: Any) -> dict[str, Any]:
    used: dict[str, Any] = {
        "peak_memory_bytes": 8_000_000,
        "peak_socket_memory_bytes": None,
        "voluntary_context_switches": 90,
        "involuntary_context_switches": 10,
        "queue_dropped_packets": 0,
        "socket_dropped_packets": 0,
    }
    return {"node": name, "cpu_ns": cpu_ns, **used, **more}


def in_real_time(folder: Path, *, busy_share: float) -> Path:
    """A made-up campaign, as if of the host ground: the sender's CPU time is its repetition in seconds; after
    the first repetition of TCP with CUBIC the machine is as busy as said.
    """
    made = factory.Campaign(("tcp-cubic", "tcp-bbr"), (0.025,), (0.0,), 2, 5.0)
    results = factory.build(folder / "r", folder / "s", made)
    about = json.loads((results / layout.MANIFEST).read_text())
    about["engine"]["ground"] = "host"
    (results / layout.MANIFEST).write_text(json.dumps(about))
    for run, place in layout.run_folders(results):
        record = json.loads((place / layout.RECORD).read_text())
        repetition = int(run[-3:])
        after = busy_share if run.startswith("tcp-cubic") and repetition == 1 else 0.01
        load = {"busy_share": 0.02, "steal_share": 0.0, "over_s": 0.5}
        record["guest"] = {"ground": "host", "host": {
            "accounting": "cgroup v2", "before": load, "after": {**load, "busy_share": after},
            "steal_share": 0.0,
        }}  # fmt: skip
        record["nodes"] = [_node("client", repetition * 1_000_000_000), _node("mid", None)]
        (place / layout.RECORD).write_text(json.dumps(record))
    finalize(results)
    return results


def test_each_node_of_each_run_has_a_row(tmp_path: Path) -> None:
    results = in_real_time(tmp_path, busy_share=0.02)
    rows = pq.read_table(results / "tables/nodes.parquet").to_pylist()
    assert len(rows) == 8
    assert [row["cpu_ns"] for row in rows if row["run"].startswith("tcp-bbr")] == [
        1_000_000_000, None, 2_000_000_000, None,
    ]  # fmt: skip
    assert {row["accounting"] for row in rows} == {"cgroup v2"}
    assert {(row["busy_share_before"], row["steal_share"]) for row in rows} == {(0.02, 0.0)}


def test_the_report_has_the_means_of_the_nodes_that_did_something(tmp_path: Path) -> None:
    loaded = report.load(in_real_time(tmp_path, busy_share=0.02))
    used = usage(loaded)
    assert used is not None
    assert used.words.startswith("The machine was idle before and after each run. Counted by cgroup v2;")
    assert [(row.node, row.runs) for row in used.rows] == [("client", 2), ("client", 2)]
    assert [row.protocol for row in used.rows] == [style.label for style in loaded.styles]
    seconds, per_byte_ns, memory, sockets, switches, full = used.rows[0].values
    assert (seconds, memory, sockets, switches, full) == ("1.50", "8.00", "", "100", "0")
    of_first = [row for row in loaded.rows if row.protocol == loaded.styles[0].key]
    expected = sum(row.repetition * 1e9 / row.received_bytes for row in of_first) / 2
    assert abs(float(per_byte_ns.replace(",", "")) / expected - 1) < 0.01


def test_a_machine_that_was_not_idle_is_said(tmp_path: Path) -> None:
    loaded = report.load(in_real_time(tmp_path, busy_share=0.5))
    used = usage(loaded)
    assert used is not None
    sentence = (
        "The machine was more than 10 % busy with something else before or after 1 of 4 runs in real time: "
        "packets that came late may be its doing."
    )
    assert used.words.startswith(sentence)
    assert sentence in trust(loaded).warnings


def test_an_idle_machine_is_no_warning(tmp_path: Path) -> None:
    warnings = trust(report.load(in_real_time(tmp_path, busy_share=0.02))).warnings
    assert not [warning for warning in warnings if "machine" in warning]


def test_the_page_has_the_section_in_real_time_only(tmp_path: Path) -> None:
    real = in_real_time(tmp_path / "real", busy_share=0.02)
    made = factory.Campaign(("tcp-cubic", "tcp-bbr"), (0.025,), (0.0,), 2, 5.0)
    virtual = factory.build(tmp_path / "virtual", tmp_path / "scratch", made)
    assert not (virtual / "tables/nodes.parquet").exists()
    for results, has in ((real, True), (virtual, False)):
        assert ("What the nodes used" in report.build(results).read_text()) == has


def test_python_has_the_nodes_beside_the_factors_of_their_runs(tmp_path: Path) -> None:
    real = in_real_time(tmp_path, busy_share=0.02)
    nodes = gauntlet.load(real).nodes
    assert len(nodes) == 8
    assert {(row["protocol"], row["repetition"], row["cpu_ns"]) for row in nodes.arrow.to_pylist()} == {
        (protocol, repetition, cpu_ns)
        for protocol in ("tcp-cubic", "tcp-bbr")
        for repetition in (1, 2)
        for cpu_ns in (repetition * 1_000_000_000, None)
    }
    virtual = factory.build(
        tmp_path / "v", tmp_path / "w", factory.Campaign(("tcp-cubic",), (0.025,), (0.0,), 1)
    )
    with pytest.raises(UserError, match="in virtual time use nothing up"):
        _ = gauntlet.load(virtual).nodes


def test_the_python_of_the_guide_prints_what_the_nodes_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "results").mkdir()
    in_real_time(tmp_path, busy_share=0.02).rename(tmp_path / "results" / "constant")
    monkeypatch.chdir(tmp_path)
    (block,) = (it for it in blocks("python") if it.document.name == "host-ground.md")
    exec(compile(block.text, block.name, "exec"), {})
    assert "shape: (4, 5)" in capsys.readouterr().out
