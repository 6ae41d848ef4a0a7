"""The patches of docs/guide/extend.md apply, touch no more than the guide says, and what they add works."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guide"

USES = {
    "kpi": """
import numpy as np
from gauntlet.metrics.flow import FlowData
from gauntlet.metrics.registry import registry

instants_ns = lambda *given: np.array(given, dtype=np.int64) * 1_000_000
flow = FlowData(
    run="run", index=0, record={}, plan={}, protocol=None, run_end_s=9.0,
    sent_ns=instants_ns(0, 10, 20, 30), received_ns=np.append(instants_ns(200, 211, 30), -1),
    size_bytes=instants_ns(1, 1, 1, 1),
)
print(registry()["in_time_ratio"].of_flow(flow))
""",
    "chart": """
from gauntlet.figures.bars import bars
from gauntlet.figures.registry import KINDS
from gauntlet.figures.tidy import Quantity

table = {"protocol": ["A", "B"], "level": ["0 %", "0 %"], "value": [1, 2]}
drawn = bars(table, Quantity("Throughput", "Mbit/s"))
print(KINDS["bars"].name, drawn.to_dict()["mark"]["type"], drawn.to_dict()["encoding"]["y"]["title"])
""",
    "scenario": """
from gauntlet.scenario import load_scenario

trace = load_scenario("two-rates", {"duration": "12s"}).trace
rows = trace.table.select(["t_s", "rate_up_bps"]).to_pylist()
print([tuple(row.values()) for row in rows], trace.end_s)
""",
    "study": """
from gauntlet.studies import ledger, reproduce, study

made = study("studies/bbr")
claims = ledger.load(made.ledger)
reproduce.check_ledger(made, claims)
print(made.key, [claim.id for claim in claims], len(reproduce.tasks(made, quick=True)[0].specs))
""",
}
SAYS = {
    "kpi": "0.5",
    "chart": "bars bar Throughput (Mbit/s)",
    "study": "bbr ['cubic-tenth', 'bbr-meets-the-limit'] 12",
    "scenario": "[(0.0, 5000000.0), (5.0, 1000000.0), (10.0, 5000000.0)] 12.0",
}


def files_touched(patch: str) -> dict[str, int]:
    """The files of a patch and how many lines it adds to each that was there; 0 for a new one."""
    found = {}
    for part in re.split(r"(?m)^(?=diff --git )", patch)[1:]:
        name = re.search(r"(?m)^\+\+\+ b/(.*)$", part)
        assert name is not None, part
        added = len(re.findall(r"(?m)^\+(?!\+\+ )", part))
        found[name[1]] = 0 if "\nnew file mode" in part else added
    return found


def promised(name: str) -> int:
    """How many files the guide says that this patch touches."""
    row = re.search(rf"\| (\d+) \| \[`patches/{name}\.patch`\]", (GUIDE / "extend.md").read_text("utf-8"))
    assert row is not None, name
    return int(row[1])


def test_every_patch_is_tried() -> None:
    # Those of the Rust crates are tried in test_crate_patches.py.
    python = {
        file.stem
        for file in (GUIDE / "patches").iterdir()
        if not any(name.startswith("crates/") for name in files_touched(file.read_text("utf-8")))
    }
    assert python == set(USES) == set(SAYS)


@pytest.mark.parametrize("name", sorted(USES))
def test_an_addition_is_one_file_and_its_line_in_the_registry(name: str) -> None:
    touched = files_touched((GUIDE / "patches" / f"{name}.patch").read_text("utf-8"))
    inside = [file for file in touched if file.startswith("src/")]
    assert len(inside) == promised(name)
    assert sum(touched[file] == 0 for file in inside) == min(1, promised(name))
    # An import and an entry; the import may share its line with others.
    assert all(Path(file).name == "registry.py" and lines <= 2 for file, lines in touched.items() if lines)


def test_the_study_of_the_patch_is_the_one_of_the_lesson(tmp_path: Path) -> None:
    subprocess.run(
        ["git", "apply", GUIDE / "patches" / "study.patch"],
        cwd=tmp_path, check=True, env={**os.environ, "GIT_DIR": os.devnull},
    )  # fmt: skip
    lesson = (GUIDE / "own-study.md").read_text("utf-8")
    saved = re.findall(r"(?ms)Save this as `([^`\n]+)`[^\n]*\n\n```\w+\n(.*?)^```", lesson)
    files = {
        str(file.relative_to(tmp_path / "studies")): file for file in tmp_path.rglob("*.*") if file.is_file()
    }
    assert {place: file.read_text("utf-8") for place, file in files.items()} == dict(saved)


@pytest.mark.parametrize("name", sorted(USES))
def test_what_a_patch_adds_works(name: str, tmp_path: Path) -> None:
    shutil.copytree(
        ROOT / "src" / "gauntlet", tmp_path / "src" / "gauntlet", ignore=shutil.ignore_patterns("__pycache__")
    )
    patch = GUIDE / "patches" / f"{name}.patch"
    # As a plain patch: the temporary folder may lie within some repository.
    subprocess.run(
        ["git", "apply", patch], cwd=tmp_path, check=True, env={**os.environ, "GIT_DIR": os.devnull}
    )
    used = subprocess.run(
        [sys.executable, "-c", USES[name]],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path / "src")}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (used.stdout.strip(), used.stderr) == (SAYS[name], "")
