"""Files of another machine, seen at their paths by one process and whatever it starts, and by nobody else.

A run's key has the paths of its files in it, and a program may look at its own; so on a worker they must lie
where they lay where the run was planned, often in folders that the worker does not have or must not touch.
The process gets a mount namespace (mount_namespaces(7)) with a root of its own: a tmpfs in which every folder
on the way to such a file is rebuilt, with the host's other entries mounted where they are.
"""

import contextlib
import ctypes
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

_CLONE_NEWNS = 0x00020000  # linux/sched.h
_CLONE_NEWUSER = 0x10000000
_MS_BIND = 1 << 12  # linux/mount.h
_MS_REC = 1 << 14
_MS_PRIVATE = 1 << 18


@dataclass(frozen=True)
class Brought:
    """A file that came from another machine."""

    content: bytes
    executable: bool = False

    @property
    def sha256(self) -> str:
        """Hash of its content."""
        return sha256(self.content).hexdigest()


@dataclass(frozen=True)
class View:
    """The host's files with these at their absolute paths; called in a process of one thread, which is then
    in it for good. `folder` is made for it, and empty again when the last of them has ended.
    """

    files: Mapping[str, Brought]
    folder: Path

    def __call__(self) -> None:
        """Enter the view. Raises OSError where the host allows no mount namespaces."""
        working_folder = Path.cwd()
        self.folder.mkdir()
        _own_mounts()
        _mount("tmpfs", self.folder, "tmpfs", 0)
        self.folder.chmod(0o755)
        _rebuild(Path("/"), self.folder, _tree(self.files), skip=self.folder)
        os.chroot(self.folder)
        os.chdir(working_folder)


@cache
def possible() -> bool:
    """Whether this process could enter a view, tried once, in a child; call it where there is one thread."""
    child = os.fork()
    if child == 0:
        try:
            _own_mounts()
            _mount("tmpfs", Path("/tmp"), "tmpfs", 0)
            os._exit(0)
        except OSError:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _own_mounts() -> None:
    """A mount namespace for this process: as root alone, else with a user namespace in which ids stay."""
    user, group = os.geteuid(), os.getegid()
    try:
        _call("unshare", _CLONE_NEWNS)
    except PermissionError:
        _call("unshare", _CLONE_NEWNS | _CLONE_NEWUSER)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _mount("none", Path("/"), None, _MS_REC | _MS_PRIVATE)


def _tree(files: Mapping[str, Brought]) -> dict[str, Any]:
    """The files by the parts of their paths: folders are mappings."""
    tree: dict[str, Any] = {}
    for path, file in files.items():
        *folders, name = Path(path).parts[1:]
        place = tree
        for folder in folders:
            place = place.setdefault(folder, {})
        place[name] = file
    return tree


def _rebuild(of: Path, at: Path, tree: Mapping[str, Any], *, skip: Path) -> None:
    """Fill the folder `at` with what `tree` says, and with the entries of the host's folder `of` beside."""
    for name, it in tree.items():
        if isinstance(it, Brought):
            (at / name).write_bytes(it.content)
            (at / name).chmod(0o755 if it.executable else 0o644)
        else:
            (at / name).mkdir(mode=0o755)
            _rebuild(of / name, at / name, it, skip=skip)
    if not of.is_dir():
        return
    for entry in os.scandir(of):
        place = at / entry.name
        if entry.name in tree or Path(entry.path) == skip:
            continue
        # What others remove meanwhile (in /tmp) is not missed.
        with contextlib.suppress(FileNotFoundError):
            if entry.is_symlink():
                place.symlink_to(Path(entry.path).readlink())
                continue
            if entry.is_dir():
                place.mkdir()
            else:
                place.touch()
            _mount(entry.path, place, None, _MS_BIND | _MS_REC)


def _mount(source: str, target: Path, kind: str | None, flags: int) -> None:
    _call("mount", source.encode(), bytes(target), kind.encode() if kind else None, flags, None)


def _call(name: str, *arguments: Any) -> None:
    """A system call by its function in the C library; raises OSError."""
    whole = [ctypes.c_ulong(it) if isinstance(it, int) else it for it in arguments]
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*whole) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
