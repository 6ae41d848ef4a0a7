"""A guest's console: kept while it plays, read for its last words when it dies.

What a dying User-mode Linux prints is mostly registers and addresses. The lines that say why are few: the
call of the host that failed, what the first process said, the kernel's panic. `last_words` finds those.
"""

import os
import re
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gauntlet.engine.ended import signal_name
from gauntlet.engine.lines import is_event

OWN_PREFIX = "gauntlet-kernel: "
"""Lines of the guest kernel that are written for people begin so."""

_HEAD_BYTES = 1 << 20
_TAIL_BYTES = 4 << 20
_WORDS = 3
"""Lines of a dead guest that are quoted at most, besides the panic."""

_LONGEST_WORD = 300
"""Characters that are quoted of a line."""

_CONSOLES_KEPT = 20

_STAMP = re.compile(r"^(?:<[0-7]>)?(?:\[ *\d+\.\d+\] ?)?")
_QUIET_LEVEL = re.compile(r"^<[4-7]>")
"""Kernel messages of level 4 (warning) and more do not say why a kernel ended."""

_PANIC = re.compile(r"Kernel panic - not syncing: ")
_FAILURE = re.compile(
    r"errno = |\bfailed\b|\bcannot\b|can't|could not|couldn't|unable to|\bmust be\b|out of memory|ran out of"
    r"|too few|\bbus error\b|\bBUG:|\bsegfault\b|\bpanicked at\b|expected .* got|not permitted|denied"
    r"|no space left|no such file|temporarily unavailable|too large|\bmissing\b|not found",
    re.IGNORECASE,
)
_NOISE = re.compile(
    r"^\s*$"
    r"|^\s*(?:[0-9a-f]{8,16}\s*)+$"  # a row of a stack
    r"|^\s*\[<[0-9a-f]+>\]"  # an entry of a call trace
    r"|^\s*(?:Stack|Call Trace|Stub registers -|Modules linked in):?"
    r"|^\s*(?:CPU|PID|Pid|RIP|RSP|EFLAGS|RAX|RBX|RDX|RDI|RSI|RBP|R\d\d|Code|Hardware name): "
    r"|^\s*[A-Z0-9_]{2,8}\s*\(\s*\d+\): [0-9a-f]+$"  # a register of a stub process
    r"|^kmsg_dump:|^---\[ end |^Rebooting in |^reboot: "
    r"|^Warning: tempdir .* is not on tmpfs"
    r"|^note: run with `RUST_BACKTRACE"
)
_RUST_PANIC = re.compile(r"\bpanicked at [^ ]+:$")
"""A program in Rust says on the next line why."""

_EXITCODE = re.compile(r"exitcode=0x([0-9a-f]{8})")
_ERRNO = re.compile(r"errno = (-?\d+)|\(error (-?\d+)\)")

_MENDS: Sequence[tuple[re.Pattern[str], str]] = (
    (
        re.compile(r"ptrace set fp regs failed"),
        "This processor has more register state than that kernel has room for (AMX): build the kernel that "
        "belongs to this version, `gauntlet kernel build`, and unset GAUNTLET_KERNEL.",
    ),
    (
        re.compile(r"must be not mounted noexec|Checking PROT_EXEC"),
        "Set TMPDIR to a folder that is not mounted noexec.",
    ),
    (
        re.compile(r"Bus error - the host|^write: No space left|^write: File too large"),
        "The guest's memory is a file in its TMPDIR: `gauntlet doctor` says which folder has room for it.",
    ),
    (
        re.compile(
            r"ran out of memory on the host side|try increasing the host's /proc/sys/vm/max_map_count"
        ),
        "Raise vm.max_map_count or the memory limit; `gauntlet doctor` says which of them is short.",
    ),
    (
        re.compile(
            r"Too few physical memory|Out of memory|deadlocked on memory|Failed to allocate \d+ bytes"
        ),
        "The guest's memory is too small for what it plays: give it more, in an experiment by 'memory'.",
    ),
    (
        re.compile(r"Requested init .* failed"),
        "Its first program cannot be started: install the project again (`make setup`), or unset "
        "GAUNTLET_PLAYER.",
    ),
    (
        re.compile(r"^ptrace: |check_ptrace|check_sysemu|start_ptraced_child"),
        "This host does not let it trace its own processes: `gauntlet doctor` says why.",
    ),
    (
        # gauntlet-player powers its machine off, or says why it gives up; it never just returns.
        re.compile(r"Attempted to kill init! exitcode=0x00000000"),
        "Its first program is not gauntlet-player: unset GAUNTLET_PLAYER, or install the project again.",
    ),
)


class Console:
    """Lines as they come; the beginning and the end are kept whole, a flood between them is counted."""

    def __init__(self) -> None:
        self._head: list[str] = []
        self._tail: deque[str] = deque()
        self._head_bytes = self._tail_bytes = self._left_out = 0

    def add(self, line: str) -> None:
        """Take in one line, without its end."""
        if self._head_bytes < _HEAD_BYTES:
            self._head.append(line)
            self._head_bytes += len(line)
            return
        self._tail.append(line)
        self._tail_bytes += len(line)
        while self._tail_bytes > _TAIL_BYTES and len(self._tail) > 1:
            self._tail_bytes -= len(self._tail.popleft())
            self._left_out += 1

    def lines(self) -> list[str]:
        """What is kept of it."""
        gap = [f"[{self._left_out} lines are left out here]"] if self._left_out else []
        return [*self._head, *gap, *self._tail]

    def keep(self, file: Path, heading: Iterable[str]) -> None:
        """Write it to `file`, with `heading` above it; raises OSError."""
        file.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{line}\n" for line in (*(f"# {line}" for line in heading), *self.lines()))
        file.write_text(text, encoding="utf-8", errors="replace")


def own_place(cache: Path) -> Path:
    """A file for the console of a guest that belongs to no campaign; old ones are removed for it."""
    folder = cache / "consoles"
    kept = sorted(folder.glob("*.txt"))  # names begin with the time
    for old in kept[: max(0, len(kept) - _CONSOLES_KEPT + 1)]:
        old.unlink(missing_ok=True)
    return folder / f"{time.strftime('%Y-%m-%dT%H-%M-%S')}-{os.getpid()}-{time.monotonic_ns() % 10**9:09}.txt"


@dataclass(frozen=True)
class LastWords:
    """What a dead guest's console says about why: its lines, and what mends it where that is known."""

    lines: tuple[str, ...]
    mend: str = ""

    def quoted(self) -> str:
        """The lines for a sentence, oldest first; empty when it said nothing."""
        return ", then ".join(f'"{line}"' for line in self.lines)


def last_words(lines: Iterable[str]) -> LastWords:
    """The lines that say why a guest ended, out of its whole console.

    Lines that the kernel wrote for people (`OWN_PREFIX`) come before all others; else those that name a
    failure; else the last that it said. The kernel's panic, if any, comes last.
    """
    said: list[str] = []
    panic = ""
    for raw in lines:
        if is_event(raw) or _QUIET_LEVEL.match(raw):
            continue
        line = _STAMP.sub("", raw).rstrip()
        if _PANIC.match(line):
            panic = panic or line
        elif panic or _NOISE.search(line) or line in said[-_WORDS:]:
            continue
        elif said and _RUST_PANIC.search(said[-1]):
            said[-1] += f" {line.strip()}"
        else:
            said.append(line.strip())
    own = [line.removeprefix(OWN_PREFIX) for line in said if line.startswith(OWN_PREFIX)]
    failures = [line for line in said if _FAILURE.search(line)]
    # A panic says enough by itself when nothing before it names a failure.
    words = own or failures or ([] if panic else said)
    chosen = [*words[-_WORDS:], *([panic] if panic else [])]
    mend = next((mend for known, mend in _MENDS for line in reversed(chosen) if known.search(line)), "")
    return LastWords(tuple(_explained(line[:_LONGEST_WORD]) for line in chosen), "" if own else mend)


def _explained(line: str) -> str:
    """A line with what its numbers mean behind it."""
    if found := _EXITCODE.search(line):
        return f"{line} (its first process {_first_process(int(found[1], 16))})"
    if found := _ERRNO.search(line):
        number = abs(int(found[1] or found[2]))
        return f"{line} ({os.strerror(number)})"
    return line


def _first_process(status: int) -> str:
    """What the exit status of wait(2) says."""
    if status & 0x7F:
        return f"was ended by {signal_name(status & 0x7F)}"
    return f"left with exit code {status >> 8 & 0xFF}"
