"""Test vectors of link security (SDLS): what is there, and whether both implementations agree with them.

One implementation is the crate `sdls`; the other, in Python, is `gauntlet.space.sdls`. They share no code.
"""

import importlib.util
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gauntlet.errors import RunError, UserError

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "crates" / "sdls" / "vectors"
"""In a working copy. A package of Gauntlet has no vectors, but takes files of them."""

FORMAT = 1

_OF_CARGO = ("   Compiling", " Downloading", "  Downloaded", "    Finished", "     Running", "    Blocking")
"""How lines begin by which cargo tells what it does."""

PYTHON = "python"
RUST = "rust"


@dataclass(frozen=True)
class Vector:
    """A vector of a file as it stands there."""

    file: Path
    content: dict[str, Any]

    @property
    def name(self) -> str:
        """Its name, by which differences are told."""
        return str(self.content["name"])

    @property
    def described(self) -> dict[str, Any]:
        """What it is about, for a list."""
        source = self.content["source"]
        steps = self.content["steps"]
        return {
            "name": self.name,
            "about": self.content["about"],
            "protocol": self.content["link"]["kind"],
            "algorithms": sorted({str(one["algorithm"]) for one in self.content["associations"]}),
            "source": source if isinstance(source, str) else f"{source['repository']}, {source['path']}",
            "steps": len(steps),
            "refused": sorted({step["refused"] for step in steps if "refused" in step}),
            "file": self.file.name,
        }


@dataclass
class Verdict:
    """What an implementation made of the vectors; not played, where it could not be."""

    implementation: str
    played: int = 0
    differences: list[str] = field(default_factory=list)
    not_played: str = ""


def read(files: Sequence[Path], only: str = "") -> list[Vector]:
    """The vectors of files, or of the working copy; with `only`, those whose name has it in it."""
    found = []
    for file in files or _own():
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UserError(f"{file} cannot be read as vectors: {error}.") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT or "vectors" not in content:
            raise UserError(f"{file} is no file of vectors of format {FORMAT}.")
        found += [Vector(file, vector) for vector in content["vectors"]]
    chosen = [vector for vector in found if only in vector.name]
    if not chosen:
        raise UserError(f"No vector's name has «{only}» in it; `gauntlet space vectors list` names them.")
    return chosen


def _own() -> list[Path]:
    files = [FOLDER / "own.json", FOLDER / "foreign.json"]
    if not all(file.is_file() for file in files):
        raise UserError(
            "The vectors come with the source (crates/sdls/vectors): name files of them, or work in it."
        )
    return files


def write(vectors: Iterable[Vector], file: Path) -> None:
    """A file of these vectors."""
    content = {
        "format": FORMAT,
        "about": "Chosen by gauntlet space vectors; each vector says where it is from.",
        "vectors": [vector.content for vector in vectors],
    }
    file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def export(vectors: Sequence[Vector], folder: Path) -> list[Path]:
    """A file for each vector in a new folder; returns their paths."""
    for vector in vectors:
        if not re.fullmatch(r"[\w-][\w.-]*", vector.name):
            raise UserError(f"{vector.file}: «{vector.name}» is no name for a file.")
    if folder.exists():
        raise UserError(f"{folder} is there already: name a folder that is not.")
    folder.mkdir(parents=True)
    files = []
    for vector in vectors:
        file = folder / f"{vector.name}.json"
        write([vector], file)
        files.append(file)
    return files


def check(vectors: Sequence[Vector], tell: Callable[[str], None] = lambda _: None) -> list[Verdict]:
    """Plays vectors with both implementations; `tell` hears when the crate is compiled for it."""
    return [_python(vectors), _rust(vectors, tell)]


def _python(vectors: Sequence[Vector]) -> Verdict:
    if importlib.util.find_spec("cryptography") is None:
        missing = 'cryptography is not installed; type `pip install "gauntlet-net[space]"`'
        return Verdict(PYTHON, not_played=missing)
    from gauntlet.space.sdls.play import expected, play

    verdict = Verdict(PYTHON)
    for vector in vectors:
        verdict.played += 1
        came, says = play(vector.content), expected(vector.content)
        verdict.differences += [
            f"{vector.name}, step {place}: {one} instead of {other}"
            for place, (one, other) in enumerate(zip(came, says, strict=True))
            if one != other
        ]
    return verdict


def _rust(vectors: Sequence[Vector], tell: Callable[[str], None] = lambda _: None) -> Verdict:
    if shutil.which("cargo") is None or not (FOLDER.parent / "Cargo.toml").is_file():
        return Verdict(RUST, not_played="it is built from source, by cargo in a working copy")
    with tempfile.TemporaryDirectory(prefix="gauntlet-vectors-") as folder:
        file = Path(folder) / "vectors.json"
        write(vectors, file)
        done = _cargo(["check", str(file)], Path(folder) / "told", tell)
    *differences, count = done.stdout.splitlines() or [""]
    if done.returncode not in (0, 1) or not count.endswith(f" {len(differences)} differences"):
        raise RunError(f"The crate sdls could not play the vectors: {done.stderr.strip()}")
    return Verdict(RUST, int(count.split()[0]), differences)


def _cargo(
    arguments: Sequence[str], told: Path, tell: Callable[[str], None]
) -> subprocess.CompletedProcess[str]:
    """Runs the crate's example `vectors`; what it prints goes by the file `told`. Its standard error is
    without cargo's own lines.
    """
    # As `cargo test` builds it.
    command = ["cargo", "run", "--profile", "test", "--package", "sdls", "--example", "vectors", "--"]
    errors, compiling = [], False
    with (
        told.open("w") as out,
        subprocess.Popen(
            [*command, *arguments], cwd=ROOT, stdout=out, stderr=subprocess.PIPE, text=True
        ) as running,
    ):
        for line in running.stderr or ():
            if line.startswith("   Compiling") and not compiling:
                compiling = True
                tell("compiling sdls, about a minute the first time ...")
            if not line.startswith(_OF_CARGO):
                errors.append(line)
    return subprocess.CompletedProcess(command, running.returncode, told.read_text(), "".join(errors))
