#!/usr/bin/env python3
"""Plays the mutants of a crate: each takes one rule out of the code, and its test must then fail.

They stand in the crate's `mutants.toml`. The sources are copied to `target/mutants` and changed there. A
mutant that does not compile, whose text is not found exactly once, or that its test does not notice is
reported; the exit code is then 1.

    python scripts/mutants.py restp-proto           all of a crate
    python scripts/mutants.py restp-proto R-PROT-1  those of a rule, or of a test
    python scripts/mutants.py rasta --check         only see that each text stands once, without building
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

ROOT = Path(__file__).resolve().parents[1]
COPY = ROOT / "target" / "mutants"
BUILD = ROOT / "target" / "mutants-build"


@dataclass(frozen=True)
class Mutant:
    """A change to one place, and the test that must notice it."""

    crate: str
    tests_in: str
    """The package of the tests in files of their own; others are in the crate's."""
    rule: str
    file: str
    """From the crate's folder."""
    find: str
    replace: str
    target: str
    """`lib`, `bin:` and a program's name, or the file of the test without its suffix."""
    test: str

    @property
    def path(self) -> Path:
        """The changed file, from the root."""
        return Path("crates") / self.crate / self.file

    def occurrences(self, root: Path = ROOT) -> int:
        """How often the text stands in its file; 1 is right."""
        path = root / self.path
        return path.read_text().count(self.find) if path.exists() else 0

    @property
    def build(self) -> list[str]:
        """What compiles its test."""
        if self.target == "lib":
            where = [package(self.crate), "--lib"]
        elif self.target.startswith("bin:"):
            where = [package(self.crate), "--bin", self.target.removeprefix("bin:")]
        else:
            where = [self.tests_in, "--test", self.target]
        return ["cargo", "test", "-q", "-p", *where, "--no-run"]

    @property
    def command(self) -> list[str]:
        """What plays its test."""
        return [*self.build[:-1], "--", self.test]


def package(crate: str) -> str:
    """The package in a crate's folder, which may have another name."""
    name: str = tomllib.loads((ROOT / "crates" / crate / "Cargo.toml").read_text())["package"]["name"]
    return name


def mutants(crate: str) -> list[Mutant]:
    """All mutants of a crate, in the order of its file."""
    listed = tomllib.loads((ROOT / "crates" / crate / "mutants.toml").read_text())
    return [Mutant(crate=crate, tests_in=listed["tests_in"], **entry) for entry in listed["mutant"]]


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


def rotten(mutant: Mutant, root: Path = ROOT) -> str | None:
    """Why it cannot be played, as a sentence; None if it can."""
    if (count := mutant.occurrences(root)) != 1:
        return f"its text stands {count} times in {mutant.file}"
    return None


def play(mutant: Mutant) -> str | None:
    """What is wrong, as a sentence, or None if the test noticed the change."""
    if (wrong := rotten(mutant, COPY)) is not None:
        return wrong
    path = COPY / mutant.path
    original = path.read_text()
    path.write_text(original.replace(mutant.find, mutant.replace))
    environment = {**os.environ, "CARGO_TARGET_DIR": str(BUILD)}

    def run(command: list[str], timeout_s: float | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=COPY,
            env=environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=timeout_s,
        )

    try:
        # Compiled first, however long that takes: only the test itself may run into the limit.
        built = run(mutant.build)
        if built.returncode != 0:
            return f"it does not compile:\n{built.stderr[-2000:]}"
        played = run(mutant.command, 900)
    except subprocess.TimeoutExpired:
        # A test that never ends has noticed something, too.
        return None
    finally:
        path.write_text(original)
    if "test result: FAILED" in played.stdout:
        return None
    if "test result: ok. 0 passed" in played.stdout:
        return f"there is no test {mutant.test} in {mutant.target}"
    return "it survives" if played.returncode == 0 else f"it ends in another way:\n{played.stderr[-2000:]}"


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    crates = sorted(file.parent.name for file in ROOT.glob("crates/*/mutants.toml"))
    parser.add_argument("crate", choices=crates)
    parser.add_argument("only", nargs="*", help="only the mutants of these rules or tests")
    parser.add_argument(
        "--check", action="store_true", help="only see that each text stands once in its file"
    )
    arguments = parser.parse_args()
    only = set(arguments.only)
    chosen = [it for it in mutants(arguments.crate) if not only or only & {it.rule, it.test}]
    if not arguments.check:
        copy_sources()
    failures = 0
    for mutant in chosen:
        wrong = rotten(mutant) if arguments.check else play(mutant)
        failures += wrong is not None
        if wrong or not arguments.check:
            print(f"{mutant.rule}, {mutant.test}: {wrong or 'noticed'}", flush=True)
    if not arguments.check:
        print(f"{len(chosen) - failures} of {len(chosen)} mutants are noticed")
    return 1 if failures or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
