"""QUIC by quiche, which is not in every guest: these tests are skipped where it was not built in."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from gauntlet.engine import guest
from gauntlet.experiment.sysctls import STOCK_SYSCTLS
from tests.guest.conftest import Play, run_plan, tcp_flow
from tests.guest.test_qlog import ASKED, names, qlogs, sequence
from tests.guest.test_quic import RTT_S, only_flow, over_a_bad_link, quic_flow, quic_run

STACK = "quic-quiche"
CONTROLS = ["cubic", "reno", "bbr"]
LEFT_OUT = "this guest was built without quiche"


SESSIONS = 4
"""Of `fresh_flow`, one for each of its messages."""
CERTIFICATE_BYTES = 300
"""A certificate with the proof of its key takes more: 0.4 kB and more (ECDSA P-256)."""


def fresh_flow(id: str = "f0", **params: Any) -> dict[str, Any]:
    """Messages of 1000 bytes, each over a session of its own."""
    periodic = {"message_size_bytes": 1000, "interval_s": 3.0, "duration_s": 12.0, "connection": "fresh"}
    return {**quic_flow(STACK, **params), "id": id, "app": "periodic", "app_params": periodic}


@pytest.fixture(scope="module")
def built_in(machine: guest.Machine, tmp_path_factory: pytest.TempPathFactory) -> bool:
    """Whether this guest has the stack. One that has not must say so."""
    folder = tmp_path_factory.mktemp("quiche")
    run = run_plan(flows=[quic_flow(STACK, 1000)], sysctls=dict(STOCK_SYSCTLS))
    guest.boot([run], folder / "out", seed=1, machine=machine)
    record = json.loads((folder / "out" / "run" / "record.json").read_text())
    if record["outcome"] == "ok":
        assert "quiche" in record["guest"]["libraries"]
        return True
    assert LEFT_OUT in record["reason"]
    assert "GAUNTLET_FEATURES=quiche make setup" in record["reason"]
    return False


@pytest.fixture(autouse=True)
def _only_where_it_is(built_in: bool) -> None:
    if not built_in:
        pytest.skip(LEFT_OUT)


@pytest.mark.parametrize("control", CONTROLS)
def test_the_same_seed_gives_the_same_bytes(control: str, play: Play, tmp_path: Path) -> None:
    def files(seed: int) -> dict[str, Any]:
        record = {**ASKED, "packets": "full", "socket_interval_s": 0.1, "keys": True}
        params: dict[str, Any] = {"congestion_control": control, "client_auth": True}
        flows = [quic_flow(STACK, **params), fresh_flow(id="f1", **params, resumption=True, early_data=True)]
        run = over_a_bad_link(run_plan(seed=seed, flows=flows, record=record), 0.03, 0.02)
        for found in play(run)["run"]["flows"]:
            assert (found["outcome"], found["reason"]) == ("ok", None)
        folder = tmp_path / "out" / "run"
        logs: dict[str, Any] = dict(qlogs(tmp_path))
        return logs | {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}

    one, other, again = files(1), files(2), files(1)
    assert [name for name in one if one[name] != again[name]] == []
    assert one["packets.bin"] != other["packets.bin"]
    assert b"CLIENT_TRAFFIC_SECRET_0 " in one["keys.log"]
    assert one["keys.log"].count(b"CLIENT_EARLY_TRAFFIC_SECRET ") == SESSIONS - 1


def test_a_clean_link_shows_one_round_trip_of_set_up_and_a_full_line(play: Play) -> None:
    runs = [quic_run(STACK, 4_000_000, congestion_control=control) for control in CONTROLS]
    for name, record in play(*runs).items():
        (flow,) = record["flows"]
        assert (flow["outcome"], flow["reason"], flow["received_bytes"]) == ("ok", None, 4_000_000), name
        assert RTT_S <= flow["established_s"] - 0.5 < RTT_S + 0.03, name
        throughput_bps = 4_000_000 * 8 / (flow["last_received_s"] - flow["established_s"])
        assert 0.8 * 5.2e6 < throughput_bps < 5.2e6, name


def test_everything_arrives_over_five_per_cent_loss_and_long_delay(play: Play) -> None:
    runs = [
        over_a_bad_link(quic_run(STACK, 200_000, congestion_control=control), 0.3, 0.05)
        for control in CONTROLS
    ]
    for name, record in play(*runs).items():
        (flow,) = record["flows"]
        assert (flow["outcome"], flow["reason"], flow["received_bytes"]) == ("ok", None, 200_000), name


def test_failures_are_sentences(play: Play) -> None:
    dark = quic_run(STACK, idle_timeout_s=5)
    dark = {**dark, "timeline": [*dark["timeline"], {"at_s": 0.1, "link": "mid>east", "up": False}]}
    faults = ["wrong_ca", "expired_certificate", "no_client_certificate"]
    records = play(dark, *(quic_run(STACK, fault=fault) for fault in faults))
    reasons = {name: only_flow(record)["reason"] for name, record in records.items()}
    assert "an authority that is not trusted" in reasons[f"{STACK}_wrong_ca"]
    assert "the certificate has expired" in reasons[f"{STACK}_expired_certificate"]
    assert "certificate" in reasons[f"{STACK}_no_client_certificate"]
    assert reasons[f"{STACK}_5"].startswith("timed out: 10.0.2.1:5000 did not answer")


def test_it_shares_the_line(play: Play) -> None:
    record = play(run_plan(flows=[quic_flow(STACK, 2_000_000), tcp_flow(2_000_000, id="f1")]))["run"]
    for flow in record["flows"]:
        assert (flow["outcome"], flow["received_bytes"]) == ("ok", 2_000_000), flow["reason"]


def test_a_message_leaves_when_it_is_handed_over(play: Play, tmp_path: Path) -> None:
    cbr = {"rate_bps": 800_000, "message_size_bytes": 1000, "duration_s": 2}
    (flow,) = play(run_plan(flows=[{**quic_flow(STACK), "app": "cbr", "app_params": cbr}]))["run"]["flows"]
    assert (flow["outcome"], flow["received_messages"]) == ("ok", 200), flow["reason"]
    rows = pa.ipc.open_file(tmp_path / "out" / "run" / "messages.arrow").read_all().to_pylist()
    # Half the round trip and the time the line needs for a packet, or for two where a message takes two.
    delays_s = [(row["received_ns"] - row["sent_ns"]) / 1e9 for row in rows[20:]]
    assert all(RTT_S / 2 < delay_s < RTT_S / 2 + 0.005 for delay_s in delays_s), max(delays_s)


@pytest.mark.parametrize("connection", ["fresh", "kept"])
def test_messages_go_over_fresh_and_kept_connections(connection: str, play: Play) -> None:
    periodic = {"message_size_bytes": 2000, "interval_s": 1.0, "duration_s": 5.0, "connection": connection}
    flow = {**quic_flow(STACK), "app": "periodic", "app_params": periodic}
    (result,) = play(over_a_bad_link(run_plan(flows=[flow]), 0.025, 0.02))["run"]["flows"]
    assert (result["outcome"], result["received_messages"]) == ("ok", 5), result["reason"]


def test_early_data_saves_a_round_trip_and_a_ticket_the_certificates(play: Play, tmp_path: Path) -> None:
    asked: dict[str, dict[str, Any]] = {
        "full": {"client_auth": True},
        "resumed": {"client_auth": True, "resumption": True},
        "early": {"client_auth": True, "resumption": True, "early_data": True},
    }
    records = play(*(run_plan(id=name, flows=[fresh_flow(**params)]) for name, params in asked.items()))
    connected_s: dict[str, list[float]] = {}
    completed_s: dict[str, list[float]] = {}
    sent_bytes: dict[str, int] = {}
    for name, record in records.items():
        (flow,) = record["flows"]
        assert (flow["outcome"], flow["received_messages"]) == ("ok", SESSIONS), flow["reason"]
        rows = pa.ipc.open_file(tmp_path / "out" / name / "exchanges.arrow").read_all().to_pylist()
        connected_s[name] = [(row["connected_ns"] - row["requested_ns"]) / 1e9 for row in rows]
        completed_s[name] = [(row["completed_ns"] - row["requested_ns"]) / 1e9 for row in rows]
        (line,) = [link for link in record["links"] if link["link"] == "west>mid"]
        sent_bytes[name] = line["sent_bytes"]
    # A handshake's packets take up to 5 ms on a line of this rate.
    trip = pytest.approx(RTT_S + 0.0025, abs=0.0025)
    assert connected_s["full"] == [trip] * SESSIONS
    assert connected_s["resumed"] == [trip] * SESSIONS
    assert connected_s["early"] == [trip] + [pytest.approx(0, abs=1e-4)] * (SESSIONS - 1)
    for full_s, early_s in zip(completed_s["full"][1:], completed_s["early"][1:], strict=True):
        assert full_s - early_s == trip
    # The sender's certificate alone; the receiver's goes in packets that are filled up without it.
    assert sent_bytes["full"] - sent_bytes["resumed"] > (SESSIONS - 1) * CERTIFICATE_BYTES


def test_datagrams_are_lost_and_not_repeated(play: Play) -> None:
    cbr = {"rate_bps": 2_000_000, "message_size_bytes": 1000, "duration_s": 10}
    flow = {**quic_flow(STACK, datagrams=True), "app": "cbr", "app_params": cbr}
    (result,) = play(over_a_bad_link(run_plan(flows=[flow]), 0.025, 0.05))["run"]["flows"]
    assert (result["outcome"], result["sent_messages"]) == ("ok", 2500), result["reason"]
    assert 0.90 < result["received_messages"] / 2500 < 0.99


def test_its_qlog_tells_what_was_sent(play: Play, tmp_path: Path) -> None:
    play(over_a_bad_link(run_plan(flows=[quic_flow(STACK, 300_000)], record=ASKED), 0.025, 0.02))
    files = qlogs(tmp_path)
    assert list(files) == ["f0-0-client.sqlog", "f0-0-server.sqlog"]
    for side, text in zip(("client", "server"), files.values(), strict=True):
        head, events = sequence(text)
        assert head["file_schema"] == "urn:ietf:params:qlog:file:sequential"
        assert head["trace"]["vantage_point"]["type"] == side
        times = [event["time"] for event in events]
        assert times == sorted(times)
        assert names(events, "packet_sent")
    _, events = sequence(files["f0-0-client.sqlog"])
    assert len(names(events, "packet_sent")) > 300_000 / 1350
    assert names(events, "recovery_metrics_updated")
