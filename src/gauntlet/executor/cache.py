"""The cache of runs: bundles by run key, in the user's cache folder, shared by all experiments.

An entry is there whole or not at all (renamed into place), and is held against its hashes when it is taken,
so several gauntlets may use the cache at once and a damaged entry is played again. What was not used for
longest goes first when there is no room. Nothing here is needed: a run that is not in the cache is played.
"""

import contextlib
import errno
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gauntlet import units
from gauntlet.engine import cache_folder
from gauntlet.errors import RunError
from gauntlet.executor.bundle import SEAL, Bundle

LIMIT_VARIABLE = "GAUNTLET_CACHE_LIMIT"
DEFAULT_LIMIT_BYTES = 10_000_000_000
"""Room for some 10,000 runs of the demo with messages and sockets."""

_KEPT_SHARE = 0.9
"""To which share of the limit a full cache is emptied, so that not every further run has to."""

_ABANDONED_AFTER_S = 3600.0
"""After this long a half-written entry is one of a gauntlet that was killed."""

_CAPTURE = "capture"
"""The fact of a bundle that says whether its packets are in it."""


@dataclass(frozen=True)
class Entry:
    """A run in the cache; `used_at_s` is in seconds since 1970."""

    key: str
    folder: Path
    size_bytes: int
    used_at_s: float


class Cache:
    """The bundles below a folder, at most `limit_bytes` of them."""

    def __init__(self, folder: Path, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        self.folder = folder
        self.limit_bytes = limit_bytes
        self._size_bytes: int | None = None

    @staticmethod
    def of_user() -> "Cache":
        """The user's cache; GAUNTLET_CACHE_LIMIT sets its size ("20GB"; "0B": nothing is kept or taken).

        Raises UserError for a wrong size.
        """
        given = os.environ.get(LIMIT_VARIABLE)
        limit_bytes = units.size_bytes(given, LIMIT_VARIABLE) if given else DEFAULT_LIMIT_BYTES
        return Cache(cache_folder() / "runs", limit_bytes)

    def has(self, key: str, made_with: Mapping[str, str], *, capture: bool = False) -> bool:
        """Whether a bundle of this key is there that was made so; its files are not looked at."""
        return self._find(key, made_with, capture=capture) is not None

    def take(
        self, key: str, made_with: Mapping[str, str], into: Path, *, capture: bool = False
    ) -> Bundle | None:
        """Copy a bundle to the new folder `into` and return the copy; None where there is none to be had.

        A damaged one is removed. Raises OSError when the copy cannot be written.
        """
        found = self._find(key, made_with, capture=capture)
        if found is None:
            return None
        try:
            shutil.copytree(found.folder, into)
            taken = Bundle.read(into)
            taken.check()
        except (RunError, shutil.Error, FileNotFoundError):
            # Another gauntlet may have removed it meanwhile; else it is damaged.
            shutil.rmtree(into, ignore_errors=True)
            self._remove(found.folder)
            return None
        with contextlib.suppress(OSError):
            os.utime(found.folder / SEAL)
        return taken

    def put(self, bundle: Bundle) -> None:
        """Keep a copy of a bundle in place of an earlier one of its key; raises OSError."""
        if not self.limit_bytes:
            return
        place = self._place(bundle.key)
        place.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{bundle.key}.part-", dir=place.parent))
        try:
            for name in (*bundle.files, SEAL):
                (part / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(bundle.folder / name, part / name)
            size_bytes = _size_bytes(part)
            self._remove(place)
            part.rename(place)
        except OSError as error:
            shutil.rmtree(part, ignore_errors=True)
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            return  # another gauntlet was faster, with the same run
        self._size_bytes = self.size_bytes() if self._size_bytes is None else self._size_bytes + size_bytes
        if self._size_bytes > self.limit_bytes:
            self.prune(int(self.limit_bytes * _KEPT_SHARE))

    def entries(self) -> list[Entry]:
        """All entries, the one that was not used for longest first."""
        found = []
        for folder in self._folders():
            if not folder.name.startswith("."):
                with contextlib.suppress(OSError):
                    found.append(
                        Entry(folder.name, folder, _size_bytes(folder), (folder / SEAL).stat().st_mtime)
                    )
        return sorted(found, key=lambda entry: (entry.used_at_s, entry.key))

    def size_bytes(self) -> int:
        """What all entries take."""
        return sum(entry.size_bytes for entry in self.entries())

    def prune(self, limit_bytes: int) -> list[Entry]:
        """Remove what was not used for longest until at most `limit_bytes` are left; returns what went."""
        self._remove_abandoned()
        entries = self.entries()
        left_bytes = sum(entry.size_bytes for entry in entries)
        gone = []
        for entry in entries:
            if left_bytes <= limit_bytes:
                break
            self._remove(entry.folder)
            left_bytes -= entry.size_bytes
            gone.append(entry)
        self._size_bytes = left_bytes
        return gone

    def _find(self, key: str, made_with: Mapping[str, str], *, capture: bool) -> Bundle | None:
        place = self._place(key)
        if not self.limit_bytes or not place.is_dir():
            return None
        try:
            found = Bundle.read(place)
        except RunError:
            self._remove(place)
            return None
        fits = found.key == key and dict(found.made_with) == dict(made_with)
        return found if fits and (not capture or found.facts.get(_CAPTURE)) else None

    def _place(self, key: str) -> Path:
        return self.folder / key[:2] / key

    def _folders(self) -> Iterator[Path]:
        if self.folder.is_dir():
            for shelf in sorted(self.folder.iterdir()):
                if shelf.is_dir():
                    yield from sorted(shelf.iterdir())

    def _remove(self, folder: Path) -> None:
        """Take an entry away in one step, whoever reads it."""
        gone = folder.with_name(f".{folder.name}.gone-{os.getpid()}-{time.monotonic_ns()}")
        with contextlib.suppress(OSError):
            folder.rename(gone)
            shutil.rmtree(gone, ignore_errors=True)

    def _remove_abandoned(self) -> None:
        for folder in self._folders():
            with contextlib.suppress(OSError):
                if folder.name.startswith(".") and folder.stat().st_mtime < time.time() - _ABANDONED_AFTER_S:
                    shutil.rmtree(folder, ignore_errors=True)


def _size_bytes(folder: Path) -> int:
    """What a folder's files take."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
