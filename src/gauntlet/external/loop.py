"""An asyncio loop that reads the clock once a wake-up, as libuv does, and not several times a packet.

In a guest a clock reading is a system call of some microseconds of wall time, while virtual time stands still
between two wake-ups: the readings that are left out would have given the same instant.
"""

import asyncio
import selectors
import time
from collections.abc import Coroutine
from typing import Any

NS_PER_S = 1_000_000_000


class _Selector(selectors.EpollSelector):
    """Notes the time whenever it has waited."""

    def __init__(self) -> None:
        super().__init__()
        self.woken_ns = time.monotonic_ns()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(timeout)
        self.woken_ns = time.monotonic_ns()
        return ready


class Loop(asyncio.SelectorEventLoop):
    """`time()` is the instant at which the loop last woke."""

    def __init__(self) -> None:
        self._woken = _Selector()
        super().__init__(self._woken)

    def time(self) -> float:
        return self._woken.woken_ns / NS_PER_S

    @property
    def woken_ns(self) -> int:
        """The same in nanoseconds: CLOCK_MONOTONIC, as the instants of a result."""
        return self._woken.woken_ns


def run(program: Coroutine[Any, Any, None]) -> None:
    """As `asyncio.run`, on such a loop."""
    with asyncio.Runner(loop_factory=Loop) as runner:
        runner.run(program)


def woken_ns() -> int:
    """The instant at which the running loop last woke, in nanoseconds of CLOCK_MONOTONIC."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, Loop), "programs over asyncio are run by `run`"
    return loop.woken_ns
