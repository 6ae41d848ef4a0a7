"""`scripts/lint-shell.sh` hands every shell script and the Makefile's recipes to shellcheck."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.scripts.conftest import ROOT
from tests.scripts.test_pipes import scripts

_SHELLCHECK = """#!/bin/bash
if [ "${!#}" = - ]; then cat >"$SEEN/recipes"; exit "${RECIPES:-0}"; fi
printf '%s\\n' "$@" >"$SEEN/files"
exit "${FILES:-0}"
"""


def lint(folder: Path, **variables: str) -> int:
    """Run it with a shellcheck that notes what it is given, and ends as told."""
    program = folder / "shellcheck"
    program.write_text(_SHELLCHECK)
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "SEEN": str(folder), **variables}
    command = [str(ROOT / "scripts" / "lint-shell.sh")]
    return subprocess.run(command, env=environment, check=False, capture_output=True).returncode


def test_all_of_it_is_read(tmp_path: Path) -> None:
    assert lint(tmp_path) == 0
    given = {(ROOT / line).resolve() for line in (tmp_path / "files").read_text().splitlines()}
    assert given == {file.resolve() for file in scripts()} - {ROOT / "Makefile"}
    recipes = (tmp_path / "recipes").read_text()
    assert "\ncargo clippy" in recipes
    assert "\nmake: " not in recipes


@pytest.mark.parametrize("fault", ["FILES", "RECIPES"])
def test_a_fault_in_either_fails(tmp_path: Path, fault: str) -> None:
    assert lint(tmp_path, **{fault: "1"}) != 0
