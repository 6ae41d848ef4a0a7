"""Boots the selftests of the Rust crates, each the first process of a guest of its own."""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from gauntlet.engine import guest
from tests.guest.conftest import ROOT

_CLOSING = re.compile(r"selftest: (\d+) passed, (\d+) failed")


@dataclass(frozen=True)
class Checked:
    """The checks of a selftest by name, and the lines of those that failed, with what was wrong."""

    passed: tuple[str, ...]
    failed: tuple[str, ...]


def run_selftest(machine: guest.Machine, crate: str, scratch: Path, *words: str) -> Checked:
    """Build the selftest of `crate` if need be, boot it with `words` as arguments and read its lines.

    A selftest that does not come to its end is an error.
    """
    command = [
        str(machine.kernel), "mem=256M", "rootfstype=hostfs", "root=/dev/root", "rootflags=/", "rw",
        f"init={_built(crate)}", "time-travel=inf-cpu", f"time-travel-start={guest.BOOT_INSTANT_NS}",
        "con=null", "con0=null,fd:1", "panic=1", "quiet", f"uml_dir={scratch}/", "umid=guest",
    ]  # fmt: skip
    done = subprocess.run(
        [*command, "--", *words] if words else command,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "GAUNTLET_SEED": "1", "TMPDIR": str(scratch)},
    )  # fmt: skip
    closing = _CLOSING.search(done.stdout)
    assert closing, done.stdout[-2000:] + done.stderr[-2000:]
    words_of = [line.split(maxsplit=1) for line in done.stdout.splitlines()]
    passed = tuple(rest[0] for first, *rest in filter(None, words_of) if first == "ok" and rest)
    failed = tuple(rest[0] for first, *rest in filter(None, words_of) if first.startswith("FAIL") and rest)
    assert (len(passed), len(failed)) == (int(closing[1]), int(closing[2])), done.stdout
    return Checked(passed, failed)


def _built(crate: str) -> Path:
    """The selftest of a crate, as `cargo test --workspace` builds it; built if it is not there yet."""
    done = subprocess.run(
        ["cargo", "build", "--profile", "test", "--quiet", "--workspace", "--example", f"{crate}_selftest",
         "--message-format", "json"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact" and message.get("executable"):
            return Path(message["executable"])
    raise AssertionError(f"cargo named no executable for the selftest of {crate}")
