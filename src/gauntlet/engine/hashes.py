"""SHA-256 of files: of one, read once as long as it does not change, or of several together."""

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from gauntlet.errors import RunError


def sha256_of_file(path: Path) -> str:
    """Hash of a file's content; RunError when it cannot be read."""
    try:
        state = path.stat()
        return _hashed(path, state.st_ino, state.st_size, state.st_mtime_ns)
    except OSError as error:
        raise RunError(f"could not read {path} to hash it: {error.strerror}") from error


def sha256_of_files(paths: Iterable[Path]) -> str:
    """Hash of the names (without folders) and contents of files, in this order."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


@lru_cache(maxsize=4096)
def _hashed(path: Path, _inode: int, _size_bytes: int, _changed_ns: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
