"""Workers behind futures: how many there may be, what comes back, and what is said of one that dies."""

import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, as_completed
from typing import Any

import pytest

from gauntlet.engine import cgroup, cores
from gauntlet.errors import RunError, UserError
from gauntlet.executor import local
from gauntlet.executor.local import Local


def test_workers_are_no_more_than_the_share_of_cpu_time_feeds(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = sorted(os.sched_getaffinity(0))
    monkeypatch.setattr(cgroup, "limits", cgroup.Limits)
    assert cores.usable_cores() == allowed
    monkeypatch.setattr(cgroup, "limits", lambda: cgroup.Limits(cores=0.5))
    assert cores.usable_cores() == allowed[:1]
    with pytest.raises(UserError, match="2 workers were asked for and this host lets us use 1 cores"):
        Local(squared, 2)


def squared(job: int, core: int, emit: Callable[[Any], None]) -> tuple[int, int]:
    emit(f"at {job}")
    if job == 13:
        raise RunError("thirteen is refused.")
    return job * job, core


def killed(job: int, _core: int, _emit: Callable[[Any], None]) -> int:
    if job < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return job


def test_every_job_comes_back_in_its_own_future() -> None:
    heard: list[str] = []
    with Local(squared) as crew:
        futures = {crew.submit(job, heard.append): job for job in range(12)}
        for future in as_completed(futures):
            square, core = future.result()
            assert square == futures[future] ** 2
            assert core in cores.usable_cores()
        refused = crew.submit(13)
        with pytest.raises(RunError, match=r"thirteen is refused\."):
            refused.result()
        assert crew.submit(3).result()[0] == 9, "a refusal costs no worker"
    assert sorted(heard) == sorted(f"at {job}" for job in range(12))


def test_a_worker_that_is_killed_loses_its_job_and_says_how() -> None:
    with Local(killed, 1) as crew:
        assert crew.submit(1).result() == 1
        first, second = crew.submit(-1), crew.submit(2)
        with pytest.raises(RunError, match=r"The worker process died \(ended by SIGKILL\)"):
            first.result()
        with pytest.raises(RunError, match="No worker process is left"):
            second.result()


def test_a_worker_that_the_host_ended_for_want_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = iter([3, 4])
    monkeypatch.setattr(local, "oom_kills", lambda: next(counts))
    with Local(killed, 1) as crew, pytest.raises(RunError, match=r"for want of memory.*--workers 1"):
        crew.submit(-1).result()


def waits(job: int, _core: int, emit: Callable[[Any], None]) -> int:
    emit("begun")
    signal.pause()
    return job


def test_the_end_of_the_block_ends_what_is_under_way() -> None:
    begun = threading.Event()
    with Local(waits, 1) as crew:
        under_way = crew.submit(1, lambda _event: begun.set())
        waiting = crew.submit(2)
        assert begun.wait(timeout=60)
    assert waiting.cancelled()
    with pytest.raises((CancelledError, RunError)):
        under_way.result(timeout=0)
    with pytest.raises(RuntimeError, match="shut down"):
        crew.submit(3)
