"""A pool of worker processes, each pinned to one host core, that play jobs one after the other.

The parent hands a job to a worker over a pipe and gets events and, last, the outcome back. A worker that dies
takes only its job with it. Workers end with their parent, however it ends.
"""

import contextlib
import ctypes
import multiprocessing
import multiprocessing.connection
import os
import signal
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from typing import Any, Generic, TypeVar, cast

from gauntlet.engine import cgroup
from gauntlet.engine.ended import ended, oom_kills
from gauntlet.errors import GauntletError, RunError, UserError

Job = TypeVar("Job")
Event = Mapping[str, Any]
Work = Callable[[Any, int, Callable[[Event], None]], Any]
"""`work(job, core, emit)` plays the job on the given core, tells of its progress, returns its outcome."""

_PR_SET_PDEATHSIG = 1


def usable_cores() -> list[int]:
    """Host cores for guests: those that this process may run on, as many as its share of CPU time feeds."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[: cgroup.whole_cores(cgroup.limits().cores, len(allowed))]


def die_with_parent(with_signal: int = signal.SIGTERM) -> None:
    """Have the kernel send `with_signal` to this process when its parent ends (prctl(2))."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, with_signal, 0, 0, 0)


class Pool(Generic[Job]):
    """Play `jobs` with `work` on `workers` processes; a context manager whose end ends the workers.

    `results()` yields (job index, kind, content) as things happen: kind `event` with an event, `done` with
    the outcome, or `failed` with a GauntletError. Raises UserError when more workers are asked than there are
    cores.
    """

    def __init__(self, jobs: Sequence[Job], work: Work, workers: int) -> None:
        cores = usable_cores()
        if not 1 <= workers <= len(cores):
            raise UserError(
                f"{workers} workers were asked for and this host lets us use {len(cores)} cores; "
                f"ask for 1 to {len(cores)}."
            )
        self._jobs = jobs
        self._oom_kills = oom_kills()
        context = multiprocessing.get_context("fork")
        self._workers: dict[Connection, ForkProcess] = {}
        self._busy: dict[Connection, int] = {}
        for core in cores[: min(workers, max(1, len(jobs)))]:
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, core, work), daemon=False)
            process.start()
            theirs.close()
            self._workers[ours] = process

    def __enter__(self) -> "Pool[Job]":
        return self

    def __exit__(self, *_exc: object) -> None:
        for pipe, process in self._workers.items():
            process.terminate()
            pipe.close()
        for process in self._workers.values():
            process.join()

    def results(self) -> Iterator[tuple[int, str, Any]]:
        """Hand out the jobs in order and yield what comes back until all are through."""
        waiting = iter(range(len(self._jobs)))
        for pipe in list(self._workers):
            self._next(pipe, waiting)
        while self._busy:
            for ready in multiprocessing.connection.wait(list(self._busy)):
                pipe = cast(Connection, ready)
                index = self._busy[pipe]
                try:
                    kind, content = pipe.recv()
                except (EOFError, OSError):
                    process = self._workers.pop(pipe)
                    process.join()
                    del self._busy[pipe]
                    yield index, "failed", RunError(self._death(process.exitcode))
                    continue
                yield index, kind, content
                if kind != "event":
                    del self._busy[pipe]
                    self._next(pipe, waiting)
        for index in waiting:
            yield index, "failed", RunError("No worker process is left to play this run.")

    def _death(self, exitcode: int | None) -> str:
        """The sentence on a worker that died."""
        how = ended(exitcode or 0)
        if exitcode == -signal.SIGKILL and oom_kills() > self._oom_kills:
            return (
                f"The worker process died ({how}): the host ended processes for want of memory; use fewer "
                "workers (--workers 1), or give this machine or container more memory."
            )
        return f"The worker process died ({how})."

    def _next(self, pipe: Connection, waiting: Iterator[int]) -> None:
        index = next(waiting, None)
        if index is not None:
            self._busy[pipe] = index
            pipe.send(self._jobs[index])


def _serve(pipe: Connection, core: int, work: Work) -> None:
    """A worker's life: take a job, play it, hand the outcome back, until the parent hangs up."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    os.sched_setaffinity(0, {core})
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            job = pipe.recv()
            try:
                outcome = ("done", work(job, core, lambda event: pipe.send(("event", event))))
            except GauntletError as error:
                outcome = ("failed", error)
            except OSError as error:
                outcome = (
                    "failed",
                    RunError(f"the system refused {error.filename or 'a file'}: {error.strerror}"),
                )
            except Exception as error:  # a defect of ours must not end the campaign, and must not be silent
                outcome = ("failed", RunError(f"internal error: {error!r}\n{traceback.format_exc()}"))
            pipe.send(outcome)


def _leave(_signal: int, _frame: object) -> None:
    raise SystemExit(1)
