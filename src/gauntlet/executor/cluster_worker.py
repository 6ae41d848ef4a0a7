"""A worker of a cluster as Dask sees it: it offers its engine to the scheduler and plays what it is sent.

One Dask worker plays one run at a time, on a core of its own, in a process of its own: a run that is not
wanted any more is ended, and what kills that process is no different from the loss of the machine.
"""

import contextlib
import fcntl
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import TimeoutError as NotYet
from pathlib import Path
from typing import Any

from distributed import Reschedule, Worker, WorkerPlugin, get_worker

from gauntlet.engine.cores import usable_cores
from gauntlet.errors import GauntletError, RunError
from gauntlet.executor import attachments, wire
from gauntlet.executor.contract import Emit
from gauntlet.executor.local import Local, WorkerDied
from gauntlet.executor.plan import RunPlan
from gauntlet.executor.play import Job, Played, Player
from gauntlet.executor.view import Brought
from gauntlet.experiment.external import STACK

NAME = "gauntlet"
"""Of the plugin that a Dask worker has when it plays runs."""

_LOOK_S = 0.2
"""How often a worker looks whether a run is still wanted."""

_TELL_S = 0.5
"""How often a run's progress is told at most."""


class Station(WorkerPlugin):  # type: ignore[misc]
    """What a Dask worker has to play runs with: `player`, and the code that packs, by name."""

    name = NAME

    def __init__(self, player: Player, code: Mapping[str, str]) -> None:
        self.player = player
        self.suit: wire.Suit = {"engine": player.engine.identity(), "code": dict(code)}
        self.ready = False
        self._files: dict[str, bytes] = {}
        self._crew: Local | None = None

    def setup(self, worker: Worker) -> None:
        """Take a core, start the process that plays, offer the engine; before the scheduler knows of it."""
        _own_core()
        self._scratch = Path(worker.local_directory) / NAME  # Dask removes what a killed one left there
        self._scratch.mkdir()
        self._crew = Local(self.player, 1, start="spawn")
        offered = {wire.resource(self.suit): 1.0}
        worker.state.total_resources.update(offered)
        worker.state.available_resources.update(offered)
        self.ready = True

    def teardown(self, worker: Worker) -> None:
        """End what is under way; it is for others then."""
        crew, self._crew = self._crew, None
        if crew is not None:
            crew.shutdown()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def play(
        self, order: Mapping[str, Any], files: Mapping[str, bytes], tell: Emit, wanted: Callable[[], bool]
    ) -> dict[str, Any]:
        """Play what was ordered (`wire.order`), with the content of some of its files; returns the answer.

        Raises WorkerDied when the process that played it died, Reschedule when this worker was stopped.
        """
        self._files.update(files)
        own = {path: order["files"][path] for path in order["own"]}
        if unseen := sorted(set(own.values()) - self._files.keys()):
            return {"wants": unseen}
        brought = {path: Brought(self._files[sha256], order["own"][path]) for path, sha256 in own.items()}
        try:
            with tempfile.TemporaryDirectory(dir=self._scratch, ignore_cleanup_errors=True) as folder:
                return self._answer(order, brought, Path(folder), tell, wanted)
        except OSError as error:  # to Dask it would look like a connection that broke
            what = f"the worker {_name()} was refused {error.filename or 'a file'}: {error.strerror}"
            return {"failed": what, "console": None, "console_path": ""}

    def _answer(
        self,
        order: Mapping[str, Any],
        brought: Mapping[str, Brought],
        folder: Path,
        tell: Emit,
        wanted: Callable[[], bool],
    ) -> dict[str, Any]:
        """What is sent back of an order that is played in an empty folder."""
        console = folder / "console.txt"
        try:
            plan = self._checked(order, brought)
            job = Job(plan, order["key"], folder / "bundle", console, order["capture"], brought)
            return wire.answer(self._played(job, tell, wanted))
        except WorkerDied:
            raise
        except GauntletError as error:
            if self._crew is None:
                raise Reschedule from None  # it was not the run that went wrong
            said = console.read_text(errors="replace") if console.is_file() else None
            return {"failed": str(error), "console": said, "console_path": str(console)}

    def _checked(self, order: Mapping[str, Any], brought: Mapping[str, Brought]) -> RunPlan:
        """The plan, when this machine can play it as it was meant. Raises RunError."""
        now = {"engine": self.player.engine.identity(), "code": self.suit["code"]}
        if other := wire.difference(now, {"engine": order["engine"], "code": self.suit["code"]}):
            raise RunError(f"the worker {_name()} {other}; start it again")
        plan = wire.plan_of(order)
        flows = json.loads(plan.parts["flows"])
        stacks = [flow["stack_params"] for flow in flows if flow["stack"] == STACK]
        if lacks := attachments.lacking(stacks, plan.files, plan.libraries, brought):
            raise RunError(
                f"{lacks} on the worker {_name()}; what lies in the experiment's folder is sent along, all "
                "else must be installed there, at the same place"
            )
        return plan

    def _played(self, job: Job, tell: Emit, wanted: Callable[[], bool]) -> Played:
        crew = self._crew
        if crew is None:
            raise RunError("It was stopped.")
        future = crew.submit(job, tell)
        while True:
            try:
                played: Played = future.result(timeout=_LOOK_S)
                return played
            except NotYet:
                if wanted():
                    continue
            # The campaign was stopped, or this run was given to another one.
            crew.shutdown()
            self._crew = Local(self.player, 1, start="spawn")
            raise RunError("It was stopped.")


def play(order: Mapping[str, Any], files: Mapping[str, bytes], topic: str) -> dict[str, Any]:
    """The task that a campaign gives to the scheduler; what is reported goes to `topic`."""
    worker = get_worker()
    task = worker.get_current_task()
    told_s = 0.0

    def tell(event: Mapping[str, Any]) -> None:
        nonlocal told_s
        if event["event"] == "progress" and time.monotonic() - told_s < _TELL_S:
            return
        told_s = time.monotonic()
        worker.log_event(topic, {**event, "task": task})

    def wanted() -> bool:
        state = worker.state.tasks.get(task)
        return state is not None and state.state not in ("cancelled", "released", "forgotten")

    try:
        return worker.plugins[NAME].play(order, files, tell, wanted)  # type: ignore[no-any-return]
    except WorkerDied as error:
        print(f"{error} The run is played again, elsewhere if there is another worker.", file=sys.stderr)
        # Whoever lost its player is lost: the scheduler gives the run to another one, and counts how often.
        os._exit(1)


def greet(campaign: wire.Suit, dask_worker: Worker) -> str | None:
    """Asked of every worker by a campaign: in what it differs from it, None where it does not. A worker that
    differs says so where it was started, too.
    """
    station = dask_worker.plugins.get(NAME)
    if station is None or not station.ready:
        return "is a plain Dask worker, and no worker of Gauntlet"
    other = wire.difference(station.suit, campaign)
    if other is not None:
        print(
            f"This worker {other}: it plays none of that campaign's runs. Install the same version of "
            "Gauntlet and its kernel here, and start it again.",
            file=sys.stderr,
            flush=True,
        )
    return other


_held: list[int] = []
"""Locks of this process; the kernel lets go of them when it ends in any way."""


def _own_core() -> None:
    """Keep this process, and what it starts, to a core that no other worker of this user is on."""
    cores = usable_cores()
    chosen = cores[os.getpid() % len(cores)]  # where there are more workers than cores they share
    for core in cores:
        place = Path(tempfile.gettempdir()) / f"gauntlet-core-{os.getuid()}-{core}"
        with contextlib.suppress(OSError):  # it is taken, or the name is somebody else's
            lock = os.open(place, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                continue
            _held.append(lock)
            chosen = core
            break
    os.sched_setaffinity(0, {chosen})


def _name() -> str:
    """What this worker's machine is called, for people."""
    return os.uname().nodename
