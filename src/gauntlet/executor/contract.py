"""What an executor is: something that has jobs done, several at a time, behind futures.

There are two: the cores of this machine (`local`) and the workers of a Dask cluster (`cluster`). Neither
knows what a run is of; both hand out complete plans and give back sealed bundles.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Protocol, Self

from gauntlet.errors import RunError

Emit = Callable[[Any], None]
"""Called with what a job reports while it is done."""


class ExecutorGone(RunError):
    """Nobody is left who could play anything: no run is at fault, so none of them has failed."""


class Executor(Protocol):
    """Does jobs; a context manager whose end stops what is under way and lets go of everything."""

    @property
    def workers(self) -> int:
        """How many jobs are done at a time, now: workers of a cluster come and go."""

    @property
    def notes(self) -> Sequence[str]:
        """What a user should know of the workers (one was refused, one was lost), each a sentence."""

    def submit(self, job: Any, on_event: Emit | None = None) -> "Future[Any]":
        """Have a job done; its future ends with the outcome, a GauntletError or ExecutorGone."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
