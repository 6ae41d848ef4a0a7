"""Addresses: where guests and their programs lie, and that equal guests lie alike."""

import mmap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gauntlet.engine.doctor import libc
from gauntlet.engine.doctor.apart import Tried, apart
from gauntlet.engine.doctor.check import Check

_KERNEL_AT = 0x60000000
_PROGRAMS_END_AT = 0x7FC0000000 - mmap.PAGESIZE
"""Where User-mode Linux is linked to, and where programs of its guests end (arch/x86/um)."""

_FOUR_LEVELS = 1 << 47
_ADDR_NO_RANDOMIZE = 0x0040000  # sys/personality.h
_MAP_FIXED_NOREPLACE = 0x100000  # linux/mman.h
_PROT_NONE = 0
_FILE_EXISTS = 17


@dataclass(frozen=True)
class Layout:
    """What came of asking: an address that was refused, the highest given, whether chance can be left out."""

    refused: str = ""
    highest: int = 0
    alike: bool = True


def laid_out() -> Tried[Layout]:
    """Map pages where a guest will, and ask for a layout without chance, in a process of its own."""
    return apart(_lay_out)


def _lay_out() -> Layout:
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    highest = libc.mmap(None, mmap.PAGESIZE, _PROT_NONE, flags)
    for address in (_KERNEL_AT, _PROGRAMS_END_AT):
        try:
            libc.mmap(address, mmap.PAGESIZE, _PROT_NONE, flags | _MAP_FIXED_NOREPLACE)
        except OSError as error:
            # Something of this process lies there already, so others can.
            if error.errno != _FILE_EXISTS:
                return Layout(f"{address:#x} ({error.strerror})", highest)
    try:
        libc.personality(_ADDR_NO_RANDOMIZE)
    except OSError:
        return Layout("", highest, alike=False)
    return Layout("", highest)


def addresses(root: Path = Path("/"), attempt: Callable[[], Tried[Layout]] = laid_out) -> Check:
    """Whether guests can lie where they are linked to, and always alike."""
    tried = attempt()
    found = tried.result or Layout(tried.ended)
    levels = 5 if _has_five_levels(root) else 4
    if found.refused:
        return Check(
            "addresses",
            False,
            f"A guest cannot lie at the address {found.refused} on this host.",
            "Use a host whose kernel gives programs the usual addresses of x86-64.",
        )
    if found.highest >= _FOUR_LEVELS:
        return Check(
            "addresses",
            False,
            f"This host gives programs addresses beyond 47 bits ({found.highest:#x}) without being asked.",
            "Boot the host with `no5lvl` on its command line.",
        )
    if not found.alike:
        return Check(
            "addresses",
            False,
            "A guest's memory differs by up to 14 MiB from boot to boot, since this container forbids "
            "programs to be laid out without chance (personality).",
            "Start it with a seccomp profile that allows ADDR_NO_RANDOMIZE (docker run --security-opt "
            "seccomp=unconfined).",
            required=False,
        )
    return Check("addresses", True, f"page tables of {levels} levels, guests always laid out alike")


def _has_five_levels(root: Path) -> bool:
    """Whether the processor has them and the kernel uses them: then it names the flag (asm/cpufeatures.h)."""
    try:
        text = (root / "proc/cpuinfo").read_text()
    except OSError:
        return False
    flags = next((line for line in text.splitlines() if line.startswith("flags")), "")
    return "la57" in flags.split()
