"""What was measured reaches docs/speed.md without being copied by hand, and only whole measurements do."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from speed import turns
from speed.turns import PEER, Turn

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "speed.md"

HOST = {
    "cpu": "Example 9000",
    "cores": 2,
    "distribution": "Debian",
    "kernel": "Linux 6.1",
    "load_1min_at_start": 0.1,
    "gauntlet": "1.0",
}


def measured() -> dict[str, dict[str, Any]]:
    """What three benchmarks found: the stack `TCP CUBIC` eight times, `SCTP` twice as fast as ns-3."""
    speeds = {PEER: 40.0, "TCP CUBIC": 320.0, "SCTP": 80.0}
    stacks = turns.figures({name: [Turn(speed, 1.0, 1.0, 2**20)] for name, speed in speeds.items()})
    parts = {
        name: {"title": f"flows of {name}", **stacks} for name in ("bulk", "logged", "secure", "paced", "ns3")
    }
    single = {"start": {"wall_s": 0.75}, "disk": {"messages": 10**6, "mebibytes_per_million": 0.25}}
    kernel = {"version": "6.12.1", "recipe_hash": "aa", "source_hash": "bb"}
    steps = {
        "store_messages_s": 1.0,
        "stored_bytes": 2_900_000,
        "read_messages_s": 2.0,
        "windows_of_1_s_s": 0.25,
        "all_kpis_of_the_flow_s": 0.5,
        "pcapng_of_packets_s": 3.0,
    }
    common = {"host": HOST, "short": False}
    return {
        "run": {**common, "guest_kernel": kernel, "rounds": 5, "parts": {**parts, **single}},
        "certificate": {**common, "parts": {"packets": 10**6, "whole_s": 0.9}},
        "results": {**common, "count": 10**6, "parts": steps},
        "campaign": {
            **common,
            "experiment": "demo",
            "runs": 120,
            "virtual_s": 8330.0,
            "cpu_s": 80.0,
            "cpu_s_of_parts": {"guest": 60.0, "certificate": 20.0},
        },
    }


def publish(folder: Path, found: dict[str, dict[str, Any]]) -> tuple[int, str, str]:
    """Publish into a copy of the document: exit code, what was said, and the document."""
    copy = folder / "speed.md"
    copy.write_text(DOCUMENT.read_text())
    for name, figures in found.items():
        (folder / f"bench-{name}.json").write_text(json.dumps(figures))
    command = [
        sys.executable,
        str(ROOT / "benchmarks" / "publish.py"),
        "--from",
        str(folder),
        "--document",
        str(copy),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr, copy.read_text()


def test_the_document_gets_what_was_measured(tmp_path: Path) -> None:
    code, said, document = publish(tmp_path, measured())
    assert (code, said) == (0, "")
    assert "Example 9000, 2 cores, Debian, Linux 6.1" in document
    assert "Guest kernel 6.12.1, recipe `aa`, source `bb`." in document
    # What reaches its goal is bold.
    assert "\nFlows of bulk:\n" in document
    assert "| TCP CUBIC | 320 | **8.0** | 8.0 | 7 | 1 |" in document
    assert "| SCTP | 80 | 2.0 | 2.0 | 3 | 1 |" in document
    assert "| SCTP | 80 | **2.0** | 2.0 | 1.8 | 1 |" in document
    assert "120 runs of 8,330 virtual seconds took 80 s of one core, 20 s not in a guest:" in document
    assert "| certificate | 20.0 | 25.0% |" in document
    assert "| certificate of 1,000,000 captured packets | 0.90 s |" in document
    assert "| windows of a second and all KPIs of that flow | 0.75 s |" in document


def test_two_kernels_are_published_when_they_were_compared(tmp_path: Path) -> None:
    kernels = {
        "host": HOST,
        "guest_kernel": {"version": "6.12.1", "recipe_hash": "aa", "source_hash": "bb"},
        "other_kernel": {"name": "the same without patch 0006", "sha256": "cc"},
        "short": False,
        "rounds": 5,
        "bytes": 25_000_000,
        "stacks": {"SCTP": {"times_wall": 1.204, "times_cpu": 1.3}},
    }
    code, _, document = publish(tmp_path, {**measured(), "kernels": kernels})
    assert code == 0
    assert "beside the same without patch 0006; 5 rounds of 25 MB:" in document
    assert "| SCTP | 1.20 | 1.30 |" in document


def test_long_paths_are_published_when_they_were_measured(tmp_path: Path) -> None:
    run = {"rate_bps": 10_000_000, "protocol": "mptcp-cubic", "recorded": "nothing", "nodes": 41}
    paths = {
        "host": HOST,
        "guest_kernel": {"version": "6.12.1"},
        "short": False,
        "rounds": 3,
        "runs": [{**run, "virtual_s_per_cpu_s": 12.34, "peak_bytes": 2**26}],
    }
    code, _, document = publish(tmp_path, {**measured(), "paths": paths})
    assert code == 0
    assert "One pinned core, 41 nodes; the best turn of each, of 3:" in document
    assert "| 10 | mptcp-cubic | nothing | 12.3 | 64 |" in document


def test_publishing_twice_is_publishing_once(tmp_path: Path) -> None:
    publish(tmp_path, measured())
    copy = tmp_path / "speed.md"
    once = copy.read_text()
    assert once.count("<!-- measured: stacks -->") == 1
    command = [sys.executable, str(ROOT / "benchmarks" / "publish.py"), "--from", str(tmp_path)]
    subprocess.run([*command, "--document", str(copy)], check=True)
    assert copy.read_text() == once


def test_a_short_form_is_not_published(tmp_path: Path) -> None:
    found = measured()
    found["certificate"]["short"] = True
    code, said, document = publish(tmp_path, found)
    assert code == 1
    assert "bench-certificate.json is of a short form" in said
    assert document == DOCUMENT.read_text()


def test_without_ns3_nothing_is_published(tmp_path: Path) -> None:
    found = measured()
    found["run"]["parts"]["ns3"] = {"title": "the peer", "skipped": "ns-3 is not installed"}
    code, said, document = publish(tmp_path, found)
    assert code == 1
    assert "lacks the comparison with ns-3" in said
    assert document == DOCUMENT.read_text()


@pytest.mark.parametrize("part", ["bulk", "paced", "start", "disk"])
def test_one_part_by_itself_is_not_published(tmp_path: Path, part: str) -> None:
    """`run.py --only` writes to the same file."""
    found = measured()
    del found["run"]["parts"][part]
    code, said, document = publish(tmp_path, found)
    assert code == 1
    assert said.endswith(f"bench-run.json lacks {part}; run `make bench`.\n")
    assert said.count("\n") == 1
    assert document == DOCUMENT.read_text()


@pytest.mark.parametrize("name", ["certificate", "results", "campaign"])
@pytest.mark.parametrize(("what", "other"), [("cpu", "Example 1"), ("cores", 8), ("gauntlet", "0.9")])
def test_figures_of_two_machines_are_not_published(
    tmp_path: Path, name: str, what: str, other: object
) -> None:
    found = measured()
    found[name]["host"] = {**HOST, what: other}
    code, said, document = publish(tmp_path, found)
    assert code == 1
    assert f"bench-{name}.json was measured elsewhere ({what}: {other}, and {HOST[what]} in" in said
    assert document == DOCUMENT.read_text()


def test_the_campaign_that_is_published_is_the_demo(tmp_path: Path) -> None:
    found = measured()
    found["campaign"]["experiment"] = "own"
    code, said, _ = publish(tmp_path, found)
    assert code == 1
    assert "bench-campaign.json is not of the demo" in said


@pytest.mark.parametrize("missing", ["run", "certificate", "results", "campaign"])
def test_what_was_not_measured_is_named(tmp_path: Path, missing: str) -> None:
    found = measured()
    del found[missing]
    code, said, _ = publish(tmp_path, found)
    assert code == 1
    assert f"bench-{missing}.json; `make bench` writes it." in said
