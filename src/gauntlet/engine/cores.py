"""Cores of the host for guests and programs, and processes that end with the one that started them."""

import ctypes
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from gauntlet.engine import cgroup

_PR_SET_PDEATHSIG = 1


def usable_cores() -> list[int]:
    """Host cores for guests: those that this process may run on, as many as its share of CPU time feeds."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[: cgroup.whole_cores(cgroup.limits().cores, len(allowed))]


@contextmanager
def on(cores: set[int]) -> Iterator[None]:
    """This thread, and what it starts meanwhile, on these cores only."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def die_with_parent(with_signal: int = signal.SIGTERM) -> None:
    """Have the kernel send `with_signal` to this process when its parent ends (prctl(2))."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, with_signal, 0, 0, 0)
