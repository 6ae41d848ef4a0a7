#!/usr/bin/env python3
"""Plays the mutants of mutants.toml: each takes a rule out of the code, and its test must then fail.

The sources are copied to `target/rasta-mutants` and changed there. A mutant that does not compile, whose
text is not found exactly once, or that its test does not notice is reported; the exit code is then 1.
`--check` only looks for the texts, without building anything.
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
CRATE = Path("crates/rasta")
COPY = ROOT / "target" / "rasta-mutants"
BUILD = ROOT / "target" / "rasta-mutants-build"


@dataclass(frozen=True)
class Mutant:
    """A change to one place, and the test that must notice it."""

    rule: str
    file: str
    find: str
    replace: str
    target: str
    test: str

    def occurrences(self, root: Path) -> int:
        """How often the text stands in its file; 1 is right."""
        path = root / CRATE / self.file
        return path.read_text().count(self.find) if path.exists() else 0


def mutants() -> list[Mutant]:
    """All mutants, in the order of the file."""
    return [Mutant(**entry) for entry in tomllib.loads((ROOT / CRATE / "mutants.toml").read_text())["mutant"]]


def copy_sources() -> None:
    """A fresh copy of the crates, without touching what was built."""
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
    path = COPY / CRATE / mutant.file
    original = path.read_text()
    path.write_text(original.replace(mutant.find, mutant.replace))
    target = ["--lib"] if mutant.target == "lib" else ["--test", mutant.target]
    command = ["cargo", "test", "-q", "-p", "rasta", *target, "--", mutant.test]
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
    parser.add_argument("tests", nargs="*", help="only the mutants of these tests")
    parser.add_argument(
        "--check", action="store_true", help="only see that each text stands once in its file"
    )
    arguments = parser.parse_args()
    chosen = [mutant for mutant in mutants() if not arguments.tests or mutant.test in arguments.tests]
    failures = 0
    if arguments.check:
        for mutant in chosen:
            if (count := mutant.occurrences(ROOT)) != 1:
                failures += 1
                print(f"{mutant.rule}: its text stands {count} times in {mutant.file}")
        return 1 if failures or not chosen else 0
    copy_sources()
    for mutant in chosen:
        wrong = play(mutant)
        failures += wrong is not None
        print(f"{mutant.rule}: {wrong or 'noticed'}", flush=True)
    print(f"{len(chosen) - failures} of {len(chosen)} mutants are noticed")
    return 1 if failures or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
