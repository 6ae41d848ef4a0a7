"""The zip of a pack: written so that the same files give the same bytes, read with a sentence for what is
wrong with it.
"""

import hashlib
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Self

from gauntlet.engine.hashes import sha256_of_file
from gauntlet.errors import RunError, UserError
from gauntlet.evidence_pack.layout import SUMS
from gauntlet.results.files import failures_named

_NO_TIME = (1980, 1, 1, 0, 0, 0)
"""The earliest that a zip can say."""
_ORDINARY_FILE = 0o100644 << 16
_UNIX = 3
_TREE = "gauntlet-evidence sha256 "
"""What the comment of the zip begins with; the tree hash follows."""
_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, RuntimeError)

Content = bytes | Path
"""A file of a pack: what is in it, or where that lies."""


def sums(files: Mapping[str, str]) -> bytes:
    """SHA256SUMS: a line a file, sorted by place."""
    return "".join(f"{sha256}  {name}\n" for name, sha256 in sorted(files.items())).encode()


def sha256(content: Content) -> str:
    """The hash of a file that is to be packed."""
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    return sha256_of_file(content)


def write(pack: Path, files: Mapping[str, Content], hashes: Mapping[str, str]) -> str:
    """Write a pack, whole or not at all, and return its tree hash: the hash of SHA256SUMS."""
    listed = sums(hashes)
    tree = sha256(listed)
    part = pack.with_name(f".{pack.name}.part")
    with failures_named("write the evidence pack"):
        try:
            with zipfile.ZipFile(part, "w", compression=zipfile.ZIP_DEFLATED, compresslevel=9) as made:
                for name, content in sorted({**files, SUMS: listed}.items()):
                    made.writestr(
                        _entry(name), content if isinstance(content, bytes) else content.read_bytes()
                    )
                made.comment = (_TREE + tree).encode()
            part.replace(pack)
        finally:
            part.unlink(missing_ok=True)
    return tree


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _NO_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr, entry.create_system = _ORDINARY_FILE, _UNIX
    return entry


class Archive:
    """A pack that is being read."""

    def __init__(self, opened: zipfile.ZipFile, pack: Path) -> None:
        self._zip, self._pack = opened, pack
        self.names = opened.namelist()

    @classmethod
    @contextmanager
    def open(cls, pack: Path) -> Iterator[Self]:
        """Open a pack. Raises UserError when it is no zip or one that no pack can be."""
        if not pack.is_file():
            raise UserError(f"There is no evidence pack {pack}; `gauntlet evidence build` makes one.")
        try:
            opened = zipfile.ZipFile(pack)
        except _UNREADABLE as error:
            raise UserError(f"{pack} is not an evidence pack: it is no whole zip ({error}).") from error
        with opened:
            names = opened.namelist()
            twice = next((name for name, count in Counter(names).items() if count > 1), None)
            if twice is not None:
                raise UserError(f"{pack} is not an evidence pack: it has {twice} twice.")
            outside = next((name for name in names if not _inside(name)), None)
            if outside is not None:
                raise UserError(f"{pack} is not an evidence pack: {outside} would lie outside of it.")
            yield cls(opened, pack)

    @property
    def tree(self) -> str | None:
        """The tree hash that the zip's comment says; None where it says none."""
        comment = self._zip.comment.decode(errors="replace")
        return comment.removeprefix(_TREE) if comment.startswith(_TREE) else None

    def read(self, name: str) -> bytes:
        """What is in a file. Raises RunError when it is missing or cannot be unpacked."""
        try:
            return self._zip.read(name)
        except KeyError as error:
            raise RunError(f"{name} is missing.") from error
        except _UNREADABLE as error:
            raise RunError(f"{name} cannot be unpacked: {error}.") from error

    def unpack(self, under: str, folder: Path) -> None:
        """Put all files below a folder of the pack into `folder`. Raises RunError."""
        for name in self.names:
            if name.startswith(f"{under}/"):
                place = folder / name.removeprefix(f"{under}/")
                with failures_named("unpack the evidence pack"):
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_bytes(self.read(name))


def _inside(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return bool(parts) and not name.startswith("/") and ".." not in parts and "\\" not in name
