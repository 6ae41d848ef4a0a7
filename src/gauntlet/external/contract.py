"""Both ends of the external-stack contract in Python: what a program is told, and the result that it leaves.

The contract itself is docs/formats/external-stack.md; nothing here is more than it says.
"""

import hashlib
import json
import os
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

READY = "GAUNTLET READY"
"""The line by which a server says that it can be connected to."""
UNSUPPORTED = 127
"""Exit code of a program that cannot do what is asked."""
OK = "ok"
"""Outcome of an exchange that went well."""


class Unsupported(Exception):
    """The program cannot do what is asked; the sentence says what."""


class Failed(Exception):
    """What was asked did not work out; the sentence says why."""


@dataclass(frozen=True)
class Object:
    """A file to be fetched."""

    name: str
    size_bytes: int


@dataclass(frozen=True)
class Task:
    """What this program is told, from its environment."""

    role: str
    """client or server."""
    app: str
    direction: str
    """upload: the client sends; download: the server does."""
    server_address: str
    port: int
    server_name: str
    """The name in the server's certificate."""
    ca: Path
    certificate: Path
    key: Path
    seed: int
    time_left_s: float
    """Virtual seconds to the limit of the run, when the program was started."""
    scratch: Path
    """A folder of its own, in memory."""
    keylog: Path | None
    """Where the secrets of sessions are to be logged (NSS key log); None: not asked for."""
    qlog: Path | None
    """Folder for qlog files; None: not asked for."""

    @staticmethod
    def from_environment() -> "Task":
        """Read the environment. Raises Failed when this is no guest of gauntlet."""
        try:
            return Task(
                role=_told("ROLE"),
                app=_told("APP"),
                direction=_told("DIRECTION"),
                server_address=_told("SERVER_ADDRESS"),
                port=int(_told("PORT")),
                server_name=_told("SERVER_NAME"),
                ca=Path(_told("CA")),
                certificate=Path(_told("CERTIFICATE")),
                key=Path(_told("KEY")),
                seed=int(_told("SEED")),
                time_left_s=float(_told("TIME_LEFT_S")),
                scratch=Path(_told("SCRATCH")),
                keylog=_path("KEYLOG"),
                qlog=_path("QLOG"),
            )
        except KeyError as error:
            raise Failed(
                f"the variable {error.args[0]} is missing; gauntlet starts this program in a guest"
            ) from None

    def parameter(self, key: str) -> str | None:
        """A parameter of the application or of the stack by its key in the plan; None when it is not set."""
        return os.environ.get(f"GAUNTLET_{key.upper()}")

    def required(self, key: str) -> str:
        """As `parameter`. Raises Unsupported when it is not set: then the application is another one."""
        value = self.parameter(key)
        if value is None:
            raise Unsupported(f"the application '{self.app}' has no parameter '{key}', which this needs")
        return value

    @property
    def objects(self) -> list[Object]:
        """The files of the application, in the order in which they are to be fetched."""
        listed = json.loads(self.required("objects"))
        return [Object(entry["object"], entry["size_bytes"]) for entry in listed]


def _told(name: str) -> str:
    return os.environ[f"GAUNTLET_{name}"]


def _path(name: str) -> Path | None:
    value = os.environ.get(f"GAUNTLET_{name}")
    return Path(value) if value else None


@dataclass
class Exchange:
    """What this side knows of one object; instants are those of `now_ns`."""

    object: str
    size_bytes: int | None = None
    requested_ns: int | None = None
    connected_ns: int | None = None
    secured_ns: int | None = None
    first_byte_ns: int | None = None
    completed_ns: int | None = None
    outcome: str | None = None


@dataclass
class Result:
    """What this side has to say; `write` leaves it for the guest."""

    software: str
    """What the program is, with the version of what does the work."""
    started_ns: int | None = None
    """Set-up of the first session began."""
    transport_established_ns: int | None = None
    established_ns: int | None = None
    """Data could flow."""
    finished_ns: int | None = None
    sent: list[tuple[int, int]] = field(default_factory=list)
    """Instants with the application bytes handed over so far."""
    received: list[tuple[int, int]] = field(default_factory=list)
    """Instants with the application bytes that had arrived so far."""
    exchanges: list[Exchange] = field(default_factory=list)

    def add_sent(self, at_ns: int, count_bytes: int) -> None:
        """So many bytes were handed over at this instant."""
        _add(self.sent, at_ns, count_bytes)

    def add_received(self, at_ns: int, count_bytes: int) -> None:
        """So many bytes arrived at this instant."""
        _add(self.received, at_ns, count_bytes)

    def write(self) -> None:
        """Leave the result where the guest looks for it, whole or not at all."""
        data: dict[str, Any] = {
            "format": "gauntlet-external-result",
            "version": 1,
            "clock": "monotonic",
            **{key: value for key, value in vars(self).items() if key != "exchanges"},
            "exchanges": [vars(exchange) for exchange in self.exchanges],
        }
        place = Path(_told("RESULT"))
        part = place.with_suffix(".part")
        part.write_text(json.dumps(data))
        part.rename(place)


def _add(steps: list[tuple[int, int]], at_ns: int, count_bytes: int) -> None:
    before = steps[-1][1] if steps else 0
    steps.append((at_ns, before + count_bytes))


def now_ns() -> int:
    """The clock of all instants: CLOCK_MONOTONIC in nanoseconds."""
    return time.monotonic_ns()


def ready() -> None:
    """Say that the server can be connected to."""
    print(READY, flush=True)


def payload(seed: int, name: str, size_bytes: int) -> bytes:
    """The content of an object: both ends make it from the seed, so that the receiver can check it."""
    return random.Random(f"{seed}/{name}").randbytes(size_bytes)


def check_intact(received: bytes, seed: int, name: str, size_bytes: int) -> None:
    """Compare what arrived with what was sent. Raises Failed naming the first difference."""
    expected = payload(seed, name, size_bytes)
    if hashlib.sha256(received).digest() == hashlib.sha256(expected).digest():
        return
    if len(received) != size_bytes:
        raise Failed(f"{len(received)} of the {size_bytes} bytes of {name} arrived")
    at = next(
        index for index, (one, other) in enumerate(zip(received, expected, strict=True)) if one != other
    )
    raise Failed(f"{name} arrived with other content than was sent, from byte {at} on")


def play(program: Callable[[Task, Result], None], software: str) -> None:
    """Run a program of this package, write its result in any case, and end as the contract says."""
    result = Result(software)
    code, sentence = 0, ""
    try:
        try:
            program(Task.from_environment(), result)
        finally:
            if "GAUNTLET_RESULT" in os.environ:
                result.write()
    except Unsupported as error:
        code, sentence = UNSUPPORTED, str(error)
    except Failed as error:
        code, sentence = 1, str(error)
    if sentence:
        print(sentence, file=sys.stderr)
    sys.exit(code)
