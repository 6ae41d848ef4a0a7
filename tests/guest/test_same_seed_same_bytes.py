"""Same seed, same bytes: on one worker and on many, alone and in a batch, whole and in parts."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.guest.conftest import EXPERIMENTS, LineCampaigns, Play, gauntlet, parquet_bytes, run_plan, tcp_flow


def test_one_worker_and_many_give_the_same_bytes(line_campaigns: LineCampaigns) -> None:
    one, many = parquet_bytes(line_campaigns.one_worker), parquet_bytes(line_campaigns.all_workers)
    assert len(one) > 10
    assert one.keys() == many.keys()
    assert [name for name in one if one[name] != many[name]] == []


def test_a_run_alone_gives_the_bytes_it_gave_in_a_batch(
    line_campaigns: LineCampaigns, tmp_path: Path
) -> None:
    text = (EXPERIMENTS / "hsr-cbr.toml").read_text()
    alone = text.replace('["tcp-cubic", "tcp-bbr", "sctp", "udp"]', '["tcp-bbr"]')
    alone = alone.replace('["25ms", "50ms", "150ms"]', '["50ms"]').replace('["0%", "0.1%", "1%"]', '["1%"]')
    assert alone != text
    (tmp_path / "alone.toml").write_text(alone)
    answer = gauntlet(
        "run",
        tmp_path / "alone.toml",
        "--seed",
        "7",
        "--repetitions",
        "1",
        "--out",
        tmp_path / "alone",
        "--quiet",
    )
    assert answer.code == 0, answer.err
    (run,) = (tmp_path / "alone" / "runs").iterdir()
    batch = line_campaigns.all_workers / "runs" / run.name
    assert parquet_bytes(run) == parquet_bytes(batch)


def test_another_seed_gives_other_bytes(play: Play, tmp_path: Path) -> None:
    packets = []
    for seed in (1, 2, 1):
        play(run_plan(seed=seed, flows=[tcp_flow()]))
        packets.append((tmp_path / "out" / "run" / "packets.bin").read_bytes())
    assert packets[0] == packets[2]
    assert packets[0] != packets[1]


_STACKS: dict[str, dict[str, Any]] = {
    "tcp": {"congestion_control": "bbr"},
    "mptcp": {"congestion_control": "cubic"},
    "sctp": {},
    "tls": {"congestion_control": "cubic", "client_auth": True, "resumption": True},
    "tls-sctp": {"transport": "sctp"},
}
_APPS: dict[str, dict[str, Any]] = {
    "bulk": {"size_bytes": 300_000},
    "periodic": {"message_size_bytes": 10_000, "interval_s": 1.0, "duration_s": 5.0, "connection": "fresh"},
}


@pytest.mark.parametrize("stack", _STACKS)
def test_every_stack_gives_the_same_packets_for_the_same_seed(stack: str, play: Play, tmp_path: Path) -> None:
    """Keys, certificates and their signatures too: the packets are compared whole."""
    chosen: dict[str, Any] = {"stack": stack.partition("-")[0], "stack_params": _STACKS[stack]}
    flows = [
        tcp_flow(**chosen, id=app, app=app, app_params=params, start_s=0.5 + index)
        for index, (app, params) in enumerate(_APPS.items())
    ]
    lossy = {"at_s": 0.0, "link": "mid>east", "delay_s": 0.025, "loss": 0.01}
    whole = {"messages": True, "socket_interval_s": 0.1, "packets": "full", "taps": None, "keys": True}
    played = []
    for seed in (1, 1, 2):
        run = run_plan(seed=seed, flows=flows, record=whole)
        run["timeline"] = [lossy if entry["link"] == "mid>east" else entry for entry in run["timeline"]]
        record = play(run)["run"]
        assert [flow["outcome"] for flow in record["flows"]] == ["ok", "ok"], record["flows"]
        files = sorted((tmp_path / "out" / "run").iterdir())
        played.append({file.name: file.read_bytes() for file in files})
    assert len(played[0]) == 6
    assert [name for name in played[0] if played[0][name] != played[1][name]] == []
    assert played[0]["packets.bin"] != played[2]["packets.bin"]
    assert (b"SERVER_TRAFFIC_SECRET_0 " in played[0]["keys.log"]) == stack.startswith("tls")


@pytest.mark.parametrize("stack", ["restp", "udp"])
def test_user_space_and_datagrams_give_the_same_packets_for_the_same_seed(
    stack: str, play: Play, tmp_path: Path
) -> None:
    """ResTP's random numbers are its own, not the kernel's."""
    flows = [
        tcp_flow(id="calls", stack=stack, stack_params={}, app="voip", app_params={"duration_s": 5.0}),
        tcp_flow(
            id="rate", stack=stack, stack_params={}, app="cbr",
            app_params={"rate_bps": 2_000_000, "message_size_bytes": 1200, "duration_s": 5.0},
        ),
    ]  # fmt: skip
    if stack == "restp":
        flows[0]["stack_params"] = {"profile": "voice"}
        flows.append(tcp_flow(id="file", stack=stack, stack_params={"encapsulation": "ip"}))
    lossy = {"at_s": 0.0, "link": "mid>east", "delay_s": 0.025, "loss": 0.01}
    whole = {"messages": True, "socket_interval_s": 0.1, "packets": "full", "taps": None}
    played = []
    for seed in (1, 1, 2):
        run = run_plan(seed=seed, flows=flows, record=whole)
        run["timeline"] = [lossy if entry["link"] == "mid>east" else entry for entry in run["timeline"]]
        record = play(run)["run"]
        assert {flow["outcome"] for flow in record["flows"]} == {"ok"}, record["flows"]
        played.append({file.name: file.read_bytes() for file in (tmp_path / "out" / "run").iterdir()})
    assert [name for name in played[0] if played[0][name] != played[1][name]] == []
    assert played[0]["packets.bin"] != played[2]["packets.bin"]


def test_a_killed_campaign_continues_to_the_same_bytes(constant_results: Path, tmp_path: Path) -> None:
    out = tmp_path / "killed"
    command = [
        sys.executable, "-m", "gauntlet", "run", str(EXPERIMENTS / "constant.toml"), "--repetitions", "2",
        "--out", str(out), "--quiet",
    ]  # fmt: skip
    with subprocess.Popen(command, env=os.environ) as process:
        for _ in range(6000):
            if sum(1 for _ in out.glob("runs/[!.]*/record.json")) >= 3 or process.poll() is not None:
                break
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    present = {path.parent.name for path in out.glob("runs/[!.]*/record.json")}
    assert 3 <= len(present) < 18
    kept = {path: path.stat().st_mtime_ns for path in out.glob("runs/[!.]*/messages.parquet")}
    answer = gauntlet("run", EXPERIMENTS / "constant.toml", "--repetitions", "2", "--out", out, "--quiet")
    assert answer.code == 0, answer.err
    assert {path: path.stat().st_mtime_ns for path in kept} == kept, "a finished run was played again"
    assert parquet_bytes(out) == parquet_bytes(constant_results)
