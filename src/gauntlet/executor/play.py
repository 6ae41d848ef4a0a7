"""What a worker does with one plan: see to its files, have the engine play it, seal what came out.

The engine and `Pack` come from above; nothing else than the plan decides what is done.
"""

import platform
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from gauntlet.engine.contract import Engine, Place
from gauntlet.errors import RunError
from gauntlet.executor import attachments, view
from gauntlet.executor.bundle import Bundle
from gauntlet.executor.contract import Emit
from gauntlet.executor.plan import RunPlan
from gauntlet.executor.view import Brought, View


class Pack(Protocol):
    """Puts what is kept of a run's record into an empty folder, with its packets if they are wanted."""

    def __call__(
        self, run: Mapping[str, Any], record_dir: Path, folder: Path, /, *, capture: bool
    ) -> "Packed": ...


@dataclass(frozen=True)
class Packed:
    """What was packed: how it was made, and a few facts (see `Bundle`); `reason` of a run that failed."""

    made_with: Mapping[str, str]
    facts: Mapping[str, Any]
    reason: str = ""


@dataclass(frozen=True)
class Job:
    """A plan to be played: its key on the engine, the new folder that becomes its bundle, its console.

    `brought` are files of the plan that came with it from another machine; the others are files of this one.
    """

    plan: RunPlan
    key: str
    into: Path
    console: Path | None = None
    capture: bool = False
    brought: Mapping[str, Brought] = field(default_factory=dict)


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
        foreign = _foreign(job)
        run = job.plan.run()
        records = job.into.with_name(f"{job.into.name}.records")
        root = job.into.with_name(f"{job.into.name}.root")
        place = Place(core, job.console, View(foreign, root) if foreign else None)
        try:
            record_dir = self.engine.play(run, records, place=place, on_event=emit)
            job.into.mkdir(parents=True)
            packed = self.pack(run, record_dir, job.into, capture=job.capture)
            if packed.reason:
                return Played(None, packed.reason, packed.facts)
            bundle = Bundle.seal(job.into, job.key, made_with=packed.made_with, facts=packed.facts)
            return Played(bundle, "", packed.facts)
        finally:
            shutil.rmtree(records, ignore_errors=True)
            shutil.rmtree(root, ignore_errors=True)


def _foreign(job: Job) -> dict[str, Brought]:
    """What came with a job and is not here already; everything else that it needs is seen to be here.

    Raises RunError for a file that is not, and where this machine cannot show files of another one.
    """
    foreign = {path: it for path, it in job.brought.items() if not attachments.is_here(path, it.sha256)}
    attachments.check({path: sha256 for path, sha256 in job.plan.files.items() if path not in foreign})
    if foreign and not view.possible():
        raise RunError(
            f"{next(iter(foreign))} cannot be shown to the run, because {platform.node()} allows this user "
            "no mounts of its own; allow them (user namespaces), or put the file there at this place"
        )
    return foreign
