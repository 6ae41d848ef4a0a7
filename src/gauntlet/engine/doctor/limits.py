"""Limits of this process: open files, processes, time and space (getrlimit(2), pids of control groups)."""

import contextlib
import os
import resource
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

from gauntlet.engine import cgroup, cores
from gauntlet.engine.doctor.apart import Tried, apart
from gauntlet.engine.doctor.check import Check, count, mib

FILES_WANTED = 256
"""Files that a guest's kernel has open: 61 were seen, by aioquic on the line."""

PROCESSES_PER_GUEST = 16
"""Processes of a guest and its worker: 5 were seen; every program of the user adds one."""

_SPACE_OF_A_GUEST_BYTES = 512 << 20
_SPACE_WANTED_BYTES = 2 << 30
"""Addresses of a guest's kernel (259 MiB were seen), and of Python with the libraries that store results."""


def opened(wanted: int) -> Tried[int]:
    """Open so many files in a process of its own; how many the host lets it have open."""

    def attempt() -> int:
        for number in range(wanted):
            try:
                os.open(os.devnull, os.O_RDONLY)
            except OSError:
                return number
        return wanted

    return apart(attempt)


def open_files(attempt: Callable[[int], Tried[int]] = opened, limit: tuple[int, int] | None = None) -> Check:
    """Whether a guest can open its files; `limit` is soft and hard RLIMIT_NOFILE."""
    soft, hard = limit or resource.getrlimit(resource.RLIMIT_NOFILE)
    got = attempt(FILES_WANTED).result or 0
    if got == FILES_WANTED:
        return Check("open files", True, f"{_limit(soft)} a process")
    mend = f"Type `ulimit -n {FILES_WANTED * 4}` first"
    if hard != resource.RLIM_INFINITY and hard < FILES_WANTED * 4:
        mend = (
            "Raise nofile in /etc/security/limits.conf (a service: LimitNOFILE=, docker run --ulimit nofile=)"
        )
    return Check(
        "open files",
        False,
        f"A process may have no more than {_limit(soft)} files open: {got} more could be opened, and a "
        f"guest wants {FILES_WANTED}.",
        f"{mend}.",
    )


def forked(wanted: int) -> Tried[int]:
    """Have so many processes at once, all children of one; how many the host lets us have."""

    def attempt() -> int:
        children: list[int] = []
        try:
            while len(children) < wanted:
                pid = os.fork()
                if pid == 0:
                    signal.pause()
                    os._exit(0)
                children.append(pid)
        except OSError:
            pass
        finally:
            for pid in children:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for pid in children:
                os.waitpid(pid, 0)
        return len(children)

    return apart(attempt)


def processes(
    root: Path = Path("/"),
    guests: int | None = None,
    attempt: Callable[[int], Tried[int]] = forked,
    soft: int | None = None,
) -> Check:
    """Whether all processes of all guests can be there at once; `soft` is the limit RLIMIT_NPROC."""
    guests = guests or len(cores.usable_cores())
    soft = resource.getrlimit(resource.RLIMIT_NPROC)[0] if soft is None else soft
    wanted = guests * PROCESSES_PER_GUEST
    got = attempt(wanted).result or 0
    if got >= wanted:
        return Check("processes", True, f"{wanted} at once for {count(guests)}")
    free = cgroup.limits(root).processes_free
    if free is not None and free <= wanted:
        who = "the control group of this process (pids.max)"
        mend = "Raise it (docker run --pids-limit, TasksMax=)"
    else:
        who = f"the limit of processes of this user ({_limit(soft)})"
        mend = "Raise it (`ulimit -u`, nproc in /etc/security/limits.conf) or end some"
    cause = f"No more than {got} processes can be added, by {who}; {count(guests)} want {wanted}."
    fit = got // PROCESSES_PER_GUEST
    if fit:
        return Check("processes", False, cause, f"{mend}, or use --workers {fit}.", required=False)
    return Check("processes", False, cause, f"{mend}.")


def time_and_space(limits: Mapping[int, int] | None = None) -> Check:
    """Limits that end a guest in its midst: CPU seconds, address space, data (soft values by RLIMIT_*)."""
    known = (resource.RLIMIT_CPU, resource.RLIMIT_AS, resource.RLIMIT_DATA)
    soft = {name: resource.getrlimit(name)[0] for name in known} if limits is None else limits
    infinite = resource.RLIM_INFINITY
    cpu, space, data = (soft.get(name, infinite) for name in known)
    for size, what, option in ((space, "addresses", "-v"), (data, "data", "-d")):
        if size != infinite and size < _SPACE_WANTED_BYTES:
            cause = f"A process may have no more than {mib(size)} of {what} (`ulimit {option}`)."
            mend = f"Type `ulimit {option} unlimited` first."
            return Check("time and space", False, cause, mend, required=size < _SPACE_OF_A_GUEST_BYTES)
    if cpu != infinite:
        cause = (
            f"A process is ended after {cpu} s of CPU time (`ulimit -t`), and so is a guest with a long run."
        )
        return Check("time and space", False, cause, "Type `ulimit -t unlimited` first.", required=False)
    return Check("time and space", True, "no limits of CPU time, addresses or data that a guest meets")


def _limit(limit: int) -> str:
    return "any number" if limit == resource.RLIM_INFINITY else str(limit)
