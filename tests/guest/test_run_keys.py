"""Runs are found again by their keys: in their folder, in another experiment, after a kill; same bytes."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gauntlet.engine import guest
from tests.experiment import factory as experiments
from tests.guest.conftest import parquet_bytes

EXPERIMENT = experiments.text(
    "short",
    protocols=("tcp-cubic", "udp"),
    workload=experiments.paced("2s"),
    about={"repetitions": 1},
    scenario={"rate": "10Mbit/s", "delay": "10ms"},
)


class Laboratory:
    """A user with a cache of their own and an experiment file."""

    def __init__(self, home: Path, kernel: Path) -> None:
        self.home = home
        self.environment = {
            **os.environ,
            "GAUNTLET_CACHE": str(home / "cache"),
            "GAUNTLET_CACHE_LIMIT": "1GB",
            "GAUNTLET_KERNEL": str(kernel),
        }
        self.file = home / "own.toml"
        self.file.write_text(EXPERIMENT)

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "gauntlet", *words]

    def run(self, out: str, *further: str, code: int = 0) -> Any:
        """Play the experiment; what `--json` says, or the sentence where it ends with another code."""
        done = subprocess.run(
            self.command("run", str(self.file), "--out", str(self.home / out), "--json", *further),
            capture_output=True, text=True, env=self.environment, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        return done.stderr if code else json.loads(done.stdout)

    def entries(self) -> list[Path]:
        return sorted((self.home / "cache" / "runs").glob("*/*"))


@pytest.fixture
def laboratory(tmp_path: Path, machine: guest.Machine) -> Laboratory:
    return Laboratory(tmp_path, machine.kernel)


def came(told: Mapping[str, Any]) -> tuple[int, int, int]:
    """How many runs were there, came from the cache, were played."""
    return told["present_before"], told["cached"], told["finished"]


def content(results: Path) -> dict[str, bytes]:
    """Every file of the runs and of the tables."""
    files = [path for part in ("runs", "tables") for path in (results / part).rglob("*") if path.is_file()]
    return {str(path.relative_to(results)): path.read_bytes() for path in sorted(files)}


def test_only_what_is_new_is_played(laboratory: Laboratory) -> None:
    assert came(laboratory.run("a")) == (0, 0, 4)
    laboratory.file.write_text("# A comment.\n" + EXPERIMENT)
    assert came(laboratory.run("a")) == (4, 0, 0)
    assert (laboratory.home / "a" / "experiment.toml").read_text().startswith("# A comment.")
    assert came(laboratory.run("a", "--repetitions", "2")) == (4, 0, 4)
    turned = EXPERIMENT.replace('["tcp-cubic", "udp"]', '["sctp", "udp", "tcp-cubic"]')
    laboratory.file.write_text(turned)
    assert came(laboratory.run("a", "--repetitions", "2")) == (8, 0, 4)
    said = laboratory.run("a", code=2)
    assert "a holds 6 runs that this experiment does not have (sctp_loss-0pct_rep-002)" in said
    assert came(laboratory.run("b")) == (0, 6, 0)


def test_a_run_from_the_cache_is_byte_for_byte_the_run_that_is_played(laboratory: Laboratory) -> None:
    laboratory.run("first", "--capture")
    other = EXPERIMENT.replace('"short"', '"other"').replace('["0%", "1%"]', '["1%", "2%"]')
    laboratory.file.write_text(other.replace('app = "cbr"', 'name = "telemetry"\napp = "cbr"'))
    assert came(laboratory.run("taken", "--capture")) == (0, 2, 2)
    assert came(laboratory.run("played", "--capture", "--no-cache")) == (0, 0, 4)
    taken, played = content(laboratory.home / "taken"), content(laboratory.home / "played")
    assert any(name.endswith("capture.pcapng") for name in played)
    assert taken.keys() == played.keys()
    assert [name for name in played if taken[name] != played[name]] == []
    assert came(laboratory.run("plain")) == (0, 4, 0)
    assert not list((laboratory.home / "plain").rglob("capture.pcapng"))
    # Their packets can still be had, and only that is new.
    before = content(laboratory.home / "plain")
    assert came(laboratory.run("plain", "--capture")) == (0, 4, 0)
    after = content(laboratory.home / "plain")
    captures = {name for name in after if name.endswith("capture.pcapng")}
    assert len(captures) == 4
    assert {name: after[name] for name in after.keys() - captures} == before
    assert came(laboratory.run("plain", "--capture")) == (4, 0, 0)


def test_a_renamed_axis_loses_no_run(laboratory: Laboratory) -> None:
    laboratory.run("a")
    (laboratory.home / "cache").rename(laboratory.home / "gone")
    # What was an axis is now said once, so the runs have other ids and no such factor.
    laboratory.file.write_text(
        EXPERIMENT.replace('protocols = ["tcp-cubic", "udp"]', 'protocols = ["udp", "tcp-cubic"]')
        .replace('loss = ["0%", "1%"]', 'loss = ["0%", "1%"]\nduration = ["2s"]')
        .replace('duration = "2s"\n', "")
    )
    assert came(laboratory.run("a")) == (4, 0, 0)
    assert came(laboratory.run("b", "--no-cache")) == (0, 0, 4)
    assert content(laboratory.home / "a") == content(laboratory.home / "b")


def test_a_damaged_or_missing_entry_is_played_again(laboratory: Laboratory) -> None:
    laboratory.run("a")
    damaged, pruned, *_ = laboratory.entries()
    (damaged / "messages.parquet").write_bytes(b"not what it was")
    shutil.rmtree(pruned)
    assert came(laboratory.run("b")) == (0, 2, 2)
    assert content(laboratory.home / "a") == content(laboratory.home / "b")
    assert came(laboratory.run("c")) == (0, 4, 0)


def test_a_killed_campaign_continues_and_the_cache_has_what_was_finished(laboratory: Laboratory) -> None:
    out = laboratory.home / "a"
    command = laboratory.command("run", str(laboratory.file), "--out", str(out), "--workers", "1", "--quiet")
    with subprocess.Popen(command, env=laboratory.environment) as process:
        for _ in range(6000):
            if any(out.glob("runs/[!.]*/key.json")) or process.poll() is not None:
                break
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    there = len(list(out.glob("runs/[!.]*/key.json")))
    assert 1 <= there < 4
    present, cached, played = came(laboratory.run("a"))
    assert present == there
    assert present + cached + played == 4
    assert parquet_bytes(out) == parquet_bytes_of_new(laboratory)


def parquet_bytes_of_new(laboratory: Laboratory) -> dict[str, bytes]:
    """The same experiment played at one go."""
    assert came(laboratory.run("whole", "--no-cache")) == (0, 0, 4)
    return parquet_bytes(laboratory.home / "whole")


def test_a_changed_page_and_a_changed_program_are_played_anew(laboratory: Laboratory) -> None:
    page = laboratory.home / "own.csv"
    page.write_text("name,size_bytes\nindex.htm,1000\na.png,5000\n")
    text = EXPERIMENT.replace('"udp"', '"sctp"').partition("[workload]")[0]
    laboratory.file.write_text(text + '[workload]\napp = "page"\npage = "own.csv"\nhttp = "1.1"\n')
    assert came(laboratory.run("a")) == (0, 0, 4)
    page.write_text("name,size_bytes\nindex.htm,1000\na.png,5001\n")
    assert "does not have" in laboratory.run("a", code=2)
    assert came(laboratory.run("b")) == (0, 0, 4)
