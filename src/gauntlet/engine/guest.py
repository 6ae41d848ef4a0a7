"""One guest: boot the virtual-time kernel on a plan of runs, watch it, leave the records in a folder."""

import contextlib
import errno
import json
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gauntlet import engine
from gauntlet.engine import kernel, pool
from gauntlet.errors import RunError

# 2026-01-01T00:00:00Z. Any fixed instant will do; certificates made in a guest must be valid then.
BOOT_INSTANT_NS = 1_767_225_600 * 1_000_000_000

# Enough for socket buffers of a stock distribution on a dozen nodes; a guest stays under 300 MB.
MEMORY = "256M"

# A guest that says nothing for this long of wall time does not advance: a program in it spins on the clock.
STALL_WALL_S = 90.0


@dataclass(frozen=True)
class Machine:
    """What a guest boots with: kernel image, first program, memory."""

    kernel: Path
    program: Path
    memory: str = MEMORY

    @staticmethod
    def installed() -> "Machine":
        """The installed kernel image and guest program; RunError with the remedy when one is missing."""
        return Machine(kernel.image(), engine.guest_binary())


def plan(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The plan of one boot: runs as docs/formats/plan.md has them, in their envelope."""
    return {"format": "gauntlet-plan", "version": 1, "runs": list(runs)}


def boot(
    runs: Sequence[Mapping[str, Any]],
    out: Path,
    *,
    seed: int,
    machine: Machine,
    on_event: Callable[[Mapping[str, Any]], None] | None = None,
    core: int | None = None,
    writable: Sequence[Path] = (),
    stall_wall_s: float = STALL_WALL_S,
    settings: Sequence[str] = (),
) -> None:
    """Boot a guest that plays `runs` (plan.md) and wait for its end; records appear in `out` (record.md).

    `on_event` gets each event that the guest reports (a mapping with `event`). `core` pins the guest to one
    host core: its threads hand over to each other all the time, and moving between cores makes that several
    times slower. Raises RunError when the guest cannot start, dies or stands still. Runs that the guest
    itself reports as failed are records.
    """
    out.mkdir(parents=True, exist_ok=True)
    listen = on_event or (lambda _event: None)
    with tempfile.TemporaryDirectory(prefix="gauntlet-guest-") as scratch:
        file = Path(scratch) / "plan.json"
        file.write_text(json.dumps(plan(runs)))
        arguments = ["--plan", str(file.resolve()), "--out", str(out.resolve())]
        for folder in writable:
            arguments += ["--writable", str(folder.resolve())]
        command = [
            str(machine.kernel), f"mem={machine.memory}", f"uml_dir={scratch}/", "umid=guest",
            "rootfstype=hostfs", "root=/dev/root", "rootflags=/", "ro", f"init={machine.program}",
            "time-travel=inf-cpu", f"time-travel-start={BOOT_INSTANT_NS}",
            "con=null", "con0=null,fd:1", "panic=1", "quiet", *settings, "--", *arguments,
        ]  # fmt: skip
        environment = {**os.environ, "GAUNTLET_SEED": str(seed), "TMPDIR": scratch}
        with _started(command, environment, core) as process:
            tail, state = deque[str](maxlen=12), "before its first report"
            for line in _lines(process, stall_wall_s):
                if line is None:
                    raise RunError(
                        f"The guest has stood still for {stall_wall_s:.0f} s of wall time ({state}): a "
                        "program in it probably spins on the clock, and time stands still while it does."
                    )
                event = _event(line)
                if event is None:
                    tail.append(line)
                    continue
                if event["event"] == "refused":
                    raise RunError(_given_up(event["reason"]))
                state = _state(event, state)
                listen(event)
            if process.wait() != 0:
                said = " | ".join(text for text in tail if text.strip()) or "nothing"
                raise RunError(f"The guest died ({state}; exit {process.returncode}). It last said: {said}")


def _given_up(reason: str) -> str:
    if os.strerror(errno.ENOSPC) in reason:
        return f"The disk is full: {reason}; free some space, the same command continues."
    return f"The guest gave up: {reason}"


def _event(line: str) -> Mapping[str, Any] | None:
    if not line.startswith('{"event"'):
        return None
    try:
        event: Mapping[str, Any] = json.loads(line)
    except ValueError:
        return None
    return event


def _state(event: Mapping[str, Any], before: str) -> str:
    if event["event"] == "progress":
        return f"in run {event['run']} at {event['virtual_s']:.1f} virtual seconds"
    if event["event"] == "started":
        return f"at the start of run {event['run']}"
    return before


def _die_with_us() -> None:
    pool.die_with_parent(signal.SIGKILL)


@contextlib.contextmanager
def _started(
    command: list[str], environment: Mapping[str, str], core: int | None
) -> Iterator[subprocess.Popen[bytes]]:
    try:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_die_with_us,  # noqa: PLW1509 - the workers that start guests have one thread
        )
    except OSError as error:
        raise RunError(f"The guest kernel {command[0]} could not be started: {error.strerror}.") from None
    if core is not None:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(process.pid, {core})
    try:
        yield process
    finally:
        # The guest's processes form one session of ours; nothing of it outlives the run.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _lines(process: subprocess.Popen[bytes], stall_wall_s: float) -> Iterator[str | None]:
    """Lines of the guest's console; None when it has been silent for too long."""
    assert process.stdout is not None
    pending = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        heard = time.monotonic()
        while True:
            if not selector.select(timeout=max(0.0, heard + stall_wall_s - time.monotonic())):
                yield None
                return
            block = os.read(process.stdout.fileno(), 65536)
            if not block:
                break
            heard = time.monotonic()
            *whole, pending = (pending + block).split(b"\n")
            for line in whole:
                yield line.decode(errors="replace").rstrip("\r")
    if pending:
        yield pending.decode(errors="replace").rstrip("\r")
