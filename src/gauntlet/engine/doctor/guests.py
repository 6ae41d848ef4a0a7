"""The parts of a guest, and whether they boot together."""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from gauntlet import engine
from gauntlet.engine import guest, kernel
from gauntlet.engine.doctor.check import Check, broken
from gauntlet.errors import GauntletError

_STALL_WALL_S = 20.0


def image(describe: Callable[[], kernel.Image] = kernel.describe) -> Check:
    """The kernel that guests boot with, and whether this host will execute it."""
    name = "virtual-time kernel"
    try:
        known = describe()
    except GauntletError as error:
        return broken(name, error)
    if os.access(known.path, os.X_OK):
        return Check(name, True, f"Linux {known.version}, {known.origin}, at {known.path}")
    if os.statvfs(known.path).f_flag & os.ST_NOEXEC:
        return Check(
            name,
            False,
            f"The kernel {known.path} lies on a file system that is mounted noexec.",
            "Set GAUNTLET_CACHE to a folder elsewhere and type `gauntlet kernel build`.",
        )
    return Check(
        name, False, f"The kernel {known.path} may not be executed.", f"Type `chmod +x {known.path}`."
    )


def program(find: Callable[[], Path] = engine.player_binary) -> Check:
    """The first program of guests."""
    try:
        return Check("guest program", True, str(find()))
    except GauntletError as error:
        return broken("guest program", error)


def boot(installed: Callable[[], guest.Machine] = guest.Machine.installed) -> Check:
    """Boot a guest and power it off; this is what everything else comes to."""
    try:
        machine = installed()
    except GauntletError:
        return Check(
            "guest",
            False,
            "No guest could be tried, since a part of it fails above.",
            "Mend that first.",
        )
    with tempfile.TemporaryDirectory(prefix="gauntlet-doctor-") as folder:
        started = time.monotonic()
        try:
            guest.boot([], Path(folder) / "out", seed=1, machine=machine, stall_wall_s=_STALL_WALL_S)
        except GauntletError as error:
            mend = "Mend what is named above first; if nothing is, report it with the console."
            if os.environ.get("GAUNTLET_KERNEL"):
                mend = "Unset GAUNTLET_KERNEL: that uses the kernel that belongs to this installation."
            return Check("guest", False, str(error), mend)
    return Check("guest", True, f"boots and powers off in {time.monotonic() - started:.2f} s")
