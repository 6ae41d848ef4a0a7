#!/usr/bin/env python3
"""Plays the mutants of mutants.toml: each takes the code of one clause away, and its test must then fail.

The sources are copied to `target/mutants` and changed there. A mutant that does not compile, whose text is
not found exactly once, or that its test does not notice is reported; the exit code is then 1.
`compliance.py --check` sees to it that every security clause has a mutant and that none has rotted, without
playing them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CRATE = Path("crates/restp-proto")
LIST = ROOT / CRATE / "mutants.toml"
COPY = ROOT / "target" / "mutants"
BUILD = ROOT / "target" / "mutants-build"


@dataclass(frozen=True)
class Mutant:
    """A change to one place, and the test that must notice it."""

    clause: str
    file: str
    find: str
    replace: str
    target: str
    test: str

    @property
    def path(self) -> Path:
        """The changed file, from the root."""
        return CRATE / self.file

    def occurrences(self, root: Path = ROOT) -> int:
        """How often the text stands in its file; 1 is right."""
        path = root / self.path
        return path.read_text().count(self.find) if path.exists() else 0


def mutants() -> list[Mutant]:
    """All mutants, in the order of the file."""
    return [Mutant(**entry) for entry in tomllib.loads(LIST.read_text())["mutant"]]


def copy_sources() -> None:
    """A fresh copy of everything that git knows or would know, without touching what was built."""
    shutil.rmtree(COPY, ignore_errors=True)
    names = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z", "Cargo.toml", "Cargo.lock", "crates"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for name in filter(None, names.split("\0")):
        source, place = ROOT / name, COPY / name
        if source.is_file():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, place)


def play(mutant: Mutant) -> str | None:
    """What is wrong, as a sentence, or None if the test noticed the change."""
    if (count := mutant.occurrences(COPY)) != 1:
        return f"its text stands {count} times in {mutant.file}"
    path = COPY / mutant.path
    original = path.read_text()
    path.write_text(original.replace(mutant.find, mutant.replace))
    target = ["--lib"] if mutant.target == "lib" else ["--test", mutant.target]
    package = "restp-proto" if mutant.target == "lib" else "restp-sim"
    command = ["cargo", "test", "-q", "-p", package, *target, "--", mutant.test]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(BUILD)}
    try:
        run = subprocess.run(
            command, cwd=COPY, env=environment, check=False, capture_output=True, text=True, timeout=900
        )
    except subprocess.TimeoutExpired:
        # A test that never ends has noticed something, too.
        return None
    finally:
        path.write_text(original)
    if "test result: FAILED" in run.stdout:
        return None
    if "test result: ok. 0 passed" in run.stdout:
        return f"there is no test {mutant.test} in {mutant.target}"
    return "it survives" if run.returncode == 0 else f"it does not compile:\n{run.stderr[-2000:]}"


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("clauses", nargs="*", help="only the mutants of these clauses")
    clauses = parser.parse_args().clauses
    copy_sources()
    chosen = [mutant for mutant in mutants() if not clauses or mutant.clause in clauses]
    failures = 0
    for mutant in chosen:
        wrong = play(mutant)
        failures += wrong is not None
        print(f"{mutant.clause} {mutant.test}: {wrong or 'noticed'}", flush=True)
    print(f"{len(chosen) - failures} of {len(chosen)} mutants are noticed")
    return 1 if failures or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
