"""How a process ended, in words, and whether the host ended it for want of memory."""

import signal
from pathlib import Path


def signal_name(number: int) -> str:
    """`SIGKILL` for 9; `signal 200` for what has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def ended(returncode: int) -> str:
    """How a process with this return code (as `subprocess` counts: negative for signals) ended."""
    if returncode < 0:
        return f"ended by {signal_name(-returncode)}"
    return f"exit code {returncode}"


def oom_kills(root: Path = Path("/")) -> int:
    """How many processes the host's kernel has ended for want of memory since it booted, in any control
    group.

    0 where the host does not count them.
    """
    try:
        lines = (root / "proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
