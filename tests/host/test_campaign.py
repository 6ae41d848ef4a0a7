"""`gauntlet run --engine host` as a user types it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gauntlet.engine.host import Host

TEXT = """
[experiment]
name = "host"
repetitions = 2
[scenario]
name = "constant"
rate = "5Mbit/s"
[link]
network = "wire"
[matrix]
protocols = ["tcp-cubic", "quic-quinn-cubic"]
channel_delay = ["5ms"]
[workload]
app = "bulk"
size = "50kB"
"""


def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """The command line in this folder, with a cache of its own."""
    environment = {**os.environ, "GAUNTLET_CACHE_LIMIT": "1GB"}
    return subprocess.run(
        [sys.executable, "-m", "gauntlet", "run", "host.toml", *words],
        capture_output=True, text=True, cwd=cwd, env=environment, check=False,
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the experiment."""
    (tmp_path / "host.toml").write_text(TEXT)
    return tmp_path


def test_an_experiment_is_played_certified_and_continued(host: Host, folder: Path) -> None:
    first = run("--engine", "host", "--json", cwd=folder)
    assert first.returncode == 0, first.stderr
    answer = json.loads(first.stdout)
    assert (answer["planned"], answer["finished"], answer["cached"], answer["failed"]) == (4, 4, 0, {})
    results = folder / "results" / "host"
    manifest = json.loads((results / "manifest.json").read_text())
    assert manifest["engine"]["ground"] == "host"
    assert manifest["sessions"][-1]["workers"] == 1
    for record in results.glob("runs/*/record.json"):
        assert json.loads(record.read_text())["guest"]["ground"] == "host"
    again = json.loads(run("--engine", "host", "--json", cwd=folder).stdout)
    assert (again["present_before"], again["finished"], again["cached"]) == (4, 0, 0)
    elsewhere = json.loads(run("--engine", "host", "--json", "--out", "elsewhere", cwd=folder).stdout)
    assert (elsewhere["finished"], elsewhere["cached"]) == (4, 0), "real time comes from no cache"


def test_several_workers_and_what_the_host_lacks_are_refused_before_anything_is_written(
    host: Host, folder: Path
) -> None:
    refused = run("--engine", "host", "--workers", "2", cwd=folder)
    assert refused.returncode != 0
    assert "one at a time" in refused.stderr
    text = (folder / "host.toml").read_text()
    (folder / "host.toml").write_text(
        text.replace("[workload]", '[sysctl]\n"net.ipv4.tcp_mem" = "1 2 3"\n[workload]')
    )
    refused = run("--engine", "host", cwd=folder)
    assert refused.returncode != 0
    assert "belongs to the whole kernel" in refused.stderr
    assert not (folder / "results").exists()


def test_results_of_one_ground_are_not_continued_on_the_other(host: Host, folder: Path) -> None:
    assert run("--engine", "host", "--quiet", cwd=folder).returncode == 0
    refused = run("--quiet", cwd=folder)
    assert refused.returncode != 0
    assert "results of another ground (host; now virtual)" in refused.stderr
    keys = {path.read_text() for path in (folder / "results/host/runs").glob("*/key.json")}
    assert len(keys) == 4
    assert all('"host"' in key for key in keys)
