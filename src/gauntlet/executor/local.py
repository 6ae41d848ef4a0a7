"""This machine's cores: worker processes, each pinned to one of them, behind futures.

A plan goes to a worker over a pipe; what it reports comes back, and last its outcome. A worker that dies
takes only its plan with it. Workers end with their parent, however it ends.
"""

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.context import ForkContext, SpawnContext
from multiprocessing.process import BaseProcess as Process
from typing import Any, Literal, cast

from gauntlet.engine.cores import die_with_parent, usable_cores
from gauntlet.engine.ended import ended, oom_kills
from gauntlet.errors import GauntletError, RunError, UserError
from gauntlet.executor.contract import Emit

Work = Callable[[Any, int, Emit], Any]
"""`work(job, core, emit)` does a job on the given core, tells of its progress, returns its outcome."""


class WorkerDied(RunError):
    """The process that did a job died: whoever has others may have the job done there."""


@dataclass
class _Task:
    job: Any
    on_event: Emit
    future: "Future[Any]" = field(default_factory=Future)


class Local:
    """Does jobs with `work` on `workers` processes; a context manager whose end ends the workers.

    `submit` and its futures are those of `concurrent.futures`; events come from a thread of its own. Raises
    UserError when more workers are asked than there are cores. `start` is how processes begin, as
    `multiprocessing` names it: a process that has threads must not fork, and `work` is pickled then.
    """

    notes: Sequence[str] = ()

    def __init__(
        self, work: Work, workers: int | None = None, *, start: Literal["fork", "spawn"] = "fork"
    ) -> None:
        cores = usable_cores()
        workers = len(cores) if workers is None else workers
        if not 1 <= workers <= len(cores):
            raise UserError(
                f"{workers} workers were asked for and this host lets us use {len(cores)} cores; "
                f"ask for 1 to {len(cores)}."
            )
        self._oom_kills = oom_kills()
        self._lock = threading.Lock()
        self._waiting: deque[_Task] = deque()
        self._ending = False
        self._workers: dict[Connection, Process] = {}
        self._busy: dict[Connection, _Task] = {}
        context: ForkContext | SpawnContext = (
            multiprocessing.get_context("fork") if start == "fork" else multiprocessing.get_context("spawn")
        )
        for core in cores[:workers]:
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, core, work), daemon=False)
            process.start()
            theirs.close()
            self._workers[ours] = process
        self._bell, self._ring = context.Pipe(duplex=False)
        # Only now: a process that has threads should not be forked.
        self._thread = threading.Thread(target=self._hand_out, name="executor", daemon=True)
        self._thread.start()

    @property
    def workers(self) -> int:
        """How many jobs are done at a time."""
        return len(self._workers)

    def submit(self, job: Any, on_event: Emit | None = None) -> "Future[Any]":
        """Have a job done; its future ends with the outcome or a GauntletError."""
        task = _Task(job, on_event or (lambda _event: None))
        with self._lock:
            if self._ending:
                raise RuntimeError("this executor has been shut down")
            self._waiting.append(task)
        self._ring.send(None)
        return task.future

    def shutdown(self) -> None:
        """End the workers, and with them what they are doing; jobs that wait are cancelled."""
        with self._lock:
            if self._ending:
                return
            self._ending = True
        self._ring.send(None)
        self._thread.join()
        for pipe, process in self._workers.items():
            process.terminate()
            pipe.close()
        for process in self._workers.values():
            process.join()
        for task in self._waiting:
            task.future.cancel()
        for task in self._busy.values():
            task.future.set_exception(RunError("It was stopped."))

    def __enter__(self) -> "Local":
        return self

    def __exit__(self, *_exc: object) -> None:
        self.shutdown()

    def _hand_out(self) -> None:
        """The thread's life: jobs to workers that are free, and what comes back to its future."""
        while True:
            for ready in multiprocessing.connection.wait([self._bell, *self._busy]):
                pipe = cast(Connection, ready)
                if pipe is self._bell:
                    pipe.recv()
                else:
                    self._hear(pipe)
            with self._lock:
                if self._ending:
                    return
                self._fill()

    def _fill(self) -> None:
        """Give every free worker a job; where no worker is left, no job can be done."""
        for pipe in [pipe for pipe in self._workers if pipe not in self._busy]:
            if not self._waiting:
                return
            task = self._waiting.popleft()
            if task.future.set_running_or_notify_cancel():
                self._busy[pipe] = task
                with contextlib.suppress(BrokenPipeError):  # its death is heard of where it is read from
                    pipe.send(task.job)
        while self._waiting and not self._workers:
            task = self._waiting.popleft()
            if task.future.set_running_or_notify_cancel():
                task.future.set_exception(RunError("No worker process is left to play this run."))

    def _hear(self, pipe: Connection) -> None:
        task = self._busy[pipe]
        try:
            kind, content = pipe.recv()
        except (EOFError, OSError):
            process = self._workers.pop(pipe)
            process.join()
            del self._busy[pipe]
            task.future.set_exception(WorkerDied(self._death(process.exitcode)))
            return
        if kind == "event":
            task.on_event(content)
            return
        del self._busy[pipe]
        if kind == "done":
            task.future.set_result(content)
        else:
            task.future.set_exception(content)

    def _death(self, exitcode: int | None) -> str:
        """The sentence on a worker that died."""
        how = ended(exitcode or 0)
        if exitcode == -signal.SIGKILL and oom_kills() > self._oom_kills:
            return (
                f"The worker process died ({how}): the host ended processes for want of memory; use fewer "
                "workers (--workers 1), or give this machine or container more memory."
            )
        return f"The worker process died ({how})."


def _serve(pipe: Connection, core: int, work: Work) -> None:
    """A worker's life: take a job, do it, hand the outcome back, until the parent hangs up."""
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
