"""Why a guest that says nothing stands still, seen from the host.

Every address space of a guest is one process of the host, a *stub*, that the guest's kernel, a process too,
traces or that gives way to it by itself (seccomp): a program that computes makes its stub use CPU; a system
call or a page fault of a program stops the stub and makes the kernel work. So the host's /proc tells apart a
program that spins, a kernel that is busy by itself, a guest in which nothing runs, and one that the host
gives no CPU.
"""

import os
import re
import struct
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")

_WINDOW_S = 0.3
_SAMPLES = 100
_PROGRAM = 0.01
"""A program takes part when its stub used more than this share of the guest's CPU time; at a system call a
stub uses about a fifth, at a page fault a third."""

_STUB_TOP = 0x7F8000000000
"""Programs of an x86-64 User-mode Linux lie below this address, those of Linux 6.12 far below
(os_get_top_address()); what the host has mapped into the stub lies above."""

_PROGRAMS_FROM = 0x100000000
"""Below 4 GiB the guest's kernel itself is mapped; stacks of programs lie far above."""

_STRINGS_BYTES = 256 << 10
_PLATFORM = b"x86_64\0"
_AT_PLATFORM = 15
"""The kernel puts a program's arguments behind the platform's name at the top of its stack and leaves an
auxiliary vector there that has the name's address (fs/binfmt_elf.c, getauxval(3))."""

_LONGEST_COMMAND = 120

_HANDED_OVER_PER_S = 2000
"""A stub in seccomp mode that leaves the processor more often than this hands something over to the guest's
kernel all the time; one whose program computes is made to leave it some hundred times a second at most."""

_CAUGHT_CALL = re.compile(rb"\x1f\0{3}.{4}\x01\0{3}.{12}(.{4})\x3e\0\0\xc0", re.DOTALL)
"""What the host says of a system call that a seccomp filter caught (sigaction(2)): SIGSYS, SYS_SECCOMP, the
call's number, AUDIT_ARCH_X86_64."""

# Those that programs are seen to repeat (arch/x86/entry/syscalls/syscall_64.tbl); others have their number.
_SYSTEM_CALLS = {
    0: "read", 1: "write", 2: "open", 3: "close", 4: "stat", 5: "fstat", 7: "poll", 8: "lseek", 9: "mmap",
    12: "brk", 16: "ioctl", 23: "select", 24: "sched_yield", 28: "madvise", 35: "nanosleep", 39: "getpid",
    42: "connect", 43: "accept", 44: "sendto", 45: "recvfrom", 46: "sendmsg", 47: "recvmsg", 55: "getsockopt",
    61: "wait4", 72: "fcntl", 96: "gettimeofday", 98: "getrusage", 101: "ptrace", 102: "getuid",
    110: "getppid", 201: "time", 202: "futex", 228: "clock_gettime", 230: "clock_nanosleep",
    232: "epoll_wait", 257: "openat", 262: "newfstatat", 270: "pselect6", 271: "ppoll", 281: "epoll_pwait",
    288: "accept4", 299: "recvmmsg", 307: "sendmmsg", 318: "getrandom",
}  # fmt: skip


@dataclass(frozen=True)
class Process:
    """One process of a guest as /proc/PID/stat has it."""

    pid: int
    state: str
    cpu_ticks: int
    faults: int


@dataclass(frozen=True)
class Glance:
    """The guest's processes at an instant; the kernel is the one whose pid is the session's."""

    at_s: float
    processes: Mapping[int, Process]


@dataclass(frozen=True)
class Finding:
    """What was seen; `starved` when the guest would run if only the host let it."""

    sentence: str
    starved: bool = False


def glance(session: int, proc: Path = PROC) -> Glance:
    """The processes of a guest now; `session` is the process id of its kernel."""
    found = {}
    for folder in proc.iterdir():
        if folder.name.isdigit() and (process := _process(folder, session)):
            found[process.pid] = process
    return Glance(time.monotonic(), found)


def look(session: int, before: Glance, program: Path, enough_s: float) -> Finding:
    """Say what the guest has been doing since `before`.

    `program` is its first program. A guest that used fewer than `enough_s` seconds of CPU meanwhile and is
    ready to run is not standing still: its host is.
    """
    now = glance(session)
    busiest = _busiest(session, before, now)
    return judge(
        Seen(session, before, now, float(os.sysconf("SC_CLK_TCK")), enough_s),
        calls=(_handed_over(busiest) or _calls(busiest)) if busiest is not None else {},
        command=_command_line(busiest) if busiest is not None else [],
        program=program,
        waits_in=_waits_in(session),
    )


@dataclass(frozen=True)
class Seen:
    """Two glances at the guest whose kernel is process `session`, and how to read them."""

    session: int
    before: Glance
    now: Glance
    ticks_per_s: float
    enough_s: float

    @property
    def wall_s(self) -> float:
        """Seconds between the glances."""
        return max(self.now.at_s - self.before.at_s, 1e-9)

    def cpu_s(self, pid: int) -> float:
        """CPU seconds that a process used between the glances."""
        return _used(pid, self.before, self.now) / self.ticks_per_s


def judge(
    seen: Seen, *, calls: Mapping[str, int], command: Sequence[str], program: Path, waits_in: str
) -> Finding:
    """The finding that follows from what was seen.

    `calls` are samples of /proc/PID/syscall of the busiest stub (first words), `command` the command line of
    its program, `waits_in` the host's system call that the guest's kernel is in.
    """
    total_s = sum(seen.cpu_s(pid) for pid in seen.now.processes)
    spent = f"{total_s:.1f} s of CPU in the last {seen.wall_s:.1f} s"
    if ended := _kernel_gone(seen):
        return Finding(ended)
    if total_s < seen.enough_s:
        return _resting(seen, spent, waits_in)
    busiest = _busiest(seen.session, seen.before, seen.now)
    if busiest is None or seen.cpu_s(busiest) < _PROGRAM * total_s:
        return Finding(f"its kernel itself is busy ({spent}) and no program in it runs")
    faults = _faults(busiest, seen.before, seen.now) / seen.wall_s
    return Finding(f"{_whom(command, program)} {_doing(calls, faults)} ({spent})")


def _kernel_gone(seen: Seen) -> str:
    kernel = seen.now.processes.get(seen.session)
    if kernel is None or kernel.state in "ZX":
        return "its kernel has ended, but something of it still holds the console"
    if kernel.state in "Tt":
        return "its kernel has been stopped from outside (SIGSTOP or a debugger)"
    return ""


def _resting(seen: Seen, spent: str, waits_in: str) -> Finding:
    """The finding on a guest that used next to no CPU."""
    states = {process.state for process in seen.now.processes.values()}
    if "R" in states:
        return Finding(f"it is ready to run, but the host gave it only {spent}", starved=True)
    if "D" in states:
        return Finding(f"it waits for a disk or a file system of the host ({spent})", starved=True)
    where = f"; its kernel waits in the host's system call {waits_in}" if waits_in else ""
    return Finding(f"nothing in it runs ({spent}){where}")


def _whom(command: Sequence[str], program: Path) -> str:
    if not command:
        return "a program in it"
    if command[0] == str(program):
        return "its first program, gauntlet's own,"
    words = " ".join(" ".join(command).split())
    if len(words) > _LONGEST_COMMAND:
        words = words[: _LONGEST_COMMAND - 1] + "…"
    return f"the program `{words}` in it"


def _doing(calls: Mapping[str, int], faults_per_s: float) -> str:
    """What the samples say: numbers of system calls, `running` between stops, `-1` at faults and signals."""
    if not calls:
        return "runs without a pause"
    stopped = {call: count for call, count in calls.items() if call not in ("running", "-1")}
    if sum(stopped.values()) > 0.05 * sum(calls.values()):
        number = max(stopped, key=lambda call: stopped[call])
        name = _SYSTEM_CALLS.get(int(number), f"number {number}")
        return f"makes one system call after the other, mostly {name}, and never sleeps"
    if calls.get("-1", 0) > 0.2 * sum(calls.values()) or faults_per_s > 1000:
        return "makes page fault after page fault and never sleeps"
    return "computes without a pause, and virtual time stands still meanwhile"


def _busiest(session: int, before: Glance, now: Glance) -> int | None:
    stubs = [pid for pid in now.processes if pid != session]
    return max(stubs, key=lambda pid: _used(pid, before, now), default=None)


def _used(pid: int, before: Glance, now: Glance) -> int:
    """CPU ticks since `before`; all of them for a process that did not exist then."""
    earlier = before.processes.get(pid)
    return now.processes[pid].cpu_ticks - (earlier.cpu_ticks if earlier else 0)


def _faults(pid: int, before: Glance, now: Glance) -> int:
    earlier = before.processes.get(pid)
    return now.processes[pid].faults - (earlier.faults if earlier else 0)


def _process(folder: Path, session: int) -> Process | None:
    try:
        text = (folder / "stat").read_text(errors="replace")
    except OSError:
        return None
    # The name in parentheses may hold spaces; the fields behind it are numbered from 3 in proc(5).
    fields = text.rpartition(")")[2].split()
    if len(fields) < 13 or int(fields[3]) != session:
        return None
    return Process(int(folder.name), fields[0], int(fields[11]) + int(fields[12]), int(fields[7]))


def _calls(pid: int, proc: Path = PROC) -> Counter[str]:
    """What the process was at, by the first words of /proc/PID/syscall."""
    found: Counter[str] = Counter()
    for _ in range(_SAMPLES):
        try:
            found[(proc / str(pid) / "syscall").read_text().split()[0]] += 1
        except (OSError, IndexError):
            break
        time.sleep(_WINDOW_S / _SAMPLES)
    return found


def _handed_over(pid: int, proc: Path = PROC) -> Counter[str]:
    """System calls (`-1` for faults) that a stub in seccomp mode hands over; empty when it hardly does."""
    found: Counter[str] = Counter()
    try:
        before, began_s = _gave_way(pid, proc), time.monotonic()
        *_, (start, end) = _stub_pages((proc / str(pid) / "maps").read_text().splitlines())
        with (proc / str(pid) / "mem").open("rb", buffering=0) as memory:
            for _ in range(_SAMPLES):
                memory.seek(start)
                caught = _CAUGHT_CALL.search(memory.read(end - start))
                found[str(int.from_bytes(caught[1], "little")) if caught else "-1"] += 1
                time.sleep(_WINDOW_S / _SAMPLES)
        rate = (_gave_way(pid, proc) - before) / (time.monotonic() - began_s)
    except (OSError, ValueError):
        return Counter()
    return found if rate > _HANDED_OVER_PER_S else Counter()


def _gave_way(pid: int, proc: Path) -> int:
    """How often a process left the processor so far: to wait, or for one that it had woken."""
    status = (proc / str(pid) / "status").read_text()
    return sum(map(int, re.findall(r"^(?:non)?voluntary_ctxt_switches:\s*(\d+)$", status, re.MULTILINE)))


def _stub_pages(maps: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Ranges that a stub shares with the guest's kernel to be written, above all programs."""
    for line in maps:
        span, access = line.split()[:2]
        start, end = (int(word, 16) for word in span.split("-"))
        if start >= _STUB_TOP and access == "rw-s":
            yield start, end


def _waits_in(session: int, proc: Path = PROC) -> str:
    """The host's system call that the guest's kernel waits in, or nothing when that cannot be seen."""
    try:
        word = (proc / str(session) / "syscall").read_text().split()[0]
    except (OSError, IndexError):
        return ""
    return _SYSTEM_CALLS.get(int(word), word) if word.isdigit() else ""


def _command_line(pid: int, proc: Path = PROC) -> list[str]:
    """Command line of the guest's program in a stub, from the top of its stack; empty when it is not
    there."""
    try:
        ends = _ends_of_mappings((proc / str(pid) / "maps").read_text().splitlines())
        with (proc / str(pid) / "mem").open("rb") as memory:
            for start, end in ends:
                memory.seek(max(start, end - _STRINGS_BYTES))
                if words := command_line_in(memory.read(min(end - start, _STRINGS_BYTES)), end):
                    return words
    except (OSError, ValueError):
        return []
    return []


def command_line_in(stack: bytes, end: int) -> list[str]:
    """Arguments of a program, given what lies below the address `end`; empty when that is no stack's end.

    Behind the platform's name lie arguments, environment and the file's name; eight zero bytes end it.
    """
    if not stack.endswith(bytes(8)):
        return []
    start = stack.find(_PLATFORM)
    while start >= 0 and struct.pack("<QQ", _AT_PLATFORM, end - len(stack) + start) not in stack:
        start = stack.find(_PLATFORM, start + 1)
    if start < 0:
        return []
    strings = stack[start + len(_PLATFORM) : -8].removesuffix(b"\0").split(b"\0")
    arguments: list[str] = []
    for text in strings[:-1]:
        if re.match(rb"[A-Za-z_]\w*=", text):
            break
        arguments.append(text.decode(errors="replace"))
    return arguments


def _ends_of_mappings(maps: Iterable[str]) -> list[tuple[int, int]]:
    """Ranges of the programs' part of an address space, adjacent mappings joined, the highest first."""
    joined: list[tuple[int, int]] = []
    for line in maps:
        start, end = (int(word, 16) for word in line.split()[0].split("-"))
        if start < _PROGRAMS_FROM or end > _STUB_TOP:
            continue
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined[::-1]
