"""The patches of docs/guide/extend.md that add to the Rust crates: they apply, touch no more than the guide
says, and the tests that they bring pass in a copy of the workspace.

Another one is a patch beside them, a row in the guide and an entry in `CRATES`.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from .test_example_patches import GUIDE, ROOT, files_touched, promised

CRATES = {"rule": ("netlab", "in_path::actions::trim")}
"""By patch: the crate that it adds to, and the tests of its library that it brings."""

DESCRIPTION = "src/gauntlet/experiment/player.json"
"""What the player says of itself, made anew by a command and not written by hand."""

REGISTRIES = ("mod.rs", "registry.rs")


def test_every_patch_of_a_crate_is_tried() -> None:
    added = {
        file.stem
        for file in (GUIDE / "patches").glob("*.patch")
        if any(name.startswith("crates/") for name in files_touched(file.read_text("utf-8")))
    }
    assert added == set(CRATES)


@pytest.mark.parametrize("name", sorted(CRATES))
def test_an_addition_is_one_file_its_line_in_the_registry_and_the_description(name: str) -> None:
    touched = files_touched((GUIDE / "patches" / f"{name}.patch").read_text("utf-8"))
    assert len(touched) == promised(name)
    written = {file: lines for file, lines in touched.items() if file != DESCRIPTION}
    assert sum(lines == 0 for lines in written.values()) == 1
    # A module and an entry.
    there = {file: lines for file, lines in written.items() if lines}
    assert all(Path(file).name in REGISTRIES and lines <= 2 for file, lines in there.items()), there


@pytest.mark.parametrize("name", sorted(CRATES))
def test_the_tests_that_a_patch_brings_pass(name: str, tmp_path: Path) -> None:
    for part in ("crates", "src/gauntlet/experiment"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__", "target"))
    for file in ("Cargo.toml", "Cargo.lock"):
        shutil.copy(ROOT / file, tmp_path / file)
    patch = GUIDE / "patches" / f"{name}.patch"
    # As a plain patch: the temporary folder may lie within some repository.
    subprocess.run(
        ["git", "apply", patch], cwd=tmp_path, check=True, env={**os.environ, "GIT_DIR": os.devnull}
    )
    crate, tests = CRATES[name]
    done = subprocess.run(
        ["cargo", "test", "--locked", "--offline", "--quiet", "-p", crate, "--lib", "--", tests],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        # Where the crate's libraries have been compiled: of the copy only the crate itself is.
        env={**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target")},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) > 0
