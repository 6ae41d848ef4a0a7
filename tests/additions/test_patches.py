"""A transport, an application, a rule of the in-path node: each is one file and its lines in the registry.

Every patch of docs/guide/patches that touches the crates is applied to a copy of them, counted and compiled.
That a player with the two of them plays is tried by `make additions`, which builds it (some minutes).
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.ipc
import pytest

from gauntlet.engine import cores, guest, kernel
from tests.additions import applied
from tests.additions.applied import COPIES, GUIDE, PATCHES, ROOT, TARGET, Patch
from tests.guest.conftest import run_plan

UDP_LITE = 136
"""Its number in the IP header (RFC 3828, section 7)."""

patches = pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.name)


def test_all_three_are_among_them() -> None:
    assert {"transport", "application", "rule"} <= {patch.name for patch in PATCHES}


@patches
def test_an_addition_is_one_file_and_its_lines_in_the_registry(patch: Patch) -> None:
    touched = patch.touched
    row = re.search(
        rf"\| (\d+) \| \[`patches/{patch.name}\.patch`\]", (GUIDE / "extend.md").read_text("utf-8")
    )
    assert row is not None, f"docs/guide/extend.md has no row for {patch.name}.patch"
    assert len(touched) == int(row[1])
    assert sorted(lines == 0 for lines in patch.written.values()) == [False, True]
    # Its entry, and the line by which Rust knows that there is such a file.
    assert all(lines <= 2 for lines in patch.written.values())


@patches
def test_what_it_adds_compiles(patch: Patch) -> None:
    packages = [word for crate in patch.crates for word in ("--package", crate)]
    # In the profile of `make lint` and `cargo test`: what those have compiled serves here too.
    applied.cargo(patch.apply(), "check", "--profile", "test", "--target-dir", str(TARGET), *packages)


def test_the_tests_that_the_rule_brings_pass() -> None:
    copy = Patch(GUIDE / "patches" / "rule.patch").apply()
    place = ["--target-dir", str(TARGET), "--package", "netlab", "--lib"]
    said = applied.cargo(copy, "test", *place, "--", "in_path::actions::trim")
    passed = re.search(r"(\d+) passed", said)
    assert passed is not None
    assert int(passed[1]) > 0


@pytest.fixture(scope="module")
def player() -> Path:
    """The player with both patches."""
    transport, application = (
        Patch(GUIDE / "patches" / f"{name}.patch") for name in ("transport", "application")
    )
    copy = transport.apply()
    subprocess.run(
        ["git", "apply", application.file], cwd=copy, check=True, env={**os.environ, "GIT_DIR": os.devnull}
    )
    # In a folder of its own: the player of this tree is to stay what it is.
    target = COPIES / "target"
    applied.cargo(copy, "build", "--release", "--package", "gauntlet-player", "--target-dir", str(target))
    return target / "release" / "gauntlet-player"


@pytest.mark.slow
def test_the_new_application_plays(player: Path, tmp_path: Path) -> None:
    flow = {
        "id": "f0", "stack": "tcp", "stack_params": {"congestion_control": "cubic"},
        "app": "ping", "app_params": {"message_size_bytes": 200, "count": 20},
        "from": "client", "to": "server", "start_s": 0.5,
    }  # fmt: skip
    record = _played(player, tmp_path, run_plan(flows=[flow]))
    (result,) = record["flows"]
    assert (result["outcome"], result["sent_messages"], result["received_messages"]) == ("ok", 20, 20)
    with pyarrow.ipc.open_file(tmp_path / "out" / "run" / "exchanges.arrow") as file:
        rows = file.read_all().to_pylist()
    round_trips_ns = [row["completed_ns"] - row["requested_ns"] for row in rows]
    # 25 ms each way, and 266 bytes or so at 5.2 Mbit/s, twice.
    assert len(round_trips_ns) == 20
    assert all(50e6 < round_trip < 52e6 for round_trip in round_trips_ns)


def _played(player: Path, tmp_path: Path, run: Mapping[str, Any]) -> Any:
    machine = guest.Machine(kernel.image(), player)
    guest.boot([run], tmp_path / "out", seed=1, machine=machine, core=cores.usable_cores()[-1])
    return json.loads((tmp_path / "out" / "run" / "record.json").read_text())


EXPERIMENT = """
[experiment]
name = "lite"
seed = 1
repetitions = 1

[scenario]
name = "constant"
rate = "5Mbit/s"

[link]
delay = "25ms"
queue = "512kB"

[matrix]
protocols = ["udp-lite", "udp"]

[workload]
app = "cbr"
rate = "1Mbit/s"
packet = "1000B"
duration = "5s"

[record]
packets = "headers"
"""


@pytest.mark.slow
def test_an_experiment_names_the_new_transport(player: Path, tmp_path: Path) -> None:
    """With what the player says of itself, and no line of Python."""
    package = tmp_path / "src" / "gauntlet"
    shutil.copytree(ROOT / "src" / "gauntlet", package, ignore=shutil.ignore_patterns("__pycache__"))
    said = subprocess.run([player, "--describe"], capture_output=True, check=True)
    (package / "experiment" / "player.json").write_bytes(said.stdout)
    (tmp_path / "lite.toml").write_text(EXPERIMENT)
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "GAUNTLET_PLAYER": str(player)}
    subprocess.run(
        [sys.executable, "-m", "gauntlet", "run", "lite.toml", "--out", "lite"],
        cwd=tmp_path, check=True, env=environment,
    )  # fmt: skip
    records = {}
    for file in (tmp_path / "lite").rglob("record.json"):
        records[json.loads(file.read_text())["flows"][0]["stack"]] = file
    (result,) = json.loads(records["udp-lite"].read_text())["flows"]
    assert (result["outcome"], result["sent_messages"], result["received_messages"]) == ("ok", 625, 625)
    captures = {
        stack: b"".join(it.read_bytes() for it in file.parent.rglob("*.pcap*"))
        for stack, file in records.items()
    }
    # Version and length of the IPv4 header; the protocol's number nine bytes on.
    headers = rb"\x45\x00.{7}%s"
    lite = re.compile(headers % re.escape(bytes([UDP_LITE])), re.DOTALL)
    assert len(lite.findall(captures["udp-lite"])) >= 625
    assert len(lite.findall(captures["udp"])) == 0
