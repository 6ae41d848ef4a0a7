"""The engine of the host ground: each run on the kernel of this machine, in real time, one at a time.

The player does it in namespaces of its own (docs/guide/host-ground.md). What comes out depends on the machine
and on what else it does: the same run gives similar results, not the same bytes.
"""

import contextlib
import json
import os
import platform
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gauntlet import engine
from gauntlet.engine import cores, guest
from gauntlet.engine.console import Console, own_place
from gauntlet.engine.contract import OnEvent, Place
from gauntlet.engine.ended import ended
from gauntlet.engine.hashes import sha256_of_file
from gauntlet.engine.lines import event_of, printed
from gauntlet.errors import RunError

PATIENCE_S = 180.0
"""Seconds beyond its limit after which a run is ended from outside: making a network, draining its queues and
looking at the machine take some of them."""

_CHECK_S = 60.0


@dataclass(frozen=True)
class Host:
    """This machine: the player, the cores that it may run on, and the settings that every run starts with."""

    program: Path
    allowed_cores: tuple[int, ...]
    stock_sysctls: Mapping[str, str]

    @staticmethod
    def installed(stock_sysctls: Mapping[str, str]) -> "Host":
        """The installed player on all cores that this process may use; RunError when it is missing."""
        allowed = tuple(sorted(os.sched_getaffinity(0)))
        return Host(engine.player_binary(), allowed, dict(stock_sysctls))

    @property
    def exact(self) -> bool:
        """Real time never repeats itself."""
        return False

    def identity(self) -> dict[str, str]:
        """The player by hash, the kernel, the processor and how many cores there are."""
        return {
            "ground": "host",
            "player_sha256": sha256_of_file(self.program),
            "kernel": f"{platform.release()} {platform.version()}",
            "processor": _processor(),
            "cores": str(len(self.allowed_cores)),
        }

    def describe(self) -> dict[str, str]:
        """The identity; nothing else decides."""
        return self.identity()

    def refusals(self, runs: Sequence[Mapping[str, Any]]) -> list[str | None]:
        """Ask the player which modules and settings each run needs that this host has not got."""
        if not runs:
            return []
        named = [{**run, "id": str(number)} for number, run in enumerate(runs)]
        with tempfile.TemporaryDirectory(prefix="gauntlet-check-") as folder:
            plan = Path(folder) / "plan.json"
            plan.write_text(json.dumps(guest.plan(named)))
            found = ask(self.program, "--check", "--plan", str(plan))
        return [self._refusal(run, entry) for run, entry in zip(named, found, strict=True)]

    def _refusal(self, run: Mapping[str, Any], entry: Mapping[str, Any]) -> str | None:
        """Why a run cannot be played, without a full stop."""
        if entry["refusal"] is not None:
            return str(entry["refusal"]).rstrip(".")
        for name, found in entry["whole_kernel_sysctls"].items():
            asked = run["sysctls"][name]
            # Stock values are what runs start with; the record says where the host's are others.
            if asked != self.stock_sysctls.get(name):
                return (
                    f"the setting {name} = {asked} belongs to the whole kernel of this host, and a run "
                    f"changes nothing outside of its own namespaces; {_instead(name, asked, found)}"
                )
        return None

    def play(
        self, run: Mapping[str, Any], out: Path, *, place: Place, on_event: OnEvent | None = None
    ) -> Path:
        """Have the player play a run; raises RunError when it leaves no record."""
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="gauntlet-host-") as scratch:
            plan = Path(scratch) / "plan.json"
            plan.write_text(json.dumps(guest.plan([run])))
            command = _command(self.program, "--plan", str(plan), "--out", str(out.resolve()))
            limit_s = float(run["limit_s"]) + PATIENCE_S
            _watch(command, self.allowed_cores, limit_s, place.console, on_event or (lambda _event: None))
        folder = out / str(run["id"])
        if not (folder / "record.json").is_file():
            raise RunError("The player ended without a record of its run.")
        return folder


def ask(program: Path, *arguments: str) -> Any:
    """What the player says of the host ground without playing anything; RunError with its reason."""
    try:
        done = subprocess.run(
            _command(program, *arguments), capture_output=True, text=True, timeout=_CHECK_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RunError(f"{program} could not be asked about the host ground: {error}.") from None
    if done.returncode != 0:
        raise RunError(f"The host ground cannot be used here: {_reason(done.stdout) or done.stderr.strip()}.")
    return json.loads(done.stdout)


def _command(program: Path, *arguments: str) -> list[str]:
    return [str(program), "--ground", "host", *arguments]


def _reason(said: str) -> str:
    """The reason in the player's last event, if it refused."""
    events = filter(None, map(event_of, said.splitlines()))
    return next((str(event["reason"]) for event in events if event["event"] == "refused"), "").rstrip(".")


def _instead(name: str, asked: str, found: str | None) -> str:
    """What the host has of a setting, and how root would change it."""
    if found is None:
        return "it shows no such setting here"
    return f"it has {' '.join(found.split())} (as root: sysctl -w {name}='{asked}')"


def _processor() -> str:
    """The processor's name as the kernel has it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def _watch(
    command: Sequence[str],
    allowed_cores: Sequence[int],
    limit_s: float,
    kept: Path | None,
    on_event: Callable[[Mapping[str, Any]], None],
) -> None:
    """Run the player to its end, passing on its events. Raises RunError when it refuses, dies or hangs."""

    def prepare() -> None:
        cores.die_with_parent(signal.SIGKILL)
        # A worker is tied to one core; a run in real time may use all.
        os.sched_setaffinity(0, allowed_cores)

    console = Console()
    until_s = time.monotonic() + limit_s
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=prepare,  # noqa: PLW1509 - the workers that start players have one thread
    ) as process:
        try:
            refused = _listen(process, console, until_s, on_event)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    if refused:
        raise RunError(f"The host ground gave up: {refused}.")
    if process.returncode != 0:
        place = kept or own_place(engine.cache_folder())
        console.keep(place, [f"Command: {' '.join(command)}"])
        late = time.monotonic() >= until_s
        how = f"was ended {PATIENCE_S:.0f} s after the limit of its run" if late else "died"
        raise RunError(f"The player {how} ({ended(process.returncode)}). Its words are kept in {place}.")


def _listen(
    process: "subprocess.Popen[bytes]",
    console: Console,
    until_s: float,
    on_event: Callable[[Mapping[str, Any]], None],
) -> str:
    """Take in what the player says until it ends or its time is over; why it refused, if it did."""

    def wait(selector: selectors.BaseSelector) -> bool:
        return bool(selector.select(timeout=max(0.0, until_s - time.monotonic())))

    refused = ""
    for line in printed(process, wait):
        console.add(line)
        event = event_of(line)
        if event is None:
            continue
        if event["event"] == "refused":
            refused = str(event["reason"]).rstrip(".")
        else:
            on_event(event)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=max(0.0, until_s - time.monotonic()))
    return refused
