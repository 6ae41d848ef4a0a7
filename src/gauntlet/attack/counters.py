"""What the kernel counts of a run's processes and sockets: computing time, memory, what others took.

`root` is where /proc is looked for.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/")
_NS = 1e-9


def session(leader: int, root: Path = ROOT) -> list[int]:
    """The processes of the session that this one leads: itself, and what it started (proc_pid_stat(5))."""
    found = []
    for stat in (root / "proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        # The name, in brackets, may have spaces and brackets in it: what follows begins behind the last one.
        fields = text[text.rindex(")") + 2 :].split()
        if int(fields[3]) == leader:
            found.append(int(stat.parent.name))
    return sorted(found)


def cpu_s(pids: Iterable[int], root: Path = ROOT) -> float:
    """Seconds on a CPU of all threads of these processes, to the nanosecond (schedstat); those that are gone
    count nothing.
    """
    spent_ns = 0
    for pid in pids:
        for file in (root / "proc" / str(pid) / "task").glob("[0-9]*/schedstat"):
            try:
                spent_ns += int(file.read_text().split()[0])
            except (OSError, IndexError):
                continue
    return spent_ns * _NS


@dataclass(frozen=True)
class Memory:
    """Memory of processes in bytes."""

    resident: int
    """The resident sets, as `top` shows them."""
    proportional: int
    """The same with each shared page divided among those that share it."""


def memory(pids: Iterable[int], root: Path = ROOT) -> Memory:
    """Memory of these processes together; those that are gone have none."""
    resident = proportional = 0
    for pid in pids:
        try:
            text = (root / "proc" / str(pid) / "smaps_rollup").read_text()
        except OSError:
            continue
        found = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        resident += _kib(found.get("Rss", "0"))
        proportional += _kib(found.get("Pss", "0"))
    return Memory(resident, proportional)


def _kib(text: str) -> int:
    return int(text.split(maxsplit=1)[0]) * 1024


def retransmitted(root: Path = ROOT, of: int | None = None) -> int:
    """TCP segments that were sent again in a network namespace, this one or that of a process, whoever sent
    them (`RetransSegs` of RFC 4022).
    """
    return _of_network("snmp", "Tcp:", root, of)["RetransSegs"]


def tcp_extensions(of: int | None = None, root: Path = ROOT) -> dict[str, int]:
    """What Linux counts of TCP besides, by its own names (`TcpExt` of /proc/net/netstat)."""
    return _of_network("netstat", "TcpExt:", root, of)


def _of_network(file: str, head: str, root: Path, of: int | None) -> dict[str, int]:
    """A line of names and one of numbers."""
    folder = root / "proc" / "net" if of is None else root / "proc" / str(of) / "net"
    lines = (folder / file).read_text().splitlines()
    names, numbers = (line.split()[1:] for line in lines if line.startswith(head))
    return dict(zip(names, map(int, numbers), strict=True))


def busy_s(root: Path = ROOT) -> float:
    """Seconds that the machine's CPUs have spent in user space, in the kernel and in interrupts.

    Interrupts are among them since `cpu_s` has them, too: packets over loopback are taken in within a
    process's time. A kernel that accounts for them apart (CONFIG_IRQ_TIME_ACCOUNTING) has them in no
    process's; there they count as somebody else's, and a bound on that is the stricter one.
    """
    user, nice, system, _idle, _waiting, hard, soft = map(
        int, (root / "proc" / "stat").read_text().splitlines()[0].split()[1:8]
    )
    return (user + nice + system + hard + soft) / os.sysconf("SC_CLK_TCK")
