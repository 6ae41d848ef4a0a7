"""What this machine can do, and how to mend what is missing."""

import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gauntlet import engine
from gauntlet.engine import guest, kernel, pool
from gauntlet.errors import GauntletError

_MEMORY_PER_GUEST_BYTES = 300 * 2**20
_SCRATCH_WANTED_BYTES = 2 * 2**30


@dataclass(frozen=True)
class Check:
    """One thing that was looked at; `remedy` says what to do when it is not right and matters."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""
    required: bool = True


def checks() -> list[Check]:
    """All checks, those that everything depends on first. None of them changes anything."""
    return [
        _machine(),
        _python(),
        _cores(),
        _memory(),
        _scratch(),
        _kernel(),
        _guest_program(),
        _boot(),
        _tool("tshark", "reads the packet captures that a run can keep", "apt-get install tshark"),
        _tool("chromium", "runs the tests of the report in a browser", "apt-get install chromium"),
    ]


def _machine() -> Check:
    kind = f"{platform.system()} {platform.release()} on {platform.machine()}"
    ok = platform.system() == "Linux" and platform.machine() == "x86_64"
    return Check("machine", ok, kind, "" if ok else "Use a Linux host with an x86-64 processor.")


def _python() -> Check:
    return Check(
        "python", sys.version_info >= (3, 11), platform.python_version(), "Use Python 3.11 or newer."
    )


def _cores() -> Check:
    count = len(pool.usable_cores())
    return Check("cores", count > 0, f"{count} usable: {count} guests side by side")


def _memory() -> Check:
    available = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    wanted = _MEMORY_PER_GUEST_BYTES * len(pool.usable_cores())
    return Check(
        "memory",
        available >= wanted,
        f"{available / 2**30:.1f} GiB free",
        f"About {wanted / 2**20:.0f} MiB are wanted for all workers; use fewer (--workers 1).",
        required=False,
    )


def _scratch() -> Check:
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    return Check(
        "scratch space",
        free >= _SCRATCH_WANTED_BYTES,
        f"{free / 2**30:.1f} GiB free in {folder}",
        "Free some space, or set TMPDIR to a folder with at least 2 GiB.",
        required=False,
    )


def _kernel() -> Check:
    return _answer(
        "virtual-time kernel", lambda: f"Linux {(known := kernel.describe()).version} at {known.path}"
    )


def _guest_program() -> Check:
    return _answer("guest program", lambda: str(engine.guest_binary()))


def _boot() -> Check:
    def attempt() -> str:
        machine = guest.Machine.installed()
        with tempfile.TemporaryDirectory(prefix="gauntlet-doctor-") as folder:
            started = time.monotonic()
            guest.boot([], Path(folder) / "out", seed=1, machine=machine, stall_wall_s=20.0)
            return f"a guest boots and powers off in {time.monotonic() - started:.2f} s"

    return _answer("guest", attempt)


def _tool(name: str, use: str, remedy: str) -> Check:
    found = shutil.which(name)
    return Check(name, found is not None, found or f"not found ({use})", remedy, required=False)


def _answer(name: str, question: Callable[[], str]) -> Check:
    try:
        return Check(name, True, question())
    except GauntletError as error:
        return Check(name, False, "missing or broken", str(error))
