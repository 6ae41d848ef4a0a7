"""A bare Debian root in a folder: made once by debootstrap, below an overlay, so each try starts bare."""

import contextlib
import hashlib
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

from scripts.fresh_machine import registries

# What README asks a user to have who builds, but for Rust, which comes from the host: Python, make, git,
# certificates; and one who installs wheels.
FOR_SOURCE = ("ca-certificates", "git", "make", "python3")
FOR_WHEELS = ("ca-certificates", "python3", "python3-venv")

_DEVICES = {
    "null": (1, 3),
    "zero": (1, 5),
    "full": (1, 7),
    "random": (1, 8),
    "urandom": (1, 9),
    "tty": (5, 0),
}


def base(suite: str, cache: Path, asked_for: tuple[str, ...]) -> Path:
    """The bare root of a suite, from the cache or made there: minbase and what README asks for."""
    mirror = registries.apt_mirror(suite)
    key = hashlib.sha256(repr((suite, mirror, asked_for)).encode()).hexdigest()[:12]
    home = cache / f"{suite}-{key}"
    if home.is_dir():
        return home
    cache.mkdir(parents=True, exist_ok=True)
    part = cache / f".{suite}-{os.getpid()}"
    command = [
        "debootstrap", "--variant=minbase", f"--include={','.join(asked_for)}", suite, str(part), mirror,
    ]  # fmt: skip
    try:
        with (cache / f"{suite}.log").open("wb") as log:
            done = subprocess.run(command, check=False, stdout=log, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            said = (cache / f"{suite}.log").read_text(errors="replace").splitlines()[-3:]
            raise SystemExit(f"debootstrap could not make a bare {suite} in {part}: {' | '.join(said)}")
        part.replace(home)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return home


@contextlib.contextmanager
def laid_out(base_root: Path, folder: Path, suite: str, toolchain: Path | None) -> Iterator[Path]:
    """A root to write in: the bare one below, this machine's registries, and its Rust toolchain read-only
    (none: without).

    To be called in a mount namespace of its own, which takes the mounts away whatever happens.
    """
    root = folder / "root"
    for name in ("root", "upper", "work"):
        (folder / name).mkdir(parents=True)
    options = f"lowerdir={base_root},upperdir={folder / 'upper'},workdir={folder / 'work'}"
    if not _mount("-t", "overlay", "overlay", "-o", options, str(root)):
        # An overlay cannot lie on another one, as in a container: a copy is as bare, and costs a few seconds.
        root.rmdir()
        subprocess.run(["cp", "-a", str(base_root), str(root)], check=True)
    _devices(root)
    _must_mount("-t", "proc", "proc", str(root / "proc"))
    _must_mount("-t", "sysfs", "sysfs", str(root / "sys"))
    if toolchain is not None:
        rust = root / "opt/rust"
        rust.mkdir(parents=True)
        _must_mount("--bind", str(toolchain), str(rust))
        _must_mount("-o", "remount,bind,ro", str(rust))
    registries.write_apt(root, suite)
    registries.write_network(root)
    registries.write_pip(root)
    registries.write_cargo(root)
    try:
        yield root
    finally:
        # Lazily: a process that is still ending must not keep them, for the folder is removed next.
        for place in ("opt/rust", "sys", "proc", "dev/shm", "dev/pts", "dev", ""):
            _mount("--lazy", str(root / place), program="umount")


def _devices(root: Path) -> None:
    """A /dev with what programs expect: no disk and no terminal of the host is in it."""
    dev = root / "dev"
    _must_mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", str(dev))
    for name, (major, minor) in _DEVICES.items():
        os.mknod(dev / name, stat.S_IFCHR | 0o666, os.makedev(major, minor))
        (dev / name).chmod(0o666)
    for folder in ("pts", "shm", "net"):
        (dev / folder).mkdir()
    os.mknod(dev / "net/tun", stat.S_IFCHR | 0o666, os.makedev(10, 200))
    _must_mount("-t", "devpts", "-o", "newinstance,ptmxmode=666,mode=620", "devpts", str(dev / "pts"))
    _must_mount("-t", "tmpfs", "-o", "mode=1777", "tmpfs", str(dev / "shm"))
    for name, there in {"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1",
                        "stderr": "fd/2"}.items():  # fmt: skip
        (dev / name).symlink_to(there)


def _mount(*arguments: str, program: str = "mount") -> bool:
    return subprocess.run([program, *arguments], check=False, capture_output=True).returncode == 0


def _must_mount(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(
            f"`mount {' '.join(arguments)}` was refused, so no bare root can be made: {done.stderr.strip()}"
        )
