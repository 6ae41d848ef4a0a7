"""Same seed, same bytes: on one worker and on many, alone and in a batch, whole and in parts."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

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
