"""Workers: how many there may be, and what is said of one that dies."""

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from gauntlet.engine import cgroup, pool


def test_workers_are_no_more_than_the_share_of_cpu_time_feeds(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed = sorted(os.sched_getaffinity(0))
    monkeypatch.setattr(cgroup, "limits", cgroup.Limits)
    assert pool.usable_cores() == allowed
    monkeypatch.setattr(cgroup, "limits", lambda: cgroup.Limits(cores=0.5))
    assert pool.usable_cores() == allowed[:1]


def test_a_worker_that_is_killed_loses_its_job_and_says_how() -> None:
    def work(job: int, _core: int, _emit: Callable[[Any], None]) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return job

    with pool.Pool([1], work, 1) as crew:
        [(index, kind, content)] = list(crew.results())
    assert (index, kind) == (0, "failed")
    assert "ended by SIGKILL" in str(content)


def test_a_worker_that_the_host_ended_for_want_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = iter([3, 4])
    monkeypatch.setattr(pool, "oom_kills", lambda: next(counts))

    def work(job: int, _core: int, _emit: Callable[[Any], None]) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return job

    with pool.Pool([1], work, 1) as crew:
        [(_, _, content)] = list(crew.results())
    assert "for want of memory" in str(content)
    assert "--workers 1" in str(content)
