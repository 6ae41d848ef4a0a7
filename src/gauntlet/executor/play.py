"""What a worker does with one plan: check its files, have the engine play it, seal what came out.

The engine and `Pack` come from above; nothing else than the plan decides what is done.
"""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gauntlet.engine.contract import Engine, Place
from gauntlet.executor import attachments
from gauntlet.executor.bundle import Bundle
from gauntlet.executor.local import Emit
from gauntlet.executor.plan import RunPlan

Pack = Callable[[Mapping[str, Any], Path, Path], "Packed"]
"""`pack(run, record_dir, folder)` puts what is kept of a run's record into an empty folder."""


@dataclass(frozen=True)
class Packed:
    """What was packed: how it was made, and a few facts (see `Bundle`); `reason` of a run that failed."""

    made_with: Mapping[str, str]
    facts: Mapping[str, Any]
    reason: str = ""


@dataclass(frozen=True)
class Job:
    """A plan to be played: its key on the engine, the new folder that becomes its bundle, its console."""

    plan: RunPlan
    key: str
    into: Path
    console: Path | None = None


@dataclass(frozen=True)
class Played:
    """How a run ended: its bundle, or the reason why it has none, and how long it was in virtual time."""

    bundle: Bundle | None
    reason: str
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Player:
    """A worker's part: `Local(Player(engine, pack))` plays jobs."""

    engine: Engine
    pack: Pack

    def __call__(self, job: Job, core: int, emit: Emit) -> Played:
        """Play a job. Raises RunError when there is no record of it."""
        attachments.check(job.plan.files)
        run = job.plan.run()
        records = job.into.with_name(f"{job.into.name}.records")
        try:
            record_dir = self.engine.play(run, records, place=Place(core, job.console), on_event=emit)
            job.into.mkdir(parents=True)
            packed = self.pack(run, record_dir, job.into)
            if packed.reason:
                return Played(None, packed.reason, packed.facts)
            bundle = Bundle.seal(job.into, job.key, made_with=packed.made_with, facts=packed.facts)
            return Played(bundle, "", packed.facts)
        finally:
            shutil.rmtree(records, ignore_errors=True)
