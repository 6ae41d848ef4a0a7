"""The cores of the host that guests may use, and processes that end with the one that started them."""

import ctypes
import os
import signal

from gauntlet.engine import cgroup

_PR_SET_PDEATHSIG = 1


def usable_cores() -> list[int]:
    """Host cores for guests: those that this process may run on, as many as its share of CPU time feeds."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[: cgroup.whole_cores(cgroup.limits().cores, len(allowed))]


def die_with_parent(with_signal: int = signal.SIGTERM) -> None:
    """Have the kernel send `with_signal` to this process when its parent ends (prctl(2))."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, with_signal, 0, 0, 0)
