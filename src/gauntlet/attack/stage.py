"""Processes of a run: started on their cores, heard line by line, and ended by whoever started them.

What they tell is a JSON object a line, with one key that says what it is about: `{"ready": {...}}`,
`{"request": {...}}`, `{"second": {...}}`, `{"done": {...}}` (docs/formats/attack-bench.md).
"""

import contextlib
import json
import os
import resource
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gauntlet.attack import counters
from gauntlet.attack.share import Share
from gauntlet.engine import cores as engine_cores

_BLOCK_BYTES = 65_536
_LISTEN_S = 0.05
"""For how long is listened before it is asked again whether that is enough."""


@dataclass(frozen=True)
class Said:
    """One line that a process told."""

    kind: str
    content: Mapping[str, Any]


@dataclass
class Actor:
    """One process."""

    name: str
    process: "subprocess.Popen[bytes]"
    began_s: float
    """When it was started, by the monotonic clock."""
    errors: Path
    """What it writes to standard error."""
    said: list[Said] = field(default_factory=list)
    pending: bytes = b""
    asked_to_end: bool = False

    def all(self, kind: str) -> list[Mapping[str, Any]]:
        """The contents of all lines of a kind, in order."""
        return [it.content for it in self.said if it.kind == kind]

    def last(self, kind: str) -> Mapping[str, Any] | None:
        """The content of the last line of a kind; None where there is none."""
        return next((it.content for it in reversed(self.said) if it.kind == kind), None)

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    @property
    def died(self) -> bool:
        """Whether it has ended with an error, or by a signal that nobody here sent."""
        code = self.process.poll()
        return code is not None and code != 0 and not self.asked_to_end

    def complaint(self) -> str:
        """The last line that it wrote to standard error; else how it ended."""
        return self.last_line() or f"it ended with code {self.process.poll()} and no word"

    def last_line(self) -> str:
        """The last line that it wrote to standard error, without a full stop; empty: none."""
        try:
            lines = self.errors.read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError:
            lines = []
        told = [line.strip() for line in lines if line.strip()]
        return told[-1].rstrip(".") if told else ""

    def hear(self, block: bytes) -> None:
        """Take in what it printed; lines that are no JSON object with one key are for people."""
        *whole, self.pending = (self.pending + block).split(b"\n")
        for line in whole:
            try:
                told = json.loads(line)
            except ValueError:
                continue
            if isinstance(told, dict) and len(told) == 1:
                ((kind, content),) = told.items()
                if isinstance(content, dict):
                    self.said.append(Said(kind, content))


class Stage:
    """Where processes run; leaving it ends all of them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._selector = selectors.DefaultSelector()
        self._actors: list[Actor] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for actor in reversed(self._actors):
            self.end(actor)
        self._selector.close()

    def start(
        self,
        name: str,
        command: Sequence[str],
        *,
        cores: Collection[int] = (),
        share: Share | None = None,
        inside: Path | None = None,
    ) -> Actor:
        """Start a process in a session of its own, on these cores (none: all), in this control group and in
        this folder (none: that of the run).
        """

        def prepare() -> None:
            engine_cores.die_with_parent(signal.SIGKILL)
            if share is not None:
                share.enter()
            if cores:
                os.sched_setaffinity(0, set(cores))
            # What bounds connections shall be a server's own limit and not that of the shell.
            _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

        errors = self._folder / f"{name}-{len(self._actors)}.err"
        with errors.open("wb") as err:
            process = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=err,
                cwd=inside or self._folder,
                start_new_session=True,
                preexec_fn=prepare,  # noqa: PLW1509 - one thread starts all of them
            )
        actor = Actor(name, process, time.monotonic(), errors)
        assert process.stdout is not None
        self._selector.register(process.stdout, selectors.EVENT_READ, actor)
        self._actors.append(actor)
        return actor

    def listen(self, enough: Callable[[], bool], within_s: float) -> bool:
        """Hear all processes until it is enough; whether it was, within this time."""
        until_s = time.monotonic() + within_s
        while not enough():
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                return False
            self._hear(min(left_s, _LISTEN_S))
        return True

    def _hear(self, within_s: float) -> None:
        if not self._selector.get_map():
            time.sleep(within_s)
            return
        for key, _ in self._selector.select(within_s):
            block = os.read(key.fd, _BLOCK_BYTES)
            actor: Actor = key.data
            if block:
                actor.hear(block)
            else:
                self._selector.unregister(key.fileobj)

    def ended(self, actor: Actor, within_s: float) -> bool:
        """Wait until a process ends by itself; whether it did, within this time."""
        return self.listen(lambda: not actor.running, within_s)

    def end(self, actor: Actor, within_s: float = 5.0) -> None:
        """Ask a process and those that it started to end, hear its last words, and then end what is left."""
        if actor.running:
            actor.asked_to_end = True
            self._signal(actor, signal.SIGTERM)
            self.ended(actor, within_s)
        self._signal(actor, signal.SIGKILL)
        actor.process.wait()
        self._drain(actor)

    def _drain(self, actor: Actor) -> None:
        """What is left in the pipe of a process that has ended."""
        stdout = actor.process.stdout
        assert stdout is not None
        if stdout.closed:
            return
        if stdout in (key.fileobj for key in self._selector.get_map().values()):
            self._selector.unregister(stdout)
        while block := os.read(stdout.fileno(), _BLOCK_BYTES):
            actor.hear(block)
        stdout.close()

    @staticmethod
    def _signal(actor: Actor, what: signal.Signals) -> None:
        """To the session that was begun for it: the process and its children, nobody else."""
        for pid in counters.session(actor.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, what)
