"""QUIC in the guest: same seed, same bytes; what arrives over bad links; what is said when nothing does."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.guest.conftest import ROOT, Play, run_plan

STACKS = [
    ("quic-quinn", "cubic"),
    ("quic-quinn", "newreno"),
    ("quic-quinn", "bbr"),
    ("quic-noq", "cubic"),
    ("quic-s2n", "cubic"),
    ("quic-s2n", "bbr"),
]
RTT_S = 0.05


def quic_flow(stack: str, size_bytes: int = 1_000_000, **params: Any) -> dict[str, Any]:
    """A transfer from client to server."""
    return {
        "id": "f0",
        "stack": stack,
        "stack_params": params,
        "app": "bulk",
        "app_params": {"size_bytes": size_bytes},
        "from": "client",
        "to": "server",
        "start_s": 0.5,
    }


def quic_run(stack: str, size_bytes: int = 1_000_000, **params: Any) -> dict[str, Any]:
    """A run of one transfer, named by the stack."""
    record = {"messages": True, "socket_interval_s": 0.1, "packets": "headers", "taps": None}
    name = "_".join([stack, *(str(value) for value in params.values())])
    return run_plan(id=name, flows=[quic_flow(stack, size_bytes, **params)], record=record)


def over_a_bad_link(run: dict[str, Any], delay_s: float, loss: float) -> dict[str, Any]:
    """The same run with other delays both ways and with loss forward."""
    links = [entry for entry in run["timeline"] if "delay_s" not in entry]
    forward = {"at_s": 0.0, "link": "mid>east", "delay_s": delay_s, "loss": loss}
    return {**run, "timeline": [*links, forward, {"at_s": 0.0, "link": "mid>west", "delay_s": delay_s}]}


@pytest.mark.parametrize(("stack", "control"), STACKS)
def test_the_same_seed_gives_the_same_bytes(stack: str, control: str, play: Play, tmp_path: Path) -> None:
    def files(seed: int) -> dict[str, bytes]:
        run = over_a_bad_link(quic_run(stack, congestion_control=control), 0.03, 0.02)
        play({**run, "seed": seed})
        folder = tmp_path / "out" / run["id"]
        return {
            name: (folder / name).read_bytes() for name in ("packets.bin", "messages.arrow", "sockets.arrow")
        }

    one, other, again = files(1), files(2), files(1)
    assert one == again
    assert one["packets.bin"] != other["packets.bin"]


def test_a_clean_link_shows_one_round_trip_of_set_up_and_a_full_line(play: Play, tmp_path: Path) -> None:
    runs = [quic_run(stack, 4_000_000, congestion_control=control) for stack, control in STACKS]
    for name, record in play(*runs).items():
        (flow,) = record["flows"]
        assert (flow["outcome"], flow["reason"]) == ("ok", None), name
        assert flow["received_bytes"] == 4_000_000
        # One round trip, and the time in which the line sends the handshake's bytes.
        assert RTT_S <= flow["established_s"] - 0.5 < RTT_S + 0.03, name
        assert flow["delivery_instants"] == "application"
        throughput_bps = 4_000_000 * 8 / (flow["last_received_s"] - flow["established_s"])
        assert 0.85 * 5.2e6 < throughput_bps < 5.2e6, name
        samples = pa.ipc.open_file(tmp_path / "out" / name / "sockets.arrow").read_all().to_pylist()
        assert len(samples) > 50, name
        late = samples[len(samples) // 2 :]
        assert all(RTT_S <= row["srtt_ns"] / 1e9 < 1.5 for row in late), name
        # BBR shrinks its window to four packets to measure the delay of the path.
        assert all(row["cwnd_bytes"] >= 4 * 1200 for row in late), name
        assert max(row["cwnd_bytes"] for row in late) > 0.9 * RTT_S * 5.2e6 / 8, name


def test_everything_arrives_over_five_per_cent_loss_and_long_delay(play: Play) -> None:
    runs = [
        over_a_bad_link(quic_run(stack, 200_000), 0.3, 0.05)
        for stack in ("quic-quinn", "quic-noq", "quic-s2n")
    ]
    for name, record in play(*runs).items():
        (flow,) = record["flows"]
        assert (flow["outcome"], flow["reason"], flow["received_bytes"]) == ("ok", None, 200_000), name


@pytest.mark.parametrize("stack", ["quic-quinn", "quic-noq", "quic-s2n"])
def test_failures_are_sentences(stack: str, play: Play) -> None:
    silent = quic_run(stack, 5_000_000, idle_timeout_s=5)
    silent = {
        **silent,
        "id": "silent",
        "timeline": [*silent["timeline"], {"at_s": 2.0, "link": "mid>east", "up": False}],
    }
    dark = quic_run(stack)
    dark = {
        **dark,
        "id": "dark",
        "timeline": [*dark["timeline"], {"at_s": 0.1, "link": "mid>east", "up": False}],
    }
    runs = [quic_run(stack, fault="wrong_ca"), quic_run(stack, fault="expired_certificate"), silent, dark]
    reasons = {name: only_flow(record)["reason"] for name, record in play(*runs).items()}
    assert "an authority that is not trusted" in reasons[f"{stack}_wrong_ca"]
    assert "the certificate has expired" in reasons[f"{stack}_expired_certificate"]
    assert reasons["silent"].startswith("timed out: the other side stopped answering")
    assert reasons["dark"].startswith("timed out: 10.0.2.1:5000 did not answer")


def test_two_flows_share_the_line(play: Play) -> None:
    first, second = quic_flow("quic-quinn", 2_000_000), quic_flow("quic-s2n", 2_000_000)
    record = play(run_plan(flows=[first, {**second, "id": "f1"}]))["run"]
    for flow in record["flows"]:
        assert (flow["outcome"], flow["received_bytes"]) == ("ok", 2_000_000), flow["reason"]
    assert max(flow["last_received_s"] for flow in record["flows"]) > 0.5 + 4_000_000 * 8 / 5.2e6


@pytest.mark.parametrize("stack", ["quic-quinn", "quic-noq", "quic-s2n"])
def test_a_message_leaves_when_it_is_handed_over(stack: str, play: Play, tmp_path: Path) -> None:
    cbr = {"rate_bps": 800_000, "message_size_bytes": 1000, "duration_s": 2}
    flow = {**quic_flow(stack), "app": "cbr", "app_params": cbr}
    (result,) = play(run_plan(flows=[flow]))["run"]["flows"]
    assert (result["outcome"], result["received_messages"]) == ("ok", 200), result["reason"]
    rows = pa.ipc.open_file(tmp_path / "out" / "run" / "messages.arrow").read_all().to_pylist()
    # Half the round trip and the time the line needs for a packet, or for two where a message takes two.
    delays_s = [(row["received_ns"] - row["sent_ns"]) / 1e9 for row in rows[20:]]
    assert all(RTT_S / 2 < delay_s < RTT_S / 2 + 0.005 for delay_s in delays_s), max(delays_s)


def test_datagrams_are_lost_and_not_repeated(play: Play) -> None:
    cbr = {"rate_bps": 2_000_000, "message_size_bytes": 1000, "duration_s": 10}
    flow = {**quic_flow("quic-quinn", datagrams=True), "app": "cbr", "app_params": cbr}
    (result,) = play(over_a_bad_link(run_plan(flows=[flow]), 0.025, 0.05))["run"]["flows"]
    assert result["outcome"] == "ok", result["reason"]
    assert result["sent_messages"] == 2500
    assert 0.90 < result["received_messages"] / 2500 < 0.99


def test_the_record_states_the_versions_that_were_built(play: Play) -> None:
    record = play(quic_run("quic-quinn"))["quic-quinn"]
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    built = {package["name"]: package["version"] for package in lock["package"]}
    libraries = record["guest"]["libraries"]
    assert {"quinn-proto", "s2n-quic", "rustls", "ring"} <= libraries.keys()
    assert {name: built[name] for name in libraries} == libraries


def only_flow(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The one flow of a record, which failed."""
    (flow,) = record["flows"]
    assert flow["outcome"] == "failed"
    return dict(flow)
