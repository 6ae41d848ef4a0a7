"""The record bundle of a run: a folder of files that its run key alone decides, sealed with their hashes.

It has no name, label or place of the run in it, so it can be put into any experiment's results. `bundle.json`
says which key it is of, how its files were made and the hash of each.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gauntlet.errors import RunError
from gauntlet.executor.plan import canonical

SEAL = "bundle.json"
FORMAT = {"format": "gauntlet-bundle", "version": 1}


@dataclass(frozen=True)
class Bundle:
    """A sealed bundle. `made_with` names the formats and libraries that decide how its files are written,
    `facts` are a few of what is in them, so that they need not be read.
    """

    folder: Path
    key: str
    made_with: Mapping[str, str]
    facts: Mapping[str, Any]
    files: Mapping[str, str]
    """SHA-256 of each file by its place in the folder."""

    @staticmethod
    def seal(folder: Path, key: str, *, made_with: Mapping[str, str], facts: Mapping[str, Any]) -> "Bundle":
        """Write the seal of a folder that holds everything; raises OSError."""
        files = {str(path.relative_to(folder)): _sha256(path) for path in _files(folder)}
        content = {**FORMAT, "key": key, "made_with": made_with, "facts": facts, "files": files}
        (folder / SEAL).write_bytes(canonical({**content, "sha256": _own_hash(content)}))
        return Bundle(folder, key, made_with, facts, files)

    @staticmethod
    def read(folder: Path) -> "Bundle":
        """Read the seal of a bundle; the files are not looked at.

        Raises RunError when there is none, or when it is not what was written.
        """
        try:
            content = json.loads((folder / SEAL).read_bytes())
            said = content.pop("sha256")
            if said != _own_hash(content) or {name: content[name] for name in FORMAT} != FORMAT:
                raise ValueError("its seal is broken")
            return Bundle(folder, content["key"], content["made_with"], content["facts"], content["files"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise RunError(f"the bundle {folder} cannot be used: {error}") from error

    def check(self) -> None:
        """Hold every file against its hash. Raises RunError naming the first that is not as it was sealed."""
        there = {str(path.relative_to(self.folder)) for path in _files(self.folder)}
        if there != set(self.files):
            changed = sorted(there ^ set(self.files))[0]
            raise RunError(f"the bundle {self.folder} is damaged: {changed} is missing or was added")
        for name, sha256 in self.files.items():
            try:
                found = _sha256(self.folder / name)
            except OSError as error:
                raise RunError(f"the bundle {self.folder} is damaged: {name}: {error.strerror}") from error
            if found != sha256:
                raise RunError(f"the bundle {self.folder} is damaged: {name} is not what was written")


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path != folder / SEAL:
            yield path


def _own_hash(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(content)).hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
