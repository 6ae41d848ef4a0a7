"""Memory of the host: what is free, what may be promised, how many mappings a process may have."""

import errno
import mmap
import resource
from collections.abc import Callable
from pathlib import Path

from gauntlet.engine import cgroup, cores
from gauntlet.engine.doctor import libc
from gauntlet.engine.doctor.apart import Tried, apart
from gauntlet.engine.doctor.check import Check, count, mib

# sys/mman.h; Python's mmap does not name them
PROT_NONE, MAP_NORESERVE = 0, 0x4000

_GUEST_BYTES = 300 << 20
"""Resident memory of a guest and its worker at most (docs/speed.md)."""

_COMMITMENT_BYTES = 400 << 20
"""What the host promises for a guest and its worker: 360 MiB were seen in a campaign of two workers."""

MAPPINGS_WANTED = 16_384
"""Mappings of one process: three times the most that was seen in a guest (5,436, by aioquic on the line)."""


def room(root: Path = Path("/"), guests: int | None = None) -> Check:
    """Memory that is free, on the host and within the control groups of this process."""
    guests = guests or len(cores.usable_cores())
    limits = cgroup.limits(root)
    available = _meminfo(root).get("MemAvailable", 0)
    said = f"{mib(available)} free"
    if limits.memory_bytes is not None and limits.memory_free_bytes is not None:
        free = max(0, limits.memory_free_bytes)
        if free < available:
            available, said = free, f"{mib(free)} free of the {mib(limits.memory_bytes)} of its control group"
    fit = available // _GUEST_BYTES
    if fit >= guests:
        return Check("memory", True, said)
    cause = f"{said}, and {count(guests)} side by side take {mib(guests * _GUEST_BYTES)}."
    if fit:
        return Check("memory", False, cause, f"Use fewer workers (--workers {fit}).", required=False)
    return Check("memory", False, cause, "Free some memory, or raise the limit of the container.")


def promised(size_bytes: int) -> Tried[bool]:
    """Ask the host for so much private memory without touching it, in a process of its own."""

    def attempt() -> bool:
        with mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS):
            return True

    return apart(attempt)


def commitment(
    root: Path = Path("/"), guests: int | None = None, promise: Callable[[int], Tried[bool]] = promised
) -> Check:
    """Whether the host promises the memory of all guests before they use it (vm.overcommit_memory)."""
    guests = guests or len(cores.usable_cores())
    mode = _number(root / "proc/sys/vm/overcommit_memory")
    setting = "vm.overcommit_memory" + ("" if mode is None else f"={mode}")
    fit = next((number for number in range(guests, 0, -1) if promise(number * _COMMITMENT_BYTES).result), 0)
    if fit == guests:
        return Check("memory promised", True, f"{mib(guests * _COMMITMENT_BYTES)} at once, {setting}")
    if mode == 2:
        known = _meminfo(root)
        left = max(0, known.get("CommitLimit", 0) - known.get("Committed_AS", 0))
        cause = (
            f"{setting}: the host promises no more memory than it has, and {mib(left)} are left to promise."
        )
        mend = "Set vm.overcommit_memory=0 (`sysctl -w`), or raise vm.overcommit_ratio or add swap"
    else:
        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        limit = "" if soft == resource.RLIM_INFINITY else f" (this shell's `ulimit -v` is {soft >> 10})"
        cause = f"The host refuses {mib((fit + 1) * _COMMITMENT_BYTES)} of memory at once{limit}."
        mend = "Raise that limit" if limit else "Free some memory"
    if fit:
        return Check("memory promised", False, cause, f"{mend}, or use --workers {fit}.", required=False)
    return Check("memory promised", False, cause, f"{mend}.")


def mapped(wanted: int) -> Tried[int]:
    """Make so many mappings in a process of its own; how many there are when the host refuses one, or all."""

    def attempt() -> int:
        page = mmap.PAGESIZE
        start = libc.mmap(
            None,
            (wanted + 2) * page,
            mmap.PROT_READ,
            mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE,
        )
        # Every second page differs from its neighbours, so none shares a mapping with them.
        for number in range(0, wanted, 2):
            try:
                libc.mprotect(start + (number + 1) * page, page, PROT_NONE)
            except OSError as error:
                if error.errno != errno.ENOMEM:
                    raise
                return number
        return wanted

    return apart(attempt)


def mappings(root: Path = Path("/"), attempt: Callable[[int], Tried[int]] = mapped) -> Check:
    """Whether a process may have as many mappings as a guest's programs need (vm.max_map_count)."""
    tried = attempt(MAPPINGS_WANTED)
    most = _number(root / "proc/sys/vm/max_map_count")
    setting = "" if most is None else f", vm.max_map_count={most}"
    if tried.result == MAPPINGS_WANTED:
        return Check("mappings", True, f"{MAPPINGS_WANTED} in one process{setting}")
    found = f"no more than {tried.result}" if tried.result is not None else f"not even some ({tried.ended})"
    return Check(
        "mappings",
        False,
        f"The host lets one process have {found} mappings of memory{setting}; guests want {MAPPINGS_WANTED}.",
        "Type `sudo sysctl -w vm.max_map_count=65530` (the default), and see /etc/sysctl.d.",
    )


def _meminfo(root: Path) -> dict[str, int]:
    """/proc/meminfo in bytes."""
    found = {}
    try:
        lines = (root / "proc/meminfo").read_text().splitlines()
    except OSError:
        return {}
    for line in lines:
        name, _, value = line.partition(":")
        if value.endswith(" kB"):
            found[name] = int(value.split()[0]) << 10
    return found


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None
