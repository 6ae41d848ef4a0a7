"""A host made of files: what /proc and /sys say of it, for code that reads them below a root of its own."""

from pathlib import Path

GIB = 1 << 30


def write(root: Path, files: dict[str, str]) -> Path:
    """Write the files of a host below `root`; returns it."""
    for name, text in files.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return root


def meminfo(**gib: float) -> dict[str, str]:
    """/proc/meminfo with these fields, in GiB."""
    return {"proc/meminfo": "".join(f"{name}: {int(size * GIB) >> 10} kB\n" for name, size in gib.items())}


def version_2(path: str, limits: dict[str, str], *, mount_root: str = "/") -> dict[str, str]:
    """Control groups of version 2: this process in `path`; `limits` by file below the mount."""
    return {
        "proc/self/cgroup": f"0::{path}\n",
        "proc/self/mountinfo": (
            "22 1 0:20 / /proc rw - proc proc rw\n"
            f"30 1 0:25 {mount_root} /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
        ),
        **{f"sys/fs/cgroup/{name}": text for name, text in limits.items()},
    }


def version_1(path: str, limits: dict[str, str], *, mount_root: str = "/") -> dict[str, str]:
    """Control groups of version 1: this process in `path` of each; `limits` by controller and file."""
    names = ("cpu,cpuacct", "memory", "pids")
    mounts = "".join(
        f"{40 + number} 1 0:{40 + number} {mount_root} /sys/fs/cgroup/{name} rw - cgroup cgroup rw,{name}\n"
        for number, name in enumerate(names)
    )
    return {
        "proc/self/cgroup": "".join(f"{9 - number}:{name}:{path}\n" for number, name in enumerate(names)),
        "proc/self/mountinfo": mounts,
        **{f"sys/fs/cgroup/{name}": text for name, text in limits.items()},
    }
