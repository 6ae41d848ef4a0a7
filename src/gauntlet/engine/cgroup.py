"""What the control groups of this process allow it: cores, memory, processes; both versions (cgroups(7)).

A limit may stand at any level between a process's own group and the root, so the tightest one counts. `root`
is where /proc and /sys are looked for.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_UNLIMITED_BYTES = 1 << 60
"""Version 1 writes no limit as the largest number of whole pages."""


@dataclass(frozen=True)
class Group:
    """One level of one hierarchy: a folder, and which version's files it holds."""

    folder: Path
    version: int


@dataclass(frozen=True)
class Limits:
    """The tightest limits; None where there is none. `cores` counts CPU seconds a second."""

    cores: float | None = None
    memory_bytes: int | None = None
    memory_free_bytes: int | None = None
    processes_free: int | None = None
    versions: tuple[int, ...] = ()


def limits(root: Path = Path("/")) -> Limits:
    """Read the limits of this process."""
    cpu = list(levels(root, "cpu"))
    memory = [(_memory_limit(group), group) for group in levels(root, "memory")]
    bounded = [(limit, group) for limit, group in memory if limit is not None]
    pids = [free for group in levels(root, "pids") if (free := _processes_free(group)) is not None]
    quotas = [quota for group in cpu if (quota := _quota(group)) is not None]
    return Limits(
        cores=min(quotas, default=None),
        memory_bytes=min((limit for limit, _ in bounded), default=None),
        memory_free_bytes=min((limit - _memory_used(group) for limit, group in bounded), default=None),
        processes_free=min(pids, default=None),
        versions=tuple(sorted({version for _, version in _mounts(root)})),
    )


def whole_cores(quota: float | None, allowed: int) -> int:
    """How many guests side by side a quota of CPU time feeds: at least one, at most the cores allowed."""
    return allowed if quota is None else max(1, min(allowed, math.ceil(quota)))


def levels(root: Path, controller: str) -> Iterator[Group]:
    """Folders that limit this process by `controller`, from its own group up to where its view ends."""
    paths = _paths(root)
    for (mount_root, place, controllers), version in _mounts(root):
        if version == 1 and controller not in controllers:
            continue
        own = paths.get("" if version == 2 else controller)
        if own is None:
            continue
        # In a container the mount may begin at the group itself, and the path be told from the host's root.
        inside = own.removeprefix(mount_root).strip("/") if own.startswith(mount_root) else ""
        parts = [part for part in inside.split("/") if part not in ("", "..")]
        for depth in range(len(parts), -1, -1):
            yield Group(place.joinpath(*parts[:depth]), version)


def _paths(root: Path) -> dict[str, str]:
    """This process's group in each hierarchy: by controller, "" for version 2 (/proc/self/cgroup)."""
    found = {}
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            found[controller] = path
    return found


def _mounts(root: Path) -> list[tuple[tuple[str, Path, list[str]], int]]:
    """Mounted hierarchies (/proc/self/mountinfo): root within each, place and controllers; and version."""
    found = []
    for line in _text(root / "proc/self/mountinfo").splitlines():
        before, _, behind = line.partition(" - ")
        fields, kind = before.split(), behind.split()
        if len(kind) < 3 or kind[0] not in ("cgroup", "cgroup2"):
            continue
        place = root / fields[4].lstrip("/")
        found.append(((fields[3].rstrip("/"), place, kind[2].split(",")), 2 if kind[0] == "cgroup2" else 1))
    return found


def _quota(group: Group) -> float | None:
    if group.version == 2:
        words = _text(group.folder / "cpu.max").split()
        return int(words[0]) / int(words[1]) if len(words) == 2 and words[0] != "max" else None
    quota, period = _number(group.folder / "cpu.cfs_quota_us"), _number(group.folder / "cpu.cfs_period_us")
    return quota / period if quota is not None and quota > 0 and period else None


def _memory_limit(group: Group) -> int | None:
    name = "memory.max" if group.version == 2 else "memory.limit_in_bytes"
    limit = _number(group.folder / name)
    return limit if limit is not None and limit < _UNLIMITED_BYTES else None


def _memory_used(group: Group) -> int:
    """Bytes in use that cannot be had by dropping cached files."""
    used = _number(group.folder / ("memory.current" if group.version == 2 else "memory.usage_in_bytes")) or 0
    word = "inactive_file" if group.version == 2 else "total_inactive_file"
    for line in _text(group.folder / "memory.stat").splitlines():
        if line.startswith(f"{word} "):
            return max(0, used - int(line.split()[1]))
    return used


def _processes_free(group: Group) -> int | None:
    most = _number(group.folder / "pids.max")
    return None if most is None else max(0, most - (_number(group.folder / "pids.current") or 0))


def _number(file: Path) -> int | None:
    try:
        return int(_text(file))
    except ValueError:
        return None


def _text(file: Path) -> str:
    """The file's text; empty where there is no such file."""
    try:
        return file.read_text()
    except OSError:
        return ""
