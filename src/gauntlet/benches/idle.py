"""Whether a machine does something else: then times that are measured on it are of both."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from gauntlet.attack import counters
from gauntlet.attack.gates import OTHERS_OF_A_CORE

WATCHED_S = 2.0
PATIENCE_S = 30.0
"""For so long it is waited for: what has just ended may still be writing."""
_NAMED = 3
"""So many of the busiest are named, of those that take this share of a core at least."""
_WORTH_A_NAME = 0.05


def busy(
    *,
    patience_s: float = PATIENCE_S,
    root: Path = counters.ROOT,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> str:
    """What takes more of this machine than a run stands (a quarter of a core), in a clause with the busiest
    processes; empty as soon as nothing does.
    """
    until_s = clock() + patience_s
    while True:
        share, by = _taken(root, sleep, clock)
        if share <= OTHERS_OF_A_CORE:
            return ""
        if clock() >= until_s:
            named = sorted(by.items(), key=lambda it: -it[1])[:_NAMED]
            words = ", ".join(f"{name} {of:.0%}" for name, of in named if of >= _WORTH_A_NAME)
            return f"something else takes {share:.0%} of a core" + (f" ({words})" if words else "")


def _taken(
    root: Path, sleep: Callable[[float], None], clock: Callable[[], float]
) -> tuple[float, dict[str, float]]:
    """What all processes take, in cores, and each by its name."""
    began_s, busy_s, spent_s = clock(), counters.busy_s(root), _spent_s(root)
    sleep(WATCHED_S)
    lasted_s = clock() - began_s
    by: dict[str, float] = {}
    for pid, (name, now_s) in _spent_s(root).items():
        before_s = spent_s.get(pid, (name, 0.0))[1]
        by[name] = by.get(name, 0.0) + (now_s - before_s) / lasted_s
    return (counters.busy_s(root) - busy_s) / lasted_s, by


def _spent_s(root: Path) -> dict[int, tuple[str, float]]:
    """Name and computing time of each process (proc_pid_stat(5))."""
    found = {}
    for stat in (root / "proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        name, _, rest = text.partition("(")[2].rpartition(")")
        fields = rest.split()
        found[int(stat.parent.name)] = (
            name,
            (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"),
        )
    return found
