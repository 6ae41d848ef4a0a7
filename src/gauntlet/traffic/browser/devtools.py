"""A browser that is led by messages over two pipes (Chrome DevTools Protocol, `--remote-debugging-pipe`).

Each message is a JSON object and a zero byte; the browser reads from descriptor 3 and writes to descriptor 4.
"""

import fcntl
import json
import os
import select
import subprocess
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gauntlet.external.contract import Failed

_READS, _WRITES = 3, 4
_ABOVE = 10
"""Descriptors of this end lie above those of the browser."""
_BLOCK_BYTES = 1 << 16
_ANSWER_S = 20.0
"""A browser that begins beside others may take its time."""
_END_S = 3.0


class Browser:
    """A browser under way; leaving it ends the browser."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        """`folder`: for its complaints, and for a socket, whose path has 107 bytes at most (unix(7))."""
        self._errors = folder / "browser.err"
        reads, self._to = map(_raised, os.pipe())
        self._from, writes = map(_raised, os.pipe())

        def prepare() -> None:
            os.dup2(reads, _READS)
            os.dup2(writes, _WRITES)

        with self._errors.open("wb") as complains:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=complains,
                env={**os.environ, "TMPDIR": str(folder)},
                pass_fds=(_READS, _WRITES),
                preexec_fn=prepare,  # noqa: PLW1509 - there is one thread
            )
        os.close(reads)
        os.close(writes)
        self._pending = b""
        self._events: deque[Mapping[str, Any]] = deque()
        self._number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._send("Browser.close", {}, None)
            self._process.wait(_END_S)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._to)
        os.close(self._from)

    def call(
        self, method: str, parameters: Mapping[str, Any], session: str | None = None
    ) -> Mapping[str, Any]:
        """What the browser answers. Raises Failed when it does not, or refuses."""
        try:
            number = self._send(method, parameters, session)
        except BrokenPipeError:
            raise self._ended() from None
        until_s = time.monotonic() + _ANSWER_S
        while (message := self._next(until_s)) is not None:
            if message.get("id") != number:
                self._events.append(message)
            elif "error" in message:
                raise Failed(f"the browser does not do {method}: {message['error'].get('message')}")
            else:
                result: Mapping[str, Any] = message["result"]
                return result
        raise Failed(f"the browser did not answer {method} within {_ANSWER_S:.0f} s")

    def events(self, until_s: float) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """What it tells by itself, by name, until an instant of the monotonic clock."""
        while self._events or time.monotonic() < until_s:
            message = self._events.popleft() if self._events else self._next(until_s)
            if message is None:
                return
            if "method" in message:
                yield message["method"], message["params"]

    def _send(self, method: str, parameters: Mapping[str, Any], session: str | None) -> int:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": dict(parameters)}
        if session is not None:
            message["sessionId"] = session
        left = json.dumps(message).encode() + b"\0"
        while left:
            left = left[os.write(self._to, left) :]
        return self._number

    def _ended(self) -> Failed:
        told = self._errors.read_text(encoding="utf-8", errors="replace").split("\n")
        last = next((line.strip() for line in reversed(told) if line.strip()), "it said nothing")
        return Failed(f"the browser ended by itself: {last}")

    def _next(self, until_s: float) -> Mapping[str, Any] | None:
        """The next message; None when none came in time. Raises Failed when the browser has ended."""
        while b"\0" not in self._pending:
            left_s = until_s - time.monotonic()
            if left_s <= 0 or not select.select([self._from], [], [], left_s)[0]:
                return None
            block = os.read(self._from, _BLOCK_BYTES)
            if not block:
                raise self._ended()
            self._pending += block
        whole, _, self._pending = self._pending.partition(b"\0")
        message: Mapping[str, Any] = json.loads(whole)
        return message


def _raised(descriptor: int) -> int:
    """The same pipe under a number that the browser's own do not meet."""
    found = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _ABOVE)
    os.close(descriptor)
    return found
