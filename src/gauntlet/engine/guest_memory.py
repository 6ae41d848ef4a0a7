"""Where a guest's memory lies: a file in TMPDIR that its kernel makes (arch/um/os-Linux/mem.c).

User-mode Linux takes the first of TMPDIR, TMP and TEMP that is set, else /dev/shm where that is a tmpfs, else
/tmp. It makes a sparse file of the guest's size there and maps it, with leave to run programs from it. It
does not look for room: a guest on a file system that fills dies at some later instant. On a disk every page
that a guest touches costs a block, and is written out: a boot takes 1.4 times the CPU time that it takes on a
tmpfs. So the engine looks first, and sets TMPDIR to the best folder.
"""

import contextlib
import ctypes
import errno
import mmap
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gauntlet.errors import RunError

_TMPFS_MAGIC = 0x01021994  # linux/magic.h
VARIABLES = ("TMPDIR", "TMP", "TEMP")
_USUAL = (Path("/dev/shm"), Path("/tmp"), Path("/var/tmp"))


_MEND = "set TMPDIR to a folder with room that you may write to and that is not mounted noexec"
_ULIMIT = "type `ulimit -f unlimited` first"


@dataclass(frozen=True)
class Place:
    """A folder and whether a guest's memory can lie in it; `refusal` says why not (empty: it can)."""

    folder: Path
    on_tmpfs: bool
    free_bytes: int
    refusal: str = ""
    mend: str = ""


def candidates(environment: Mapping[str, str] | None = None) -> list[Path]:
    """Folders to try: those that the user names, then the usual ones."""
    named = os.environ if environment is None else environment
    own = [Path(named[name]) for name in VARIABLES if named.get(name)]
    return list(dict.fromkeys((*own, *_USUAL)))


def best(size_bytes: int, guests: int) -> Place:
    """The folder for the memory of `guests` guests at a time; RunError when there is none."""
    return best_of((tried(folder, size_bytes) for folder in candidates()), size_bytes, guests)


def best_of(places: Iterable[Place], size_bytes: int, guests: int) -> Place:
    """Of some folders the one for the memory of `guests` guests at a time; no more are tried than needed.

    A tmpfs with room for all comes first, then any folder with room for all, then the one with most room.
    Raises RunError, naming each folder's fault, when a guest's memory can lie nowhere.
    """
    seen = []
    for place in places:
        if not place.refusal and place.on_tmpfs and place.free_bytes >= guests * size_bytes:
            return place
        seen.append(place)
    usable = [place for place in seen if not place.refusal]
    for place in usable:
        if place.free_bytes >= guests * size_bytes:
            return place
    if usable:
        return max(usable, key=lambda place: place.free_bytes)
    raise RunError(
        f"A guest's memory, a file of {size_bytes >> 20} MiB that programs run from, can lie nowhere "
        f"({faults(seen)}); {next((place.mend for place in seen if place.mend), _MEND)}."
    )


def faults(places: Iterable[Place]) -> str:
    """What is wrong with folders, those with the same fault together."""
    by_fault: dict[str, list[str]] = {}
    for place in places:
        if place.refusal:
            by_fault.setdefault(place.refusal, []).append(str(place.folder))
    return ", ".join(f"{' and '.join(folders)}: {fault}" for fault, folders in by_fault.items())


def tried(folder: Path, size_bytes: int) -> Place:
    """Do in a folder what a guest's kernel will do, and say how it went."""
    try:
        with _unnamed_file(folder) as file:
            os.pwrite(file, b"\0", size_bytes - 1)
            for flags in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
                prot = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
                try:
                    mmap.mmap(file, mmap.PAGESIZE, flags=flags, prot=prot).close()
                except PermissionError:
                    return Place(folder, False, 0, _not_executable(folder))
        free = _free_bytes(folder)
        on_tmpfs = _is_tmpfs(folder)
    except OSError as error:
        return Place(folder, False, 0, _refusal(error), _ULIMIT if error.errno == errno.EFBIG else "")
    if free < size_bytes:
        return Place(folder, on_tmpfs, free, f"only {free >> 20} MiB free")
    return Place(folder, on_tmpfs, free)


@contextlib.contextmanager
def _unnamed_file(folder: Path) -> Iterator[int]:
    try:
        file = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_EXCL | os.O_CLOEXEC, 0o700)
    except OSError as error:
        # Not every file system has files without a name; the kernel goes the same second way.
        if error.errno not in (errno.EINVAL, errno.EISDIR, errno.EOPNOTSUPP):
            raise
        file, name = tempfile.mkstemp(dir=folder)
        Path(name).unlink()
    try:
        yield file
    finally:
        os.close(file)


def _not_executable(folder: Path) -> str:
    if os.statvfs(folder).f_flag & os.ST_NOEXEC:
        return "mounted noexec"
    return "not for running programs from (a security module of the host)"


def _refusal(error: OSError) -> str:
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return "not there"
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return "not writable"
        case errno.EFBIG:
            return "closed to files of that size"
        case errno.ENOSPC | errno.EDQUOT:
            return "full"
    return f"not usable ({error.strerror})"


def _free_bytes(folder: Path) -> int:
    known = os.statvfs(folder)
    if known.f_blocks == 0:
        # A tmpfs without a limit of its own: it ends where memory does.
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return known.f_bavail * known.f_frsize


def _is_tmpfs(folder: Path) -> bool:
    """Whether statfs(2) says so; its first word is the kind of file system."""
    known = (ctypes.c_long * 32)()
    if ctypes.CDLL(None, use_errno=True).statfs(os.fsencode(folder), known) != 0:
        return False
    return known[0] == _TMPFS_MAGIC
