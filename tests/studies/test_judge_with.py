"""scripts/judge_with.py: the same rules, asked of another experiment."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "scripts/judge_with.py", *arguments]
    return subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False)


def test_smaller_files_change_what_was_calibrated_and_nothing_that_was_measured() -> None:
    told = run("d34", "coexist-hsr=coexist-5750kb-hsr")
    assert told.returncode == 0, told.stderr
    rows = [line for line in told.stdout.splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == ["coexist-sctp-lossless", "coexist-sctp-lossy"]
    assert "13 claims keep their verdict." in told.stdout


def test_an_experiment_in_its_own_place_changes_nothing() -> None:
    told = run("d34", "coexist-hsr=coexist-hsr").stdout
    assert "15 claims keep their verdict." in told
    assert "| `" not in told


def test_what_is_missing_is_said() -> None:
    told = run("d34")
    assert told.returncode == 2
    assert "what stands in whose place" in told.stderr
