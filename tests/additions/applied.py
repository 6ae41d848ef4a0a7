"""The guide's patches that add something to the Rust crates, applied to a copy of them."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guide"
TARGET = ROOT / "target"
DESCRIPTION = "src/gauntlet/experiment/player.json"
"""What the player says of itself (`gauntlet-player --describe`)."""
COPIES = TARGET / "additions"
"""Each patch has a copy of its own that stays: what cargo knows of a crate, it knows by its place."""


def files_touched(patch: str) -> dict[str, int]:
    """The files of a patch and how many lines it adds to each that was there; 0 for a new one."""
    found = {}
    for part in re.split(r"(?m)^(?=diff --git )", patch)[1:]:
        name = re.search(r"(?m)^\+\+\+ b/(.*)$", part)
        assert name is not None, part
        added = len(re.findall(r"(?m)^\+(?!\+\+ )", part))
        found[name[1]] = 0 if "\nnew file mode" in part else added
    return found


@dataclass(frozen=True)
class Patch:
    """A patch of the guide."""

    file: Path

    @property
    def name(self) -> str:
        """What the guide calls it."""
        return self.file.stem

    @property
    def touched(self) -> dict[str, int]:
        """As for `files_touched`."""
        return files_touched(self.file.read_text("utf-8"))

    @property
    def written(self) -> dict[str, int]:
        """What of it people write: all but the description, which a command makes anew."""
        return {name: added for name, added in self.touched.items() if name != DESCRIPTION}

    @property
    def crates(self) -> list[str]:
        """The crates that it adds to."""
        return sorted({name.split("/")[1] for name in self.written})

    def apply(self) -> Path:
        """A copy of the crates with it; returns the copy's folder."""
        copy = COPIES / self.name
        for name in ("Cargo.toml", "Cargo.lock", "rustfmt.toml"):
            copy.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
        _mirror(ROOT / "crates", copy / "crates")
        (copy / DESCRIPTION).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / DESCRIPTION, copy / DESCRIPTION)
        # As a plain patch: the copy lies within a repository.
        subprocess.run(
            ["git", "apply", self.file], cwd=copy, check=True, env={**os.environ, "GIT_DIR": os.devnull}
        )
        return copy


def _mirror(there: Path, copy: Path) -> None:
    """Make a folder the same as another. A file that is the same already keeps its time, by which cargo
    goes.
    """
    files = (file.relative_to(there) for file in there.rglob("*") if file.is_file())
    wanted = {file for file in files if "target" not in file.parts}
    for file in [file for file in copy.rglob("*") if file.is_file()]:
        if file.relative_to(copy) not in wanted:
            file.unlink()
    for file in wanted:
        if not (copy / file).is_file() or (copy / file).read_bytes() != (there / file).read_bytes():
            (copy / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(there / file, copy / file)


def cargo(copy: Path, command: str, *words: str) -> str:
    """Run cargo in a copy, offline (an addition needs no new library); what it printed."""
    done = subprocess.run(
        ["cargo", command, "--offline", "--locked", "--quiet", *words],
        cwd=copy, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def _in_rust(file: Path) -> bool:
    return any(name.startswith("crates/") for name in files_touched(file.read_text("utf-8")))


PATCHES = [Patch(file) for file in sorted((GUIDE / "patches").glob("*.patch")) if _in_rust(file)]
