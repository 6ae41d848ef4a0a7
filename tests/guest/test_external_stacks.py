"""The stacks that ship as external programs - aioquic, FTP, FTPS - and the example of one of your own."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gauntlet.experiment import expand, parse_experiment, plan_run
from tests.guest.conftest import EXPERIMENTS, Play, gauntlet, run_plan, tcp_flow
from tests.guest.test_quic import over_a_bad_link


def shipped(protocol: str, app: str, direction: str, size_bytes: int, **params: Any) -> dict[str, Any]:
    """A flow of a stack that ships, as an experiment makes it; `params` are further ones of the stack."""
    text = f"""
        [experiment]
        name = "shipped"
        [scenario]
        name = "constant"
        [matrix]
        protocols = ["{protocol}"]
        [workload]
        app = "{app}"
        size = "{size_bytes}B"
        direction = "{direction}"
    """
    (planned,) = plan_run(expand(parse_experiment(text, "shipped", Path()))[0])["flows"]
    made: dict[str, Any] = {**planned, "stack_params": {**planned["stack_params"], **params}}
    return made


def exchanges(out: Path) -> list[dict[str, Any]]:
    """The exchanges of the run that was played."""
    with pa.OSFile(str(out / "out" / "run" / "exchanges.arrow")) as file:
        rows: list[dict[str, Any]] = pa.ipc.open_file(file).read_all().to_pylist()
    return rows


def test_two_stacks_and_two_flows_share_the_link(play: Play) -> None:
    up = shipped("quic-aioquic-cubic", "bulk", "up", 200_000)
    record = play(run_plan(flows=[up, {**up, "id": "f1"}, tcp_flow(200_000, id="f2")]))["run"]
    assert [it["outcome"] for it in record["flows"]] == ["ok"] * 3, record["flows"]
    assert [it["received_bytes"] for it in record["flows"]] == [200_000] * 3


def test_everything_arrives_over_aioquic_at_five_per_cent_loss_and_long_delay(play: Play) -> None:
    up = shipped("quic-aioquic-newreno", "bulk", "up", 200_000)
    (found,) = play(over_a_bad_link(run_plan(flows=[up], limit_s=600.0), 0.3, 0.05))["run"]["flows"]
    # The server compares what arrived with what was sent.
    assert (found["outcome"], found["reason"], found["received_bytes"]) == ("ok", None, 200_000)


@pytest.mark.parametrize(
    "server",
    [
        pytest.param("echo GAUNTLET READY; sleep 1000", id="nobody listens"),
        pytest.param("{server} & sleep 2.5; kill -9 $!; wait $!", id="the peer is killed"),
    ],
)
def test_a_peer_of_aioquic_that_is_not_there_is_told(server: str, play: Play) -> None:
    up = shipped("quic-aioquic-cubic", "bulk", "up", 5_000_000)
    real = " ".join(up["stack_params"]["server"])
    up["stack_params"]["server"] = ["/bin/sh", "-c", server.format(server=real)]
    (found,) = play(run_plan(flows=[up], limit_s=300.0))["run"]["flows"]
    assert found["outcome"] == "failed"
    assert "Idle timeout" in found["reason"]
    assert found["received_bytes"] < 5_000_000


def test_aioquic_gives_the_same_bytes_for_the_same_seed(play: Play, tmp_path: Path) -> None:
    seen = []
    for seed in (1, 1, 2):
        up = shipped("quic-aioquic-newreno", "bulk", "up", 200_000)
        (found,) = play(run_plan(seed=seed, flows=[up]))["run"]["flows"]
        assert (found["outcome"], found["reason"]) == ("ok", None)
        assert found["received_messages"] == -(-200_000 // 1448)
        # One round trip of 50 ms for transport and TLS together (RFC 9001).
        assert found["established_s"] - found["start_s"] == pytest.approx(0.05, abs=2e-3)
        out = tmp_path / "out" / "run"
        seen.append([(out / name).read_bytes() for name in ("packets.bin", "messages.arrow")])
    assert seen[0] == seen[1]
    assert seen[0][0] != seen[2][0]


def test_a_file_is_fetched_over_aioquic(play: Play, tmp_path: Path) -> None:
    down = shipped("quic-aioquic-cubic", "files", "down", 300_000)
    (found,) = play(run_plan(flows=[down]))["run"]["flows"]
    assert (found["outcome"], found["from"], found["to"]) == ("ok", "server", "client")
    (row,) = exchanges(tmp_path)
    assert (row["object"], row["size_bytes"], row["outcome"]) == ("file", 300_000, "ok")
    assert row["requested_ns"] < row["secured_ns"] < row["first_byte_ns"] < row["completed_ns"]
    # Not faster than the link of 5.2 Mbit/s.
    assert (row["completed_ns"] - row["first_byte_ns"]) / 1e9 > 0.9 * 300_000 * 8 / 5.2e6


@pytest.mark.parametrize("connection", ["kept", "fresh"])
def test_periodic_messages_over_aioquic_have_instants_of_both_sides(
    connection: str, play: Play, tmp_path: Path
) -> None:
    sent = shipped("quic-aioquic-newreno", "bulk", "up", 1) | {"app": "periodic"}
    sent["app_params"] = {
        "message_size_bytes": 10_000, "interval_s": 3.0, "duration_s": 9.0, "connection": connection,
    }  # fmt: skip
    (found,) = play(run_plan(flows=[sent]))["run"]["flows"]
    assert (found["outcome"], found["received_messages"]) == ("ok", 3)
    rows = exchanges(tmp_path)
    assert [row["outcome"] for row in rows] == ["ok"] * 3
    for before, after in pairwise(rows):
        assert (after["requested_ns"] - before["requested_ns"]) / 1e9 == pytest.approx(3.0, abs=0.01)
    for row in rows:
        one_way_s = (row["first_byte_ns"] - (row["secured_ns"] or row["requested_ns"])) / 1e9
        assert one_way_s == pytest.approx(0.025 + 1280 * 8 / 5.2e6, abs=3e-3), (
            "a packet, and the link's delay"
        )
        assert (row["connected_ns"] is not None) == (connection == "fresh")


def test_aioquic_resumes_sessions_and_sends_early(play: Play, tmp_path: Path) -> None:
    captured, waited = {}, {}
    for wish in ("no", "resumption", "early_data", "early_data again"):
        sent = shipped("quic-aioquic-newreno", "bulk", "up", 1) | {"app": "periodic"}
        sent["app_params"] = {
            "message_size_bytes": 1000, "interval_s": 3.0, "duration_s": 9.0, "connection": "fresh",
        }  # fmt: skip
        sent["stack_params"]["parameters"] |= {
            "resumption": wish != "no", "early_data": wish.startswith("early_data"),
        }  # fmt: skip
        record = play(run_plan(flows=[sent]))["run"]
        rows = exchanges(tmp_path)
        assert [row["outcome"] for row in rows] == ["ok"] * 3, record["flows"]
        waited[wish] = [(row["first_byte_ns"] - row["requested_ns"]) / 1e9 for row in rows]
        captured[wish] = (tmp_path / "out" / "run" / "packets.bin").read_bytes()
    # From the request to the first byte at the receiver: a round trip and a half; half a one with 0-RTT. The
    # server gives one ticket after a handshake, and who sent its message early has gone by then.
    for wish, second_s in (("no", 0.075), ("resumption", 0.075), ("early_data", 0.025)):
        assert waited[wish] == pytest.approx([0.075, second_s, 0.075], abs=6e-3), wish
    assert captured["resumption"] != captured["no"]
    assert captured["early_data again"] == captured["early_data"]


@pytest.mark.parametrize(("app", "protocol"), [("ftp", "tcp-cubic"), ("ftps", "tcp-bbr")])
def test_a_file_is_fetched_by_ftp(app: str, protocol: str, play: Play, tmp_path: Path) -> None:
    seen = []
    for _ in range(2):
        (found,) = play(run_plan(flows=[shipped(protocol, app, "down", 500_000)]))["run"]["flows"]
        assert (found["outcome"], found["reason"]) == ("ok", None)
        (row,) = exchanges(tmp_path)
        seen.append((tmp_path / "out" / "run" / "packets.bin").read_bytes())
    assert seen[0] == seen[1]
    assert found["received_bytes"] == 500_000
    assert (row["size_bytes"], row["outcome"]) == (500_000, "ok")
    assert (row["connected_ns"] - row["requested_ns"]) / 1e9 == pytest.approx(0.05, abs=2e-3)
    assert (row["secured_ns"] is not None) == (app == "ftps")
    assert (row["completed_ns"] - row["first_byte_ns"]) / 1e9 > 0.9 * 500_000 * 8 / 5.2e6


@pytest.mark.parametrize(
    ("protocol", "app", "fault", "sentence"),
    [
        ("tcp-cubic", "ftps", "wrong_ca", "certificate was refused: unable to get local issuer"),
        ("tcp-cubic", "ftps", "expired_certificate", "certificate was refused: certificate has expired"),
        ("quic-aioquic-cubic", "files", "wrong_ca", "unable to get local issuer certificate"),
        ("quic-aioquic-cubic", "files", "expired_certificate", "Certificate is no longer valid"),
    ],
)
def test_a_certificate_that_is_not_to_be_trusted_is_not(
    protocol: str, app: str, fault: str, sentence: str, play: Play
) -> None:
    (found,) = play(run_plan(flows=[shipped(protocol, app, "down", 100_000, fault=fault)]))["run"]["flows"]
    assert found["outcome"] == "failed"
    assert sentence in found["reason"]
    assert found["received_bytes"] == 0


def test_a_server_that_stops_in_the_middle_is_told(play: Play, tmp_path: Path) -> None:
    down = shipped("tcp-cubic", "ftp", "down", 2_000_000)
    server = " ".join(down["stack_params"]["server"])
    down["stack_params"]["server"] = ["/bin/sh", "-c", f"{server} & sleep 2.5; kill -9 $!; wait $!"]
    (found,) = play(run_plan(flows=[down]))["run"]["flows"]
    assert found["outcome"] == "failed"
    assert "the server closed the connection, after " in found["reason"]
    (row,) = exchanges(tmp_path)
    assert row["completed_ns"] is None
    assert 0 < found["received_bytes"] < 2_000_000
    assert row["outcome"].endswith(f"after {found['received_bytes']} of 2000000 bytes of file")


def test_what_a_stack_does_not_have_is_unsupported(play: Play) -> None:
    up = shipped("quic-aioquic-cubic", "bulk", "up", 1000)
    up["stack_params"]["parameters"] = {"congestion_control": "bbr"}
    (found,) = play(run_plan(flows=[up]))["run"]["flows"]
    assert found["outcome"] == "unsupported"
    assert "aioquic has no congestion control 'bbr'; it has newreno and cubic" in found["reason"]


def test_the_documented_example_is_measured_beside_other_stacks(tmp_path: Path) -> None:
    out = tmp_path / "results"
    answer = gauntlet("run", EXPERIMENTS / "own-stack.toml", "--repetitions", "1", "--out", out, "--quiet")
    assert answer.code == 0, answer.err
    rows = pq.read_table(out / "tables" / "flows.parquet").to_pylist()
    assert {row["protocol"] for row in rows} == {"example", "tcp-cubic", "quic-aioquic-cubic"}
    assert [row["reason"] for row in rows if row["outcome"] != "ok"] == []
    assert all(row["received_bytes"] == 500_000 and row["download_time_s"] < 2 for row in rows)
    assert all(row["trusted"] for row in pq.read_table(out / "tables" / "runs.parquet").to_pylist())
    assert "Example over TCP" in (out / "report.html").read_text()
    assert len(rows) == 3 * 2
