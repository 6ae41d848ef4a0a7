"""The checks that the Rust crates make inside a guest: each is a first process of its own."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from gauntlet.engine import guest
from tests.guest.conftest import ROOT


@pytest.mark.parametrize("crate", ["netlab", "workload"])
def test_selftest_in_the_guest(machine: guest.Machine, crate: str, tmp_path: Path) -> None:
    program = _built(crate)
    command = [
        str(machine.kernel), "mem=256M", "rootfstype=hostfs", "root=/dev/root", "rootflags=/", "rw",
        f"init={program}", "time-travel=inf-cpu", f"time-travel-start={guest.BOOT_INSTANT_NS}",
        "con=null", "con0=null,fd:1", "panic=1", "quiet", f"uml_dir={tmp_path}/", "umid=guest",
    ]  # fmt: skip
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "GAUNTLET_SEED": "1", "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    closing = re.search(r"selftest: (\d+) passed, (\d+) failed", done.stdout)
    assert closing, done.stdout[-2000:] + done.stderr[-2000:]
    assert int(closing[1]) > 5
    assert int(closing[2]) == 0, done.stdout


def _built(crate: str) -> Path:
    """The selftest of a crate, built if it is not there yet."""
    done = subprocess.run(
        ["cargo", "build", "--release", "--quiet", "--package", crate, "--example", f"{crate}_selftest",
         "--message-format", "json"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact" and message.get("executable"):
            return Path(message["executable"])
    raise AssertionError(f"cargo named no executable for the selftest of {crate}")
