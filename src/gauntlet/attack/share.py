"""A share of a core for a server: a control group with a CPU quota, of version 1 or 2 (cgroups(7)).

The period is short, so that a server that has used up its share waits for milliseconds and not for tenths of
a second: with the usual 100 ms the quota itself would be the longest delay that a client sees.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gauntlet.engine import cgroup
from gauntlet.errors import UserError

PERIOD_S = 0.005
OF_A_CORE = 0.2
"""What a server has of a core, unless said otherwise: so the attacker, on a core of its own, has several
times what the server can take.
"""

LEAST = 0.2
"""The kernel takes no quota below a millisecond (sched_cfs_bandwidth), which is this share of the period."""

_PATIENCE_S = 1.0


@dataclass(frozen=True)
class Throttled:
    """How often the quota was in force."""

    periods: int
    """Periods in which the group ran."""
    throttled: int
    """Those at whose end it had to wait."""


@dataclass(frozen=True)
class Share:
    """A control group with a quota."""

    folder: Path
    version: int
    of_a_core: float

    def enter(self) -> None:
        """Put the calling process into it."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def throttled(self) -> Throttled:
        """How often the quota has been in force so far."""
        said = dict(line.split() for line in (self.folder / "cpu.stat").read_text().splitlines())
        return Throttled(int(said.get("nr_periods", 0)), int(said.get("nr_throttled", 0)))


@contextmanager
def share(of_a_core: float = OF_A_CORE, root: Path = Path("/")) -> Iterator[Share]:
    """A group with this share of a core, removed afterwards. Raises UserError when none can be made here."""
    made = _make(of_a_core, root)
    try:
        yield made
    finally:
        _remove(made.folder)


def check(of_a_core: float = OF_A_CORE, root: Path = Path("/")) -> None:
    """Raise UserError when this process cannot make a control group with such a quota."""
    with share(of_a_core, root):
        pass


def _make(of_a_core: float, root: Path) -> Share:
    if not LEAST <= of_a_core <= 1:
        raise UserError(
            f"A server can have from {LEAST:.0%} to 100% of a core, and {of_a_core:.0%} is asked for: in "
            f"each {PERIOD_S * 1e3:g} ms the kernel gives no less than 1 ms."
        )
    reasons = []
    for level in cgroup.levels(root, "cpu"):
        try:
            if level.version == 2 and not _offers_cpu(level.folder):
                continue
            folder = level.folder / f"gauntlet-attack-{os.getpid()}-{time.monotonic_ns()}"
            folder.mkdir()
        except OSError as error:
            reasons.append(f"{level.folder}: {error.strerror}")
            continue
        try:
            _limit(folder, level.version, of_a_core)
        except OSError as error:
            reasons.append(f"{level.folder}: {error.strerror}")
            _remove(folder)
            continue
        return Share(folder, level.version, of_a_core)
    why = reasons[0] if reasons else "no control group of this process has the controller cpu"
    raise UserError(
        f"The server cannot be held to a share of a core: {why}. Root can; in a container, start it with "
        "control groups that may be written."
    )


def _offers_cpu(folder: Path) -> bool:
    """Whether groups below can have a quota, after asking for it where it is not there yet."""
    if "cpu" not in (folder / "cgroup.controllers").read_text().split():
        return False
    below = folder / "cgroup.subtree_control"
    if "cpu" not in below.read_text().split():
        below.write_text("+cpu")
    return True


def _limit(folder: Path, version: int, of_a_core: float) -> None:
    period_us = round(PERIOD_S * 1e6)
    quota_us = round(period_us * of_a_core)
    if version == 2:
        (folder / "cpu.max").write_text(f"{quota_us} {period_us}")
    else:
        (folder / "cpu.cfs_period_us").write_text(str(period_us))
        (folder / "cpu.cfs_quota_us").write_text(str(quota_us))


def _remove(folder: Path) -> None:
    """The kernel lets a group go when the last of its processes is gone, which may take a moment."""
    until_s = time.monotonic() + _PATIENCE_S
    while True:
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() >= until_s:
                return
            time.sleep(0.02)
        else:
            return
