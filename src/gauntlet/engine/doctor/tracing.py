"""Tracing: a guest's kernel runs every program of the guest as a child that it traces (ptrace(2))."""

import contextlib
import ctypes
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gauntlet.engine.doctor import libc
from gauntlet.engine.doctor.apart import Tried, apart
from gauntlet.engine.doctor.check import Check
from gauntlet.engine.ended import ended

# linux/ptrace.h, asm/ptrace-abi.h, linux/elf.h
_TRACEME, _POKEUSER, _SYSEMU = 0, 6, 31
_SETOPTIONS, _GETREGSET, _SETREGSET = 0x4200, 0x4204, 0x4205
_TRACESYSGOOD, _EXITKILL = 1, 0x100000
_SYSTEM_CALL_STOP = signal.SIGTRAP | 0x80
_RAX = 10 * 8
_NT_X86_XSTATE = 0x202

_LARGEST_STATE_BYTES = 1 << 16
_OLD_ROOM_BYTES = 2696
"""Register state that Linux 6.12 has room for as User-mode Linux without our patches (HOST_FP_SIZE)."""

YAMA = "proc/sys/kernel/yama/ptrace_scope"


@dataclass(frozen=True)
class Traced:
    """What came of tracing a child: a request that was refused and why, the size of its registers' state."""

    refused: str = ""
    why: str = ""
    state_bytes: int = 0


class _Area(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def traced() -> Tried[Traced]:
    """Trace a child through one system call, as a guest's kernel does, and read and write its registers."""
    return apart(_trace)


def _trace() -> Traced:
    # Once resumed, the child is stopped at its next system call, so its exit code can only tell of TRACEME.
    pid = os.fork()
    if pid == 0:
        code = 0
        try:
            libc.ptrace("PTRACE_TRACEME", _TRACEME, 0)
            os.kill(os.getpid(), signal.SIGSTOP)
            os.getppid()
        except OSError as error:
            code = error.errno or 1
        os._exit(code)
    try:
        return _trace_child(pid)
    except OSError as error:
        request, _, why = (error.strerror or "").partition(": ")
        return Traced(request, why)
    finally:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _trace_child(pid: int) -> Traced:
    _, status = os.waitpid(pid, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        code = os.waitstatus_to_exitcode(status)
        return Traced("PTRACE_TRACEME", os.strerror(code) if code > 0 else ended(code))
    libc.ptrace("PTRACE_SETOPTIONS", _SETOPTIONS, pid, 0, _TRACESYSGOOD | _EXITKILL)
    libc.ptrace("PTRACE_SYSEMU", _SYSEMU, pid)
    _, status = os.waitpid(pid, os.WUNTRACED)
    if not os.WIFSTOPPED(status) or os.WSTOPSIG(status) != _SYSTEM_CALL_STOP:
        return Traced("PTRACE_SYSEMU", "the child was not stopped at its system call")
    libc.ptrace("PTRACE_POKEUSER", _POKEUSER, pid, _RAX, 1)
    state = ctypes.create_string_buffer(_LARGEST_STATE_BYTES)
    area = _Area(ctypes.addressof(state), len(state))
    libc.ptrace("PTRACE_GETREGSET", _GETREGSET, pid, _NT_X86_XSTATE, ctypes.addressof(area))
    libc.ptrace("PTRACE_SETREGSET", _SETREGSET, pid, _NT_X86_XSTATE, ctypes.addressof(area))
    return Traced(state_bytes=area.length)


def tracing(root: Path = Path("/"), attempt: Callable[[], Tried[Traced]] = traced) -> Check:
    """Whether a process may trace its children here; where not, who forbids it."""
    tried = attempt()
    scope = _word(root / YAMA)
    if tried.result is not None and not tried.result.refused:
        said = "a child was stopped at its system call, its registers read and written"
        return Check("tracing", True, said if scope is None else f"{said} (Yama's ptrace_scope={scope})")
    found = tried.result or Traced("ptrace", tried.ended)
    cause, mend = _forbidden_by(root, found, scope)
    return Check("tracing", False, f"{found.refused} is refused ({found.why}): {cause}.", mend)


def _forbidden_by(root: Path, found: Traced, scope: str | None) -> tuple[str, str]:
    status = _fields(root / "proc/self/status")
    if scope in ("2", "3"):
        mend = "Set kernel.yama.ptrace_scope=1 (`sudo sysctl -w`)"
        return (
            f"Yama's ptrace_scope={scope} forbids tracing",
            f"{mend}, and see /etc/sysctl.d; 3 holds until the next boot." if scope == "3" else f"{mend}.",
        )
    if status.get("TracerPid", "0") != "0":
        return (
            f"process {status['TracerPid']} traces this one already (strace, a debugger)",
            "Call gauntlet outside of it.",
        )
    if found.refused == "PTRACE_SYSEMU":
        return (
            "this host's kernel does not emulate system calls, as sandboxes such as gVisor do not",
            "Use a host, container or virtual machine with a Linux kernel of its own.",
        )
    if status.get("Seccomp") == "2":
        return (
            "a seccomp filter forbids it, as those of containers do",
            "Start the container with --cap-add=SYS_PTRACE or with a profile that allows ptrace "
            "(docker run --security-opt seccomp=unconfined).",
        )
    if (_word(root / "sys/fs/selinux/booleans/deny_ptrace") or "0").startswith("1"):
        return "SELinux's deny_ptrace forbids it", "Type `sudo setsebool deny_ptrace off`."
    return (
        "something on this host forbids it",
        "Ask who runs this host to allow processes to trace their children.",
    )


def register_state(own_kernel: bool | None = None, attempt: Callable[[], Tried[Traced]] = traced) -> Check:
    """How much state the registers of this processor have (XSAVE, most with AMX)."""
    found = attempt().result
    if found is None or found.refused:
        return Check("register state", False, "Not known, since tracing is refused.", "Mend tracing.", False)
    own_kernel = "GAUNTLET_KERNEL" in os.environ if own_kernel is None else own_kernel
    if own_kernel and found.state_bytes > _OLD_ROOM_BYTES:
        return Check(
            "register state",
            False,
            f"{found.state_bytes} bytes (AMX), and a kernel of your own (GAUNTLET_KERNEL) may have room for "
            f"{_OLD_ROOM_BYTES} only.",
            "Unset GAUNTLET_KERNEL if guests do not boot.",
            required=False,
        )
    return Check("register state", True, f"{found.state_bytes} bytes")


def _fields(file: Path) -> dict[str, str]:
    text = _word(file) or ""
    return {name: value.strip() for name, _, value in (line.partition(":") for line in text.splitlines())}


def _word(file: Path) -> str | None:
    try:
        return file.read_text().strip()
    except OSError:
        return None
