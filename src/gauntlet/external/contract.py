"""Both ends of the external-stack contract in Python: what a program is told, and the result that it leaves.

The contract itself is docs/formats/external-stack.md; nothing here is more than it says. Imports are dear in
a guest ("What it costs", there), and every run imports this: it does without dataclasses, pathlib, hashlib
and typing, which together cost more than the start of the interpreter.
"""

import json
import os
import random
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

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


class Object:
    """A file to be fetched."""

    def __init__(self, name: str, size_bytes: int) -> None:
        self.name = name
        self.size_bytes = size_bytes


class Task:
    """What this program is told, from its environment. Paths are text."""

    def __init__(self) -> None:
        """Read the environment. Raises Failed when this is no guest of gauntlet."""
        try:
            self.role = _told("ROLE")
            """client or server."""
            self.app = _told("APP")
            self.direction = _told("DIRECTION")
            """upload: the client sends; download: the server does."""
            self.server_address = _told("SERVER_ADDRESS")
            self.port = int(_told("PORT"))
            self.server_name = _told("SERVER_NAME")
            """The name in the server's certificate."""
            self.ca = _told("CA")
            self.certificate = _told("CERTIFICATE")
            self.key = _told("KEY")
            self.seed = int(_told("SEED"))
            self.time_left_s = float(_told("TIME_LEFT_S"))
            """Virtual seconds to the limit of the run, when the program was started."""
            self.scratch = _told("SCRATCH")
            """A folder of its own, in memory."""
            self.keylog = self.parameter("keylog")
            """Where the secrets of sessions are to be logged (NSS key log); None: not asked for."""
            self.qlog = self.parameter("qlog")
            """Folder for qlog files; None: not asked for."""
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


class Exchange:
    """What this side knows of one object; instants are those of `now_ns`."""

    def __init__(
        self,
        object: str,
        size_bytes: int | None = None,
        *,
        requested_ns: int | None = None,
        first_byte_ns: int | None = None,
        completed_ns: int | None = None,
    ) -> None:
        self.object = object
        self.size_bytes = size_bytes
        self.requested_ns = requested_ns
        self.connected_ns: int | None = None
        self.secured_ns: int | None = None
        self.first_byte_ns = first_byte_ns
        self.completed_ns = completed_ns
        self.outcome: str | None = None


class Result:
    """What this side has to say; `write` leaves it for the guest."""

    def __init__(self, software: str) -> None:
        self.software = software
        """What the program is, with the version of what does the work."""
        self.started_ns: int | None = None
        """Set-up of the first session began."""
        self.transport_established_ns: int | None = None
        self.established_ns: int | None = None
        """Data could flow."""
        self.finished_ns: int | None = None
        self.sent: list[tuple[int, int]] = []
        """Instants with the application bytes handed over so far."""
        self.received: list[tuple[int, int]] = []
        """Instants with the application bytes that had arrived so far."""
        self.exchanges: list[Exchange] = []

    def add_sent(self, at_ns: int, count_bytes: int) -> None:
        """So many bytes were handed over at this instant."""
        _add(self.sent, at_ns, count_bytes)

    def add_received(self, at_ns: int, count_bytes: int) -> None:
        """So many bytes arrived at this instant."""
        _add(self.received, at_ns, count_bytes)

    def write(self) -> None:
        """Leave the result where the guest looks for it, whole or not at all."""
        data = {
            "format": "gauntlet-external-result",
            "version": 1,
            "clock": "monotonic",
            **{key: value for key, value in vars(self).items() if key != "exchanges"},
            "exchanges": [vars(exchange) for exchange in self.exchanges],
        }
        place = _told("RESULT")
        part = f"{place}.part"
        with open(part, "w", encoding="utf-8") as file:
            file.write(json.dumps(data))
        os.rename(part, place)


def _add(steps: list[tuple[int, int]], at_ns: int, count_bytes: int) -> None:
    before = steps[-1][1] if steps else 0
    steps.append((at_ns, before + count_bytes))


def now_ns() -> int:
    """The clock of all instants: CLOCK_MONOTONIC in nanoseconds."""
    return time.monotonic_ns()


def ready() -> None:
    """Say that the server can be connected to."""
    print(READY, flush=True)


TILE_BYTES = 65_521
"""Contents repeat after so many bytes: the largest prime below 64 KiB, so that no block of a protocol and no
number of packets is the same at two places. A file of 4 MB that need not be kept saves a guest a quarter of
a second, for fresh memory is dear.
"""


def tile(seed: int, name: str) -> bytes:
    """What the content of an object repeats: both ends draw it from the seed."""
    return random.Random(f"{seed}/{name}").randbytes(TILE_BYTES)


def payload(seed: int, name: str, size_bytes: int) -> bytes:
    """The content of an object."""
    whole, rest = divmod(size_bytes, TILE_BYTES)
    repeated = tile(seed, name)
    return repeated * whole + repeated[:rest]


class Content:
    """Takes an object's content block by block and compares it with what was sent."""

    def __init__(self, seed: int, name: str) -> None:
        self.count_bytes = 0
        """How much has arrived."""
        self._name = name
        self._twice = 2 * tile(seed, name)
        self._differs_at: int | None = None

    def take(self, block: bytes) -> None:
        """The next bytes: no more than `TILE_BYTES`."""
        start = self.count_bytes % TILE_BYTES
        expected = self._twice[start : start + len(block)]
        if block != expected and self._differs_at is None:
            pairs = enumerate(zip(block, expected, strict=True))
            self._differs_at = self.count_bytes + next(at for at, (one, other) in pairs if one != other)
        self.count_bytes += len(block)

    def check(self, size_bytes: int) -> None:
        """All has arrived. Raises Failed when it is not what was sent."""
        if self.count_bytes != size_bytes:
            raise Failed(f"{self.count_bytes} of the {size_bytes} bytes of {self._name} arrived")
        if self._differs_at is not None:
            raise Failed(
                f"{self._name} arrived with other content than was sent, from byte {self._differs_at} on"
            )


def check_intact(received: bytes, seed: int, name: str, size_bytes: int) -> None:
    """The same for content that is there as a whole. Raises Failed when it is not what was sent."""
    content = Content(seed, name)
    for start in range(0, len(received), TILE_BYTES):
        content.take(received[start : start + TILE_BYTES])
    content.check(size_bytes)


def play(program: "Callable[[Task, Result], None]", software: str) -> None:
    """Run a program of this package, write its result in any case, and end as the contract says."""
    result = Result(software)
    code, sentence = 0, ""
    try:
        try:
            program(Task(), result)
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
