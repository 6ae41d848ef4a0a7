"""The workers of a Dask cluster as an executor: orders go to its scheduler, bundles come back.

Which machine plays a run, and that it is played again when that machine is lost, is the scheduler's
business; what is asked of it here is that only workers with the campaign's own engine get runs. Workers may
come and go.
"""

import asyncio
import json
import os
import threading
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError, Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from distributed import Client, KilledWorker
from distributed.client import ClosedClientError

from gauntlet.errors import GauntletError, RunError, UserError
from gauntlet.executor import attachments, cluster_worker, wire
from gauntlet.executor.address import Cluster
from gauntlet.executor.contract import Emit, ExecutorGone
from gauntlet.executor.play import Job, Played
from gauntlet.executor.reach import reach
from gauntlet.executor.silence import silence
from gauntlet.experiment.external import STACK

_ANSWER_S = 10.0
"""How long a scheduler is waited for."""

_WORKERS_S = 60.0
"""How long a campaign waits while there is no worker that could play its runs."""

_LOOK_S = 1.0
"""How often it looks who is there."""


@dataclass
class _Task:
    job: Job
    on_event: Emit
    own: Mapping[str, bool]
    future: "Future[Played]" = field(default_factory=Future)
    sent: Any = None
    """Dask's own future of what was sent last."""


class Dask:
    """Has jobs done by the workers of a cluster whose suit is `suit`.

    Raises RunError when no scheduler answers or no worker comes, UserError when none of them has this engine.
    """

    def __init__(self, cluster: Cluster, suit: wire.Suit, *, workers_s: float = _WORKERS_S) -> None:
        self._cluster, self._suit, self._workers_s = cluster, suit, workers_s
        self._resource = wire.resource(suit)
        self._topic = f"gauntlet-{uuid.uuid4().hex}"
        self._tasks: dict[str, _Task] = {}
        self._known: dict[str, str | None] = {}
        """By address: None of a worker that plays, else why it does not."""
        self._notes: list[str] = []
        self._lock = threading.Lock()
        self._meeting = threading.Lock()
        self._ending = threading.Event()
        silence()
        with ThreadPoolExecutor(1) as apart:  # a notebook has a loop in this thread
            apart.submit(asyncio.run, reach(cluster, _ANSWER_S)).result()
        try:
            self._client = Client(
                cluster.address,
                security=cluster.security(),
                timeout=_ANSWER_S,
                set_as_default=False,
                name="gauntlet",
            )
        except OSError:
            raise self._gone() from None
        try:
            self._meet(first=True)
        except BaseException:
            self._client.close()
            raise
        self._client.subscribe_topic(self._topic, self._hear)
        self._watch = threading.Thread(target=self._look_around, name="cluster", daemon=True)
        self._watch.start()

    @property
    def workers(self) -> int:
        """Workers of this suit; each plays one run at a time."""
        return sum(why is None for why in dict(self._known).values())

    @property
    def notes(self) -> Sequence[str]:
        """Workers that were refused and workers that were lost, until now."""
        with suppress(Exception):  # what became of the scheduler is seen where its tasks end
            self._meet()  # the last of them may have been lost since the watch looked
        return list(self._notes)

    def submit(self, job: Job, on_event: Emit | None = None) -> "Future[Played]":
        """Have a job done; its future ends with the outcome, a GauntletError or ExecutorGone."""
        own: dict[str, bool] = {}
        if job.plan.files:
            flows = json.loads(job.plan.parts["flows"])
            stacks = [flow["stack_params"] for flow in flows if flow["stack"] == STACK]
            paths = attachments.own(stacks, job.plan.files)
            own = {path: os.access(path, os.X_OK) for path in paths}
        task = _Task(job, on_event or (lambda _event: None), own)
        self._send(task, ())
        return task.future

    def shutdown(self) -> None:
        """Take back what is not done, and let go of the cluster; its workers stay for others."""
        if self._ending.is_set():
            return
        self._ending.set()
        with self._lock:
            left = list(self._tasks.values())
            self._tasks.clear()
        with suppress(Exception):  # a scheduler that is gone has nothing to be taken back from
            self._client.cancel([task.sent for task in left if task.sent is not None], force=True)
        self._client.close()
        self._watch.join(timeout=_ANSWER_S)  # it is a daemon: a worker that does not answer keeps nobody
        for task in left:
            if not task.future.cancel():
                _fail(task, RunError("It was stopped."))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()

    def _send(self, task: _Task, wanted: Sequence[str]) -> None:
        """Give an order to the scheduler, with the content of files that are wanted by hash."""
        job = task.job
        files = wire.content({path: job.plan.files[path] for path in task.own}, wanted)
        name = f"gauntlet-{job.key[:16]}-{uuid.uuid4().hex}"
        with self._lock:
            self._tasks[name] = task
        try:
            task.sent = self._client.submit(
                cluster_worker.play,
                wire.order(job, self._suit["engine"], task.own),
                files,
                self._topic,
                key=name,
                pure=False,
                resources={self._resource: 1},
            )
        except ClosedClientError:  # nor did Dask find it again
            with self._lock:
                self._tasks.pop(name, None)
            _fail(task, self._gone())
            return
        task.sent.add_done_callback(self._ended)

    def _hear(self, event: tuple[float, Mapping[str, Any]]) -> None:
        said = event[1]
        task = self._tasks.get(said["task"])
        if task is not None:
            task.on_event(said)

    def _ended(self, sent: Any) -> None:
        """Take in what the scheduler has of a task; it comes from a thread of Dask's."""
        with self._lock:
            task = self._tasks.pop(sent.key, None)
        if task is None:
            return
        try:
            came = self._result(sent)
            if wanted := came.get("wants"):
                self._send(task, wanted)
                return
            if "failed" in came:
                raise RunError(_kept(came, task.job.console))
            played = wire.played_of(came, task.job)
        except GauntletError as error:
            _fail(task, error)
        except OSError as error:
            _fail(task, RunError(f"the system refused {error.filename or 'a file'}: {error.strerror}"))
        except Exception as error:  # a defect of ours must not end the campaign, nor be silent
            _fail(task, RunError(f"internal error: {error!r}"))
        else:
            with suppress(InvalidStateError):
                task.future.set_result(played)

    def _result(self, sent: Any) -> Mapping[str, Any]:
        """A worker's answer. Raises RunError when there is none, ExecutorGone when nobody can give it."""
        try:
            answer: Mapping[str, Any] = sent.result()
            return answer
        except KilledWorker as error:
            raise RunError(
                f"{error.allowed_failures + 1} workers were lost one after the other while they had this "
                "run; what they said last tells why."
            ) from None
        except (CancelledError, OSError):
            raise self._gone() from None
        except Exception as error:  # a defect of ours or Dask's
            raise RunError(f"internal error on a worker: {error!r}") from None

    def _gone(self) -> ExecutorGone:
        return ExecutorGone(
            f"The scheduler at {self._cluster.address} is gone. What is finished is kept; the same command "
            "continues when there is one again."
        )

    def _look_around(self) -> None:
        """The life of a thread: greet workers that come, note those that are lost, give up when all are."""
        alone_s = 0.0
        while not self._ending.wait(_LOOK_S):
            try:
                self._meet()
            except Exception:  # what became of the scheduler is seen where its tasks end
                continue
            alone_s = 0.0 if self.workers else alone_s + _LOOK_S
            if alone_s >= self._workers_s:
                with self._lock:
                    left, self._tasks = list(self._tasks.values()), {}
                for task in left:
                    _fail(task, ExecutorGone(self._nobody()))

    def _meet(self, *, first: bool = False) -> None:
        """Bring what is known of workers up to date; the first time, wait for one that can play.

        Raises RunError when none comes, UserError when those that are there all differ, TimeoutError when
        the scheduler or another thread that asks it does not answer.
        """
        if first:
            with suppress(TimeoutError):
                self._client.wait_for_workers(1, timeout=self._workers_s)
        if not self._meeting.acquire(timeout=_ANSWER_S):
            raise TimeoutError
        try:
            self._greet()
        finally:
            self._meeting.release()
        if first and not self.workers:
            if not self._known:
                raise RunError(self._nobody())
            raise UserError(
                f"No worker at {self._cluster.address} has the engine of this campaign. {self._notes[0]}"
            )

    def _greet(self) -> None:
        """Forget workers that went, and ask those that came whether they can play."""
        # Of nthreads, because scheduler_info() tells only of the first five workers in some versions.
        there = set(self._client.nthreads(callback_timeout=_ANSWER_S))
        for address in self._known.keys() - there:
            if self._known.pop(address) is None:
                self._notes.append(f"The worker {address} went away; others play what it had under way.")
        if come := sorted(there - self._known.keys()):
            said = self._client.run(
                cluster_worker.greet, self._suit, workers=come, on_error="return", wait=True
            )
            for address in come:
                why = said.get(address)
                if isinstance(why, OSError):
                    continue  # it is going, or not quite there: it is asked again, if it stays
                self._known[address] = "is no worker of Gauntlet" if isinstance(why, Exception) else why
                if self._known[address] is not None:
                    self._notes.append(f"The worker {address} {self._known[address]}: it was given no runs.")

    def _nobody(self) -> str:
        return (
            f"There was no worker at {self._cluster.address} for {self._workers_s:.0f} s; type "
            f"`gauntlet worker {self._cluster.address}` on the machines that are to play. The same command "
            "continues."
        )


def _fail(task: _Task, error: Exception) -> None:
    with suppress(InvalidStateError):
        task.future.set_exception(error)


def _kept(came: Mapping[str, Any], place: Path | None) -> str:
    """Why a run has no record; the console that its worker kept is kept here instead."""
    reason = str(came["failed"])
    if came["console"] is None or place is None:
        return reason
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(came["console"], encoding="utf-8")
    except OSError as error:
        return reason.replace(str(came["console_path"]), f"a file that could not be kept ({error.strerror})")
    return reason.replace(str(came["console_path"]), str(place))
