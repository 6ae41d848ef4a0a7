"""The committed state built once more in another folder, and its wheels compared byte for byte."""

import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from scripts.wheels.build import sha256
from scripts.wheels.failure import Refused


def refuse_changes(root: Path) -> None:
    """Raises Refused when the checkout has changes that a clone would not have."""
    done = subprocess.run(
        ["git", "-C", str(root), "status", "--porcelain"], check=True, capture_output=True, text=True
    )
    if done.stdout:
        changed = done.stdout.splitlines()[0][3:]
        raise Refused(
            f"The committed state is what is built twice, and {changed} is not committed: commit it first."
        )


def built_elsewhere(root: Path, wheels: Sequence[Path], folder: Path | None) -> None:
    """Build a clone with a cache and a target folder of its own.

    Raises Refused with the first file that differs.
    """
    with tempfile.TemporaryDirectory(prefix="gauntlet-built-once-more-", dir=folder) as scratch:
        clone, out = Path(scratch, "some", "other", "folder"), Path(scratch, "out")
        subprocess.run(["git", "clone", "--quiet", f"file://{root}", str(clone)], check=True)
        environment = {
            **os.environ,
            "PYTHONPATH": str(clone / "src"),
            "GAUNTLET_CACHE": str(Path(scratch, "cache")),
            "CARGO_TARGET_DIR": str(clone / "target"),
        }
        for command in (
            ["-m", "gauntlet", "kernel", "build", "--quiet"],
            ["-m", "scripts.wheels", "--out", str(out)],
        ):
            done = subprocess.run([sys.executable, *command], check=False, cwd=clone, env=environment)
            if done.returncode != 0:
                raise Refused(f"`python {' '.join(command)}` failed in {clone}; its last words stand above.")
        for wheel in wheels:
            again = out / wheel.name
            if not again.is_file():
                raise Refused(f"The other folder gave no {wheel.name}, but {_names(out)}.")
            if sha256(again) != sha256(wheel):
                raise Refused(
                    f"{wheel.name} is not the same bytes from another folder: {difference(wheel, again)}."
                )


def difference(one: Path, other: Path) -> str:
    """What differs first between two wheels, in words."""
    with zipfile.ZipFile(one) as left, zipfile.ZipFile(other) as right:
        if left.namelist() != right.namelist():
            lone = set(left.namelist()) ^ set(right.namelist())
            return f"only one has {min(lone)}" if lone else "their files are in another order"
        for mine, its in zip(left.infolist(), right.infolist(), strict=True):
            if left.read(mine) != right.read(its):
                return f"the content of {mine.filename}"
            for name in ("date_time", "external_attr", "create_system", "compress_type", "extra"):
                if getattr(mine, name) != getattr(its, name):
                    return f"{name} of {mine.filename}"
    return "how they are packed"


def _names(folder: Path) -> str:
    return ", ".join(sorted(file.name for file in folder.glob("*.whl"))) or "nothing"
