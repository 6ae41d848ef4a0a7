"""One guest: boot the virtual-time kernel on a plan of runs, watch it, leave the records in a folder.

A guest that dies or stands still is reported with its own words, and its console is kept.
"""

import contextlib
import ctypes
import errno
import json
import os
import resource
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from gauntlet import engine
from gauntlet.engine import cores, guest_memory, kernel, standstill
from gauntlet.engine.console import Console, last_words, own_place
from gauntlet.engine.ended import ended, oom_kills
from gauntlet.engine.lines import event_of, printed
from gauntlet.errors import RunError

# 2026-01-01T00:00:00Z. Any fixed instant will do; certificates made in a guest must be valid then.
BOOT_INSTANT_NS = 1_767_225_600 * 1_000_000_000

_ROOT = ("rootfstype=hostfs", "root=/dev/root", "rootflags=/", "ro")
_CLOCK = (
    "time-travel=inf-cpu", f"time-travel-start={BOOT_INSTANT_NS}",
    "con=null", "con0=null,fd:1", "panic=1", "quiet",
)  # fmt: skip
ARGUMENTS = " ".join((*_ROOT, *_CLOCK))
"""What every guest kernel is started with: clock and root may decide what a run gives."""

# Enough for socket buffers of a stock distribution on a dozen nodes and for what is noted of a million
# messages; a guest stays under 300 MB. Runs that need more say so (`memory_mib` of a plan).
MEMORY_MIB = 256

# A guest that says nothing for this long of wall time is looked at: it does not advance, or its host is busy.
STALL_WALL_S = 90.0

# A guest that is ready to run and is given next to no CPU is waited for this many times as long.
_PATIENCE = 10

_NOT_YET = "before its first report"
_POWERED_DOWN = "reboot: Power down"

_ADDR_NO_RANDOMIZE = 0x0040000  # sys/personality.h


@dataclass(frozen=True)
class Machine:
    """What a guest boots with: kernel image, first program, memory and the folder that holds it.

    Without a folder the best one is looked for at each boot.
    """

    kernel: Path
    program: Path
    memory: str = f"{MEMORY_MIB}M"
    memory_folder: Path | None = None

    @staticmethod
    def installed() -> "Machine":
        """The installed kernel image and guest program; RunError with the remedy when one is missing."""
        image, program = kernel.image(), engine.player_binary()
        return Machine(image, program, memory_folder=_memory_folder(MEMORY_MIB))

    def with_memory(self, mib: int | None) -> "Machine":
        """The same with so many MiB in a folder with room for them; None: as it is. RunError without room."""
        if mib is None:
            return self
        return replace(self, memory=f"{mib}M", memory_folder=_memory_folder(mib))


def _memory_folder(mib: int) -> Path:
    return guest_memory.best(mib << 20, len(cores.usable_cores())).folder


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
    console: Path | None = None,
    enter: Callable[[], None] | None = None,
) -> None:
    """Boot a guest that plays `runs` (plan.md) and wait for its end; records appear in `out` (record.md).

    `on_event` gets each event that the guest reports (a mapping with `event`). `core` pins the guest to one
    host core: its threads hand over to each other all the time, and moving between cores makes that several
    times slower. Raises RunError when the guest cannot start, dies or stands still: then its console is in
    the file `console` (default: one of its own in the user's cache), and the sentence names it. Runs that the
    guest itself reports as failed are records.
    """
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="gauntlet-guest-") as scratch:
        file = Path(scratch) / "plan.json"
        file.write_text(json.dumps(plan(runs)))
        arguments = ["--plan", str(file.resolve()), "--out", str(out.resolve())]
        for folder in writable:
            arguments += ["--writable", str(folder.resolve())]
        command = [
            str(machine.kernel), f"mem={machine.memory}", f"uml_dir={scratch}/", "umid=guest",
            *_ROOT, f"init={machine.program}", *_CLOCK, *settings, "--", *arguments,
        ]  # fmt: skip
        memory = machine.memory_folder or _memory_folder(MEMORY_MIB)
        environment = {**os.environ, "GAUNTLET_SEED": str(seed), "TMPDIR": str(memory)}
        with _started(command, environment, core, enter) as process:
            watched = _Watched(process, machine, [run["id"] for run in runs], command, console)
            watched.listen(on_event or (lambda _event: None), stall_wall_s)


class _Watched:
    """A guest that plays: what it has said, and how it is reported when that was not all."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        machine: Machine,
        runs: Sequence[str],
        command: Sequence[str],
        place: Path | None,
    ) -> None:
        self._process = process
        self._machine = machine
        self._left = set(runs)
        self._several = len(runs) > 1
        self._command = command
        self._place = place
        self._console = Console()
        self._state = _NOT_YET
        self._powered_down = False
        self._oom_kills = oom_kills()

    def listen(self, on_event: Callable[[Mapping[str, Any]], None], stall_wall_s: float) -> None:
        """Take in all that the guest says until it ends; raises RunError unless it ends as it should."""
        for line in printed(self._process, partial(self._await, stall_wall_s=stall_wall_s)):
            self._console.add(line)
            event = event_of(line)
            if event is None:
                self._powered_down = self._powered_down or line.endswith(_POWERED_DOWN)
                continue
            if event["event"] == "refused":
                raise RunError(_given_up(event["reason"]))
            if event["event"] == "finished":
                self._left.discard(event["run"])
            self._state = self._state_after(event)
            on_event(event)
        if self._process.wait() != 0 or self._left or not self._powered_down:
            raise RunError(self._death())
        if self._place is not None:
            self._place.unlink(missing_ok=True)

    def _await(self, selector: selectors.BaseSelector, stall_wall_s: float) -> bool:
        """Wait until the guest says something: True, or RunError when it stands still.

        In the second half of a silence, see who uses the CPU.
        """
        half_s = stall_wall_s / 2
        if selector.select(timeout=half_s):
            return True
        before = standstill.glance(self._process.pid)
        for _ in range(2 * _PATIENCE):
            if selector.select(timeout=half_s):
                return True
            finding = standstill.look(self._process.pid, before, self._machine.program, half_s / 2)
            if not finding.starved:
                break
        if not selector.select(timeout=0):
            raise RunError(
                f"The guest has stood still for {time.monotonic() - before.at_s + half_s:.0f} s of wall time "
                f"({self._state}): {finding.sentence}. {self._kept(finding.sentence)}"
            )
        return True

    def _state_after(self, event: Mapping[str, Any]) -> str:
        run = f"run {event['run']}" if self._several else "its run"
        if event["event"] == "progress":
            return f"in {run} at {event['virtual_s']:.1f} virtual seconds"
        return f"at the start of {run}" if event["event"] == "started" else self._state

    def _death(self) -> str:
        """The sentence on a guest that ended before it had played everything."""
        code = self._process.returncode
        words = last_words(self._console.lines())
        how = ended(code)
        said = f"it said {words.quoted()}" if words.lines else "it said nothing"
        short = oom_kills() - self._oom_kills
        if code == -signal.SIGKILL and short > 0:
            said += f"; the host ended {short} of its processes for want of memory meanwhile"
            mend = "Use fewer workers (--workers 1), or give this machine or container more memory."
        elif code == 0 and not self._powered_down and self._state == _NOT_YET:
            mend = f"Is {self._machine.kernel} a virtual-time kernel? `gauntlet kernel build` makes one."
        else:
            mend = words.mend
        return " ".join(
            filter(None, (f"The guest died ({self._state}; {how}): {said}.", mend, self._kept(how)))
        )

    def _kept(self, what: str) -> str:
        """Keep the console and say where."""
        heading = (
            f"Console of a guest of gauntlet, {self._state}: {what}",
            f"Command: {' '.join(self._command)}",
        )
        try:
            place = self._place or own_place(engine.cache_folder())
            self._console.keep(place, heading)
        except OSError as error:
            return f"Its console could not be kept in {error.filename}: {error.strerror}."
        return f"Its console is kept in {place}."


def _given_up(reason: str) -> str:
    if os.strerror(errno.ENOSPC) in reason:
        return f"The disk is full: {reason}; free some space, the same command continues."
    return f"The guest gave up: {reason}"


def _prepare(enter: Callable[[], None] | None) -> None:
    """What a guest's process does before it becomes the kernel; `enter` comes first (`contract.Place`).

    The kernel adds the random gap between its data and its heap, up to a gigabyte, to the guest's memory, and
    with it to the kernel's own bookkeeping: without that randomness equal guests have equal memory.
    Containers may forbid to switch it off (`gauntlet doctor` tells). A guest that dies aborts, and would
    leave its memory as a core file.
    """
    if enter is not None:
        enter()  # a user namespace of its own would take the signal of the next line away again
    cores.die_with_parent(signal.SIGKILL)
    ctypes.CDLL(None).personality(_ADDR_NO_RANDOMIZE)
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))


@contextlib.contextmanager
def _started(
    command: list[str],
    environment: Mapping[str, str],
    core: int | None,
    enter: Callable[[], None] | None,
) -> Iterator[subprocess.Popen[bytes]]:
    try:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=partial(_prepare, enter),  # noqa: PLW1509 - the workers that start guests have one thread
        )
    except OSError as error:
        raise RunError(_not_started(Path(command[0]), error)) from None
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
        assert process.stdout is not None
        process.stdout.close()


def _not_started(image: Path, error: OSError) -> str:
    """Why the host would not run a kernel, and what mends it."""
    match error.errno:
        case errno.ENOENT if not image.exists():
            why, mend = "there is no such file", "type `gauntlet kernel build`, or unset GAUNTLET_KERNEL"
        case errno.ENOENT:
            why, mend = "the interpreter or loader that it names is missing", "type `gauntlet kernel build`"
        case errno.EACCES if image.is_file() and os.statvfs(image).f_flag & os.ST_NOEXEC:
            why = "its file system is mounted noexec"
            mend = "set GAUNTLET_CACHE to a folder that is not, and type `gauntlet kernel build`"
        case errno.EACCES if image.is_dir():
            why, mend = "it is a folder", "name the kernel's file in GAUNTLET_KERNEL"
        case errno.EACCES:
            why, mend = "the file may not be executed", f"type `chmod +x {image}`, or unset GAUNTLET_KERNEL"
        case errno.ENOEXEC:
            why, mend = (
                "it is no program of this host",
                "type `gauntlet kernel build`, or unset GAUNTLET_KERNEL",
            )
        case errno.EAGAIN | errno.ENOMEM:
            why, mend = (error.strerror or "").lower(), "`gauntlet doctor` says which limit is met"
        case _:
            why, mend = (error.strerror or str(error)).lower(), "`gauntlet doctor` looks for the cause"
    return f"The guest kernel {image} could not be started: {why}; {mend}."
