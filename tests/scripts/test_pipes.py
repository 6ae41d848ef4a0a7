"""No script reads a pipe with a program that stops early.

Such a program ends first, its writer dies of SIGPIPE, and under `pipefail` the pipe has failed although
everything was found: now and then, depending on who is faster. What was written goes into a variable or a
here-string instead, or is read to its end.
"""

import re
from pathlib import Path

import pytest

from tests.scripts.conftest import ROOT

SKIPPED = {".git", ".venv", "target", "build", "results"}
"""Folders at the root that are made here, not kept."""

_EARLY = re.compile(
    r"""(?<!\|)\|&?\s*(?:command\s+|LC_ALL=C\s+)?(?:
        [efz]?grep\b[^|;&]*?\s(?:-[a-zA-Z]*[qm]|--quiet|--silent|--max-count)
      | head\b
      | sed\s[^|]*?['"\s;{\d/]q(?=['"\s;}]|$)
      | awk\s[^|]*?\bexit\b
      | read\b
    )""",
    re.VERBOSE,
)


def early(text: str) -> list[str]:
    """Pipes whose reader stops early, one by one; comments and the breaks of long lines are left out."""
    kept = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    joined = re.sub(r"\\\n\s*", " ", kept)
    joined = re.sub(r"\|\s*\n\s*", "| ", joined)
    return [line.strip() for line in joined.splitlines() if _EARLY.search(line)]


def scripts() -> list[Path]:
    """Every shell script, and what else hands commands to a shell: the Makefile."""
    found = [ROOT / "Makefile"]
    for top in sorted(ROOT.iterdir()):
        if top.name in SKIPPED or not top.is_dir() or top.is_symlink():
            continue
        for file in top.rglob("*"):
            if file.is_file() and (file.suffix == ".sh" or file.stat().st_mode & 0o111):
                first = file.read_bytes()[:100].split(b"\n")[0]
                if file.suffix == ".sh" or re.match(rb"#!.*[/ ](?:ba|da)?sh(?: |$)", first):
                    found.append(file)
    return found


@pytest.mark.parametrize("file", scripts(), ids=lambda file: str(file.relative_to(ROOT)))
def test_no_reader_of_a_pipe_stops_early(file: Path) -> None:
    assert early(file.read_text(encoding="utf-8")) == []


def test_the_scripts_are_found() -> None:
    found = {str(file.relative_to(ROOT)) for file in scripts()}
    assert {"Makefile", ".ci/run", "scripts/system-packages.sh", "src/gauntlet/kernel/build.sh"} <= found
    assert "packaging/gauntlet-net/scripts/gauntlet" not in found, "that is Python"


@pytest.mark.parametrize(
    "fault",
    [
        "apt-cache policy x | grep -q Candidate",
        "apt-cache policy x |grep -Eq 'a|b'",
        "a | grep -i -q b",
        "a | grep --quiet b",
        "a | grep -m1 b",
        "a | grep -e b -q",
        "a | grep b -q",
        "a | egrep -q b",
        "a | grep -m 1 b",
        "sort -V | head -1",
        "long \\\n    | head --lines=1",
        "long |\n    head",
        "a | sed 1q",
        "a | sed -n '/b/{p;q}'",
        "a | awk '/b/ { print; exit }'",
        "first=$(a | b | head -c 4)",
        "a | read -r first",
        "a |& grep -q b",
    ],
)
def test_an_early_reader_is_seen(fault: str) -> None:
    assert early(f"set -euo pipefail\n{fault}\n") != []


@pytest.mark.parametrize(
    "fine",
    [
        "# no `a | grep -q b` here",
        "grep -q word file || echo none",
        "a || head file",
        "a | grep word",
        "a | grep word; mkdir -m 700 b",
        "a | sort -V | tail -1",
        "a | sed 's/q/r/'",
        "a | sed -n '2,10p'",
        "a | while read -r line; do echo; done",
        "head -1 file | cat",
        "a | headache",
    ],
)
def test_who_reads_to_the_end_is_not(fine: str) -> None:
    assert early(fine) == []
