"""System calls that Python does not offer, with their failures as OSError."""

import ctypes
import os

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = [
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
]  # fmt: skip
_LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_LIBC.ptrace.restype = ctypes.c_long
_LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
_LIBC.personality.argtypes = [ctypes.c_ulong]

_MAP_FAILED = ctypes.c_void_p(-1).value


def _failed(call: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{call}: {os.strerror(number)}")


def mmap(address: int | None, length: int, prot: int, flags: int) -> int:
    """Map anonymous memory; the address."""
    place = _LIBC.mmap(address, length, prot, flags, -1, 0)
    if place is None or place == _MAP_FAILED:
        raise _failed("mmap")
    return int(place)


def mprotect(address: int, length: int, prot: int) -> None:
    """Change what may be done with pages."""
    if _LIBC.mprotect(address, length, prot) != 0:
        raise _failed("mprotect")


def ptrace(name: str, request: int, pid: int, address: int = 0, data: int = 0) -> None:
    """One request of ptrace(2), called `name` in the error; `data` is a number or an address."""
    if _LIBC.ptrace(request, pid, address, data) < 0:
        raise _failed(name)


def personality(flags: int) -> None:
    """Change how programs that this process executes are laid out (personality(2))."""
    if _LIBC.personality(flags) < 0:
        raise _failed("personality")
