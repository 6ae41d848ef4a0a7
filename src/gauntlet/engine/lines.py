"""What a player or a guest prints: lines, and which of them are events (docs/formats/player.md)."""

import json
import os
import selectors
import subprocess
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_BLOCK_BYTES = 65_536

_EVENT = '{"event"'
"""How an event begins; everything else is for people."""


def printed(
    process: "subprocess.Popen[bytes]", wait: Callable[[selectors.BaseSelector], bool]
) -> Iterator[str]:
    """Lines that a process prints, until it has closed its output or nobody waits for more.

    `wait` gets a selector of that output before each read, waits until it is ready and says whether it is;
    what it raises is passed on.
    """
    assert process.stdout is not None
    pending = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while wait(selector):
            block = os.read(process.stdout.fileno(), _BLOCK_BYTES)
            if not block:
                break
            *whole, pending = (pending + block).split(b"\n")
            for line in whole:
                yield _text(line)
    if pending:
        yield _text(pending)


def is_event(line: str) -> bool:
    """Whether a line is an event, so not for people."""
    return line.startswith(_EVENT)


def event_of(line: str) -> Mapping[str, Any] | None:
    """The event that a line tells; None where it tells none, or only a piece of one."""
    if not is_event(line):
        return None
    try:
        event: Mapping[str, Any] = json.loads(line)
    except ValueError:
        return None
    return event


def _text(line: bytes) -> str:
    return line.decode(errors="replace").rstrip("\r")
