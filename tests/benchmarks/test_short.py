"""Every benchmark runs: its short form plays each of its parts really, and each part yields a figure."""

import hashlib
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gauntlet import engine
from gauntlet.engine import kernel
from speed import ns3
from speed.turns import PEER

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"

STACKS = {
    "bulk": ["TCP CUBIC", "TCP BBR", "TCP Reno", "SCTP"],
    "logged": ["TCP CUBIC", "TCP BBR", "TCP Reno", "SCTP"],
    "secure": [
        "tls-cubic",
        "tls-sctp",
        "quic-quinn-cubic",
        "quic-s2n-cubic",
        "restp-file",
        "quic-aioquic-newreno",
    ],
    "paced": ["UDP"],
    "ns3": [],
}


def short(name: str, folder: Path, *arguments: str) -> Any:
    """The figures of a benchmark's short form, which must end well and print something."""
    file = folder / "figures.json"
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / f"{name}.py"), "--short", "--json", str(file), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    return json.loads(file.read_text())


def numbers(content: Any) -> Iterator[float]:
    """Every number in JSON, at any depth."""
    match content:
        case dict():
            for value in content.values():
                yield from numbers(value)
        case list():
            for value in content:
                yield from numbers(value)
        case bool():
            pass
        case int() | float():
            yield content


def test_every_benchmark_is_tried_here() -> None:
    programs = {
        "run", "kernels", "campaign", "certificate", "results", "scale", "evidence", "sctp_reading",
        "paths", "publish",
    }  # fmt: skip
    # Called by themselves; tests named after them try how they judge.
    own = {"agreement", "prediction", "handshake_bytes", "what_packets_tell"}
    assert {file.stem for file in BENCHMARKS.glob("*.py")} == programs | own


def test_cargo_tries_every_benchmark_of_the_crates() -> None:
    """`cargo test` plays a benchmark's short form only where its manifest says `test = true`."""
    crates = {file.parents[1] for file in BENCHMARKS.parent.glob("crates/*/benches/*")}
    assert crates
    for crate in crates:
        benches = tomllib.loads((crate / "Cargo.toml").read_text())["bench"]
        assert {bench["name"] for bench in benches} == {file.stem for file in (crate / "benches").iterdir()}
        assert all(bench["test"] for bench in benches)


@pytest.mark.guest
def test_virtual_time(tmp_path: Path) -> None:
    found = short("run", tmp_path)
    assert found["host"]["cpu"]
    assert found["host"]["kernel"].startswith("Linux ")
    assert all(found["guest_kernel"][key] for key in ("version", "recipe_hash", "source_hash"))
    assert set(found["parts"]) == {*STACKS, "start", "disk"}
    for name, stacks in STACKS.items():
        part = found["parts"][name]
        if ns3.installed():
            assert list(part["stacks"]) == [PEER, *stacks]
            assert all("times_ns3_wall" in stack for stack in part["stacks"].values())
        elif stacks:
            assert list(part["stacks"]) == stacks
        else:
            assert part["skipped"] == ns3.MISSING
    figures = list(numbers(found["parts"]))
    assert len(figures) > 100
    assert all(figure > 0 for figure in figures)
    assert found["parts"]["disk"]["messages"] == 10_000


@pytest.mark.guest
def test_two_kernels(tmp_path: Path) -> None:
    image = kernel.image()
    found = short("kernels", tmp_path, str(image), "--name", "the same one")
    assert found["other_kernel"] == {
        "name": "the same one",
        "sha256": hashlib.sha256(image.read_bytes()).hexdigest(),
    }
    assert {"TCP CUBIC", "SCTP, everything recorded", "quic-quinn-cubic"} <= set(found["stacks"])
    assert all(figure > 0 for figure in numbers(found["stacks"]))


@pytest.mark.guest
def test_campaign(tmp_path: Path) -> None:
    found = short("campaign", tmp_path)
    parts = found["cpu_s_of_parts"]
    assert (found["experiment"], found["runs"]) == ("demo", 2)
    assert {"guest", "certificate", "report", "tables", "plans"} <= set(parts)
    assert all(spent_s > 0 for spent_s in parts.values())
    assert sum(parts.values()) == pytest.approx(found["cpu_s"])


@pytest.mark.guest
def test_paths(tmp_path: Path) -> None:
    found = short("paths", tmp_path, "--only", "restp-multipath", "--beside", str(engine.player_binary()))
    assert [run["recorded"] for run in found["runs"]] == ["nothing", "everything"]
    for run in found["runs"]:
        assert (run["protocol"], run["rate_bps"], run["nodes"]) == ("restp-multipath", 10_000_000, 41)
        assert run["virtual_s_per_cpu_s"] > 0
        assert run["times_cpu"] > 0


@pytest.mark.guest
def test_sctp_read_in_two_ways(tmp_path: Path) -> None:
    (seed,) = short("sctp_reading", tmp_path)["seeds"]
    assert seed["seed"] == 1
    link, steps = seed["first_difference"].removeprefix("on ").split(" at ")
    assert link in {'"sa>rasa"', '"sb>rbsb"'}
    assert steps.endswith(" steps")
    assert 0 < abs(seed["last_message_later_ms"]) < 100


def test_scale(tmp_path: Path) -> None:
    found = short("scale", tmp_path)
    assert found["runs"] == 100
    assert set(found["cpu_s"]) == {"plan", "making them up", "tables", "resume", "report"}
    assert all(spent_s > 0 for spent_s in found["cpu_s"].values())
    assert found["most_bytes"] > 10_000_000


def test_evidence(tmp_path: Path) -> None:
    found = short("evidence", tmp_path)
    assert found["runs"] == 22
    assert found["pack_bytes"] > 10_000
    for part in ("build", "verify"):
        assert found[part]["cpu_s"] > 0
        assert found[part]["peak_bytes"] > 10_000_000


@pytest.mark.parametrize(("name", "parts"), [("certificate", 4), ("results", 6)])
def test_certificate_and_results(name: str, parts: int, tmp_path: Path) -> None:
    found = short(name, tmp_path)
    assert found["host"]["cpu"]
    figures = list(numbers(found["parts"]))
    assert len(figures) == parts
    assert all(figure > 0 for figure in figures)
