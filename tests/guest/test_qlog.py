"""qlog of QUIC connections: what the files say, when, and the same bytes for the same seed."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.guest.conftest import Play, gauntlet, run_plan, tcp_flow
from tests.guest.test_external_stacks import shipped
from tests.guest.test_pages import CUBIC, SMALL, page_run
from tests.guest.test_quic import over_a_bad_link, quic_flow

ASKED = {"messages": True, "socket_interval_s": None, "packets": "headers", "taps": None, "qlog": True}

EXPERIMENT = """
[experiment]
name = "events"
repetitions = 1
[scenario]
name = "constant"
[matrix]
protocols = ["quic-quinn-cubic", "tcp-cubic"]
[workload]
app = "bulk"
size = "100kB"
[record]
qlog = true
"""


def sequence(text: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Head and events of qlog as JSON-SEQ: records that begin with RS and end with LF (RFC 7464)."""
    head, *events = [json.loads(record) for record in text.replace("\x1e", "").splitlines()]
    return head, events


def names(events: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The events of this name, whatever their category is called."""
    return [event for event in events if event["name"].endswith(f":{name}")]


def qlogs(out: Path) -> dict[str, str]:
    """The qlog files of the run that was played."""
    return {file.name: file.read_text() for file in sorted((out / "out" / "run" / "qlog").iterdir())}


def test_both_ends_of_every_connection_are_told(play: Play, tmp_path: Path) -> None:
    periodic = {"message_size_bytes": 2000, "interval_s": 1.0, "duration_s": 3.0, "connection": "fresh"}
    flows = [
        quic_flow("quic-quinn", 300_000),
        {**quic_flow("quic-quinn"), "id": "f1", "app": "periodic", "app_params": periodic},
        {**shipped("quic-aioquic-cubic", "bulk", "up", 100_000), "id": "f2"},
        {**quic_flow("quic-s2n", 10_000), "id": "f3"},
        tcp_flow(10_000, id="f4"),
    ]
    record = play(over_a_bad_link(run_plan(flows=flows, record=ASKED), 0.025, 0.02))["run"]
    assert [flow["outcome"] for flow in record["flows"]] == ["ok"] * 5, record["flows"]
    files = qlogs(tmp_path)
    quinns = [("f0", 0), ("f1", 0), ("f1", 1), ("f1", 2)]
    expected = [f"{flow}-{n}-{side}.sqlog" for flow, n in quinns for side in ("client", "server")]
    assert list(files) == [*expected, "f2-0-client.qlog", "f2-0-server.qlog"]

    for name in expected:
        head, events = sequence(files[name])
        assert (head["qlog_version"], head["qlog_format"]) == ("0.3", "JSON-SEQ"), name
        times = [event["time"] for event in events]
        assert times == sorted(times), name
        assert names(events, "packet_sent"), name
        assert names(events, "packet_received"), name
    _, events = sequence(files["f0-0-client.sqlog"])
    # The flow starts half a second into the run, and its times count from there.
    assert names(events, "packet_sent")[0]["time"] == pytest.approx(500.0, abs=0.5)
    assert events[-1]["time"] / 1e3 <= record["virtual_s"]
    assert len(names(events, "packet_sent")) > 300_000 / 1452
    assert names(events, "packet_lost"), "one packet in fifty is lost"
    assert names(events, "metrics_updated") or names(events, "recovery_metrics_updated")

    (trace,) = json.loads(files["f2-0-client.qlog"])["traces"]
    assert trace["vantage_point"]["type"] == "client"
    assert len(names(trace["events"], "packet_sent")) > 100_000 / 1280
    times = [event["time"] for event in trace["events"]]
    assert times == sorted(times)


@pytest.mark.parametrize(("http", "connections"), [("3", 1), ("3-fresh", len(SMALL))])
def test_connections_that_carry_http_are_told_too(
    http: str, connections: int, play: Play, tmp_path: Path
) -> None:
    run = {**page_run("quic-quinn", CUBIC, http), "record": ASKED}
    (record,) = play({**run, "id": "run"}).values()
    assert [flow["outcome"] for flow in record["flows"]] == ["ok"], record["flows"]
    files = qlogs(tmp_path)
    ends = [f"-{n}-{side}.sqlog" for n in range(connections) for side in ("client", "server")]
    assert sorted(files) == sorted(record["flows"][0]["id"] + end for end in ends)
    for name, text in files.items():
        _, events = sequence(text)
        assert names(events, "packet_sent"), name


def test_the_same_seed_gives_the_same_qlogs(play: Play, tmp_path: Path) -> None:
    aioquic = {**shipped("quic-aioquic-newreno", "bulk", "up", 50_000), "id": "f1"}
    flows = [quic_flow("quic-quinn", 200_000, congestion_control="bbr"), aioquic]
    seen = []
    for seed in (1, 1, 2):
        play(over_a_bad_link(run_plan(seed=seed, flows=flows, record=ASKED), 0.025, 0.02))
        seen.append(qlogs(tmp_path))
    assert len(seen[0]) == 4
    assert seen[0] == seen[1]
    assert all(seen[0][name] != text for name, text in seen[2].items())


def test_an_experiment_keeps_them_with_its_results(tmp_path: Path) -> None:
    (tmp_path / "events.toml").write_text(EXPERIMENT)
    answer = gauntlet("run", tmp_path / "events.toml", "--out", tmp_path / "results", "--quiet")
    assert answer.code == 0, answer.err
    runs = {folder.name: folder for folder in (tmp_path / "results" / "runs").iterdir()}
    (quinn,) = [folder for name, folder in runs.items() if name.startswith("quic-quinn")]
    (tcp,) = [folder for name, folder in runs.items() if name.startswith("tcp")]
    assert sorted(file.name for file in (quinn / "qlog").iterdir()) == [
        "f0-0-client.sqlog",
        "f0-0-server.sqlog",
    ]
    assert not (tcp / "qlog").exists()
