"""Runs on their way into a results folder: from the cache, or played by workers and kept for next time."""

import queue
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from gauntlet.certificate.answers import Answer
from gauntlet.engine.contract import Engine
from gauntlet.errors import GauntletError, RunError
from gauntlet.executor import attachments
from gauntlet.executor.bundle import Bundle
from gauntlet.executor.cache import Cache
from gauntlet.executor.contract import Executor, ExecutorGone
from gauntlet.executor.plan import RunPlan
from gauntlet.executor.play import Job, Played
from gauntlet.experiment import ridden
from gauntlet.experiment.runspec import RunSpec
from gauntlet.results import layout, resume, store
from gauntlet.results.files import failures_named
from gauntlet.results.pack import made_with

LOST_RUNS_IN_A_ROW = 8
"""A campaign gives up when this many runs in a row leave nothing: then the machine is at fault, not a run."""

_AHEAD = 2
"""Plans that wait for each worker, so that none has to wait for one."""


@dataclass(frozen=True)
class Event:
    """What happens while a campaign runs: `kind` is started, progress, finished or failed."""

    kind: str
    run: str
    fraction: float = 0.0
    reason: str = ""


@dataclass
class Outcome:
    """How a campaign ended."""

    results: Path
    planned: int
    present_before: int
    finished: int = 0
    """Runs that were played to their end."""
    failed: dict[str, str] = field(default_factory=dict)
    untrusted: list[str] = field(default_factory=list)
    """Runs whose certificate is contradicted."""
    unchecked: list[str] = field(default_factory=list)
    """Runs of which something could have been checked and was not."""
    wall_s: float = 0.0
    virtual_s: float = 0.0
    """Of the runs that were played."""
    cached: int = 0
    """Runs that were taken from the cache, or that equal another one of this campaign."""
    cache_trouble: str = ""
    """Why runs could not be kept in the cache."""
    workers: int = 0
    """The most that played side by side."""
    uncaptured: int = 0
    """Runs that were there without their packets, which were wanted; they are among those that came anew."""
    notes: list[str] = field(default_factory=list)
    """What happened to workers of a cluster, each a sentence."""

    def after(self, earlier: "Outcome") -> "Outcome":
        """Both in one: this is of the same campaign with more repetitions, which went on where `earlier` had
        ended.
        """
        return replace(
            self,
            present_before=earlier.present_before,
            finished=earlier.finished + self.finished,
            failed={**earlier.failed, **self.failed},
            untrusted=earlier.untrusted + self.untrusted,
            unchecked=earlier.unchecked + self.unchecked,
            wall_s=earlier.wall_s + self.wall_s,
            virtual_s=earlier.virtual_s + self.virtual_s,
            cached=earlier.cached + self.cached,
            cache_trouble=self.cache_trouble or earlier.cache_trouble,
            workers=max(earlier.workers, self.workers),
            uncaptured=earlier.uncaptured + self.uncaptured,
            notes=earlier.notes + self.notes,
        )


@dataclass(frozen=True)
class Planned:
    """A run of the experiment with its plan and its key."""

    spec: RunSpec
    plan: RunPlan
    key: str


class Playing:
    """One campaign's runs on their way into its results folder."""

    def __init__(
        self,
        out: Path,
        engine: Engine,
        cache: Cache | None,
        outcome: Outcome,
        tell: Callable[[Event], None],
        *,
        capture: bool,
        traces: Mapping[str, str],
    ) -> None:
        self._out, self._engine, self._cache = out, engine, cache
        self._outcome, self._tell = outcome, tell
        self._capture, self._traces = capture, traces
        self._identity = engine.identity()
        self._lost_in_a_row = 0

    def play(self, missing: Sequence[Planned], crew: Callable[[int], Executor]) -> None:
        """Take runs from the cache, have a crew play the others (`crew(jobs)` opens one for so many); runs of
        one key are played once.
        """
        same: dict[str, list[Planned]] = {}
        for it in missing:
            # In real time equal runs do not end alike, so each is played.
            same.setdefault(it.key if self._engine.exact else f"{it.key} {it.spec.id}", []).append(it)
        if not same:
            return
        with tempfile.TemporaryDirectory(prefix=".work-", dir=self._out) as scratch:
            waiting = [runs for runs in same.values() if not self._taken(runs, Path(scratch))]
            if waiting:
                with crew(len(waiting)) as executor:
                    try:
                        self._play_all(waiting, executor, Path(scratch))
                    finally:
                        self._outcome.notes.extend(executor.notes)

    def _taken(self, runs: Sequence[Planned], scratch: Path) -> bool:
        """Put runs of one key into the results from the cache, if it has them."""
        if self._cache is None:
            return False
        with failures_named("take a run from the cache"):
            bundle = self._cache.take(runs[0].key, made_with(), scratch / runs[0].key, capture=self._capture)
        if bundle is None:
            return False
        self._place(runs, bundle)
        self._outcome.cached += len(runs)
        return True

    def _play_all(self, waiting: Sequence[Sequence[Planned]], crew: Executor, scratch: Path) -> None:
        """Hand plans to workers, a few ahead of each, and store what comes back."""
        news: queue.SimpleQueue[tuple[Sequence[Planned], Any]] = queue.SimpleQueue()
        following, under_way = iter(waiting), 0
        while True:
            self._outcome.workers = max(self._outcome.workers, crew.workers)
            while under_way < _AHEAD * max(1, crew.workers) and (runs := next(following, None)) is not None:
                first = runs[0]
                console = layout.console_file(self._out, first.spec.id)
                job = Job(first.plan, first.key, scratch / first.spec.id, console, self._capture)
                future = crew.submit(job, partial(_put, news, runs))
                future.add_done_callback(partial(_put, news, runs))
                under_way += 1
            if not under_way:
                return
            runs, said = news.get()
            if isinstance(said, Future):
                under_way -= 1
                self._ended(runs, said)
            else:
                self._heard(runs[0].spec.id, said)

    def _heard(self, run_id: str, event: Mapping[str, Any]) -> None:
        if event["event"] == "started":
            self._tell(Event("started", run_id))
        elif event["event"] == "progress":
            done = event["virtual_s"] / max(event["expected_s"], 1e-9)
            self._tell(Event("progress", run_id, min(1.0, done)))

    def _ended(self, runs: Sequence[Planned], future: "Future[Played]") -> None:
        """Store what became of runs of one key. Raises RunError when too many in a row left nothing or when
        nobody is left to play any.
        """
        try:
            played = future.result()
        except ExecutorGone:
            raise
        except GauntletError as error:
            self._lost_in_a_row += 1
            self._failed(runs, str(error))
            if self._lost_in_a_row >= LOST_RUNS_IN_A_ROW:
                raise RunError(
                    f"{self._lost_in_a_row} runs in a row left nothing behind; the last one because: {error}"
                ) from None
            return
        self._lost_in_a_row = 0
        self._outcome.virtual_s += played.facts["virtual_s"]
        if played.bundle is None:
            self._failed(runs, played.reason)
            return
        self._keep(played.bundle)
        self._place(runs, played.bundle)
        self._outcome.finished += 1
        self._outcome.cached += len(runs) - 1

    def _keep(self, bundle: Bundle) -> None:
        """Put a run into the cache; a cache that cannot be written is said and given up."""
        if self._cache is None:
            return
        try:
            self._cache.put(bundle)
        except OSError as error:
            self._outcome.cache_trouble = f"{self._cache.folder}: {error.strerror or error}"
            self._cache = None

    def _place(self, runs: Sequence[Planned], bundle: Bundle) -> None:
        """Put a bundle into the results, once for each run that has its key."""
        for spec, plan in ((it.spec, it.plan) for it in runs):
            if spec.scenario.path is not None:
                attachments.check({spec.scenario.path: self._traces[spec.scenario.path]})
            store.place_run(
                self._out,
                spec.to_json(),
                plan.run(spec.id),
                bundle.folder,
                ridden(spec),
                key=resume.key_file(bundle.key, plan.files, plan.libraries, self._identity),
                capture=self._capture,
            )
            if bundle.facts["verdict"] == Answer.CONTRADICTED:
                self._outcome.untrusted.append(spec.id)
            elif bundle.facts["verdict"] == Answer.NOT_CHECKED:
                self._outcome.unchecked.append(spec.id)
            self._tell(Event("finished", spec.id, 1.0))
        shutil.rmtree(bundle.folder)

    def _failed(self, runs: Sequence[Planned], reason: str) -> None:
        for it in runs:
            if not (layout.run_folder(self._out, it.spec.id) / layout.KEY).exists():
                # One that came to its end before, and was played again for its packets, stays.
                store.write_failure(self._out, it.spec.to_json(), it.plan.run(it.spec.id), reason)
            self._outcome.failed[it.spec.id] = reason
            self._tell(Event("failed", it.spec.id, 1.0, reason))


def _put(news: "queue.SimpleQueue[tuple[Any, Any]]", runs: Sequence[Planned], said: object) -> None:
    news.put((runs, said))
