"""Machines of a small cluster for tests: network namespaces at a bridge, each with mounts of its own.

They need root, or a host that lets users have namespaces; whoever has neither is told the host's words.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import pytest

_PATIENCE_S = 120.0
"""How long a test waits for what must come; only a broken cluster needs it."""

_HIDING = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"')
"""Before a folder and a command, which then sees an empty folder in the place of that one."""

CLIENT = "10.77.0.1"


class Machines:
    """Namespaces that end with the block: the client's, with the bridge, and any number of others."""

    client: int
    """The process that holds the client's namespace."""

    def __init__(self) -> None:
        self._as_user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        self._into_user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
        self._started: list[subprocess.Popen[bytes]] = []
        self._count = 1

    def add(self) -> int:
        """A further machine at the bridge: the process that holds its namespace."""
        self._count += 1
        name = f"port{self._count}"
        held = self._hold([*self._enter(self.client), "unshare", "--net"])
        peer = ["peer", "name", "eth0", "netns", str(held)]
        self._ip(self.client, "link", "add", name, "type", "veth", *peer)
        self._ip(self.client, "link", "set", name, "master", "bridge", "up")
        self._ip(held, "link", "set", "lo", "up")
        self._ip(held, "address", "add", f"10.77.0.{self._count}/24", "dev", "eth0")
        self._ip(held, "link", "set", "eth0", "up")
        return held

    def start(
        self, machine: int, command: Sequence[str | Path], log: IO[bytes], *, hidden: Path | None = None
    ) -> subprocess.Popen[bytes]:
        """A command on a machine, which sees an empty folder in the place of `hidden`."""
        alone: list[str] = []
        if hidden is not None:
            alone = [*_HIDING, str(hidden)]
        return self._start([*self._enter(machine), *alone, *map(str, command)], log)

    def __enter__(self) -> Self:
        try:
            self.client = self._hold(["unshare", *self._as_user, "--net"])
            self._try("mounts", [*_HIDING, "/tmp", "true"])
            self._ip(self.client, "link", "set", "lo", "up")
            self._ip(self.client, "link", "add", "bridge", "type", "bridge")
            self._ip(self.client, "address", "add", f"{CLIENT}/24", "dev", "bridge")
            self._ip(self.client, "link", "set", "bridge", "up")
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        for process in reversed(self._started):
            process.kill()
            process.wait()

    def _start(self, command: Sequence[str], log: IO[bytes] | int) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        self._started.append(process)
        return process

    def _hold(self, command: Sequence[str]) -> int:
        """Start a process that has a namespace and does nothing in it; returns its id."""
        process = self._start([*command, "sleep", "infinity"], subprocess.PIPE)
        command_line = Path(f"/proc/{process.pid}/cmdline")
        while process.poll() is None and not command_line.read_bytes().startswith(b"sleep"):
            time.sleep(0.01)
        if process.poll() is not None:
            assert process.stdout is not None
            pytest.skip(f"no namespaces here: {process.stdout.read().decode().strip()}")
        return process.pid

    def _enter(self, machine: int) -> list[str]:
        return ["nsenter", "--target", str(machine), *self._into_user, "--net"]

    def _ip(self, machine: int, *words: str) -> None:
        self._try("bridges", ["ip", *words], machine)

    def _try(self, what: str, command: Sequence[str], machine: int | None = None) -> None:
        """A command on a machine (the client's, unless it is named); the test is skipped where it fails."""
        held = self.client if machine is None else machine
        done = subprocess.run([*self._enter(held), *command], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"no {what} here: `{' '.join(command)}`: {done.stderr.strip()}")


def wait_for(what: str, there: Callable[[], bool], logs: Mapping[str, Path]) -> None:
    """Wait until something is there; a cluster that never has it fails the test with what it said."""
    end_s = time.monotonic() + _PATIENCE_S
    while not there():
        if time.monotonic() > end_s:
            said = "\n".join(f"--- {name}\n{log.read_text()}" for name, log in logs.items())
            pytest.fail(f"{what} did not come\n{said}")
        time.sleep(0.1)


def scheduler(host: str, port: int, *more: str | Path) -> list[str]:
    """The command of a scheduler."""
    words = ["--host", host, "--port", str(port), "--no-dashboard", *map(str, more)]
    return [sys.executable, "-m", "dask", "scheduler", *words]


def command(*words: str | Path) -> list[str]:
    """A command of Gauntlet."""
    return [sys.executable, "-m", "gauntlet", *map(str, words)]
