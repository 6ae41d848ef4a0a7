"""What an engine is: something that plays one run of a plan and leaves its record."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

OnEvent = Callable[[Mapping[str, Any]], None]
"""Called with what a run reports while it is played: a mapping with `event` (started, progress, ...)."""


@dataclass(frozen=True)
class Place:
    """Where a run is played: the host's core, and the file that keeps the console of one that goes wrong.

    `enter` is what the process that plays it does first, before it has threads or other programs: it may give
    it files of its own (`gauntlet.executor.view`).
    """

    core: int | None = None
    console: Path | None = None
    enter: Callable[[], None] | None = None


class Engine(Protocol):
    """Plays runs; it can be handed to another process."""

    @property
    def exact(self) -> bool:
        """Whether the same run gives the same bytes. If not, runs are played one at a time in an order that
        is drawn, and none is taken from the cache.
        """

    def identity(self) -> dict[str, str]:
        """All of the engine that decides what a plan gives, as hashes and settings: a part of the run key."""

    def describe(self) -> dict[str, str]:
        """What the manifest says of it; it contains the identity."""

    def refusals(self, runs: Sequence[Mapping[str, Any]]) -> list[str | None]:
        """Of each run of a plan: why it cannot be played (without a full stop), None where it can."""

    def play(
        self, run: Mapping[str, Any], out: Path, *, place: Place, on_event: OnEvent | None = None
    ) -> Path:
        """Play a run (docs/formats/plan.md) and return the folder below `out` that has its record.

        Raises RunError when there is no record (docs/formats/record.md) of it.
        """
