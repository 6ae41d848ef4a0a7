"""Files that are there whole or not at all: temporary name, fsync, rename; failures as sentences."""

import errno
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gauntlet.errors import RunError

_PART = re.compile(r"\..+\.part-\d+")


@contextmanager
def failures_named(action: str) -> Iterator[None]:
    """Turn an OSError inside the block into a RunError that says what could not be done and what would help.

    `action` completes the sentence "could not ...".
    """
    try:
        yield
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise RunError(
                f"could not {action}{where}: the disk is full; free some space and run the same command "
                "again, it continues with the runs that are missing"
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise RunError(
                f"could not {action}{where}: no permission to write there; choose another results folder"
            ) from error
        folder = Path(error.filename or ".").parent
        if error.errno == errno.ENOENT and not folder.is_dir():
            raise RunError(f"could not {action}: there is no folder {folder}; make it first") from error
        raise RunError(f"could not {action}{where}: {error.strerror or error}") from error


def fsync_folder(folder: Path) -> None:
    """Make the names inside a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def fsync_file(path: Path) -> None:
    """Make the content of a file survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under a hidden name, sync it and rename it into place."""
    part = path.with_name(f".{path.name}.part-{os.getpid()}")
    try:
        part.write_bytes(content)
        fsync_file(part)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    fsync_folder(path.parent)


def is_part(name: str) -> bool:
    """Whether a file is what `write_whole` leaves behind when its process is killed."""
    return _PART.fullmatch(name) is not None


def json_bytes(value: Any) -> bytes:
    """JSON with sorted keys, so that equal values give equal bytes."""
    return (json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def read_json(path: Path, what: str) -> dict[str, Any]:
    """Read a JSON object.

    Raises RunError, naming the file, when it is missing or is not a JSON object.
    """
    try:
        # Not `path.read_bytes()`, which takes twice the time: a campaign has 100,000 of these files.
        with open(path, "rb") as file:  # noqa: PTH123
            value = json.loads(file.read())
    except FileNotFoundError as error:
        raise RunError(f"{what} is missing: {path} should be there") from error
    except (ValueError, OSError) as error:
        raise RunError(f"{what} cannot be read: {path} is damaged ({error})") from error
    if not isinstance(value, dict):
        raise RunError(f"{what} cannot be used: {path} should hold a JSON object")
    return value
