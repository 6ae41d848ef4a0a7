"""The extended state of the processor (x87, SSE, AVX, AVX-512): as large as the host's, and never lost."""

import ctypes
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gauntlet.engine import guest
from tests.guest.conftest import run_plan, tcp_flow
from tests.guest.selftests import run_selftest

# What processors with AMX have; GAUNTLET_EXTENDED_STATE makes the kernel provide it elsewhere.
LARGE = 11_008

# <linux/ptrace.h> and <linux/elf.h>.
PTRACE_ATTACH, PTRACE_GETREGSET, NT_X86_XSTATE = 16, 0x4204, 0x202


class Vector(ctypes.Structure):
    """`struct iovec`."""

    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def state_of_the_host() -> int:
    """Bytes of extended state of a process, asked of this host with ptrace(2) on one that has stopped."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.restype = ctypes.c_long
    libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
    room = ctypes.create_string_buffer(1 << 20)
    vector = Vector(ctypes.addressof(room), len(room))
    with subprocess.Popen(["sleep", "600"]) as stopped:
        try:
            assert libc.ptrace(PTRACE_ATTACH, stopped.pid, None, None) == 0, os.strerror(ctypes.get_errno())
            os.waitpid(stopped.pid, 0)
            asked = ctypes.cast(ctypes.byref(vector), ctypes.c_void_p)
            answer = libc.ptrace(PTRACE_GETREGSET, stopped.pid, NT_X86_XSTATE, asked)
            assert answer == 0, os.strerror(ctypes.get_errno())
        finally:
            os.kill(stopped.pid, signal.SIGKILL)
    return int(vector.length)


def boot_without_a_program(machine: guest.Machine, scratch: Path, memory: str = "64M") -> str:
    """What the kernel says when it starts, and that it ends because there is nothing to run."""
    done = subprocess.run(
        [str(machine.kernel), f"mem={memory}", "rootfstype=hostfs", "root=/dev/root", f"rootflags={scratch}",
         "time-travel=inf-cpu", "panic=1", f"uml_dir={scratch}/", "umid=guest", "con=null", "con0=null,fd:1"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "TMPDIR": str(scratch)},
    )  # fmt: skip
    assert done.returncode != 0
    return done.stdout + done.stderr


def provided(said: str) -> tuple[int, int]:
    """The bytes that a kernel provides for each thread, and that it puts into signal frames."""
    found = re.search(r"^Extended state: (\d+) bytes a thread, (\d+) in a signal frame$", said, re.MULTILINE)
    assert found, said
    return int(found[1]), int(found[2])


def test_the_kernel_provides_what_the_host_has(machine: guest.Machine, tmp_path: Path) -> None:
    size, in_frames = provided(boot_without_a_program(machine, tmp_path))
    assert size == state_of_the_host()
    assert 512 <= in_frames <= size


def test_it_can_be_made_to_provide_more_but_not_less(
    machine: guest.Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = state_of_the_host()
    monkeypatch.setenv("GAUNTLET_EXTENDED_STATE", str(host + 4096 & ~63))
    assert provided(boot_without_a_program(machine, tmp_path))[0] == host + 4096 & ~63
    monkeypatch.setenv("GAUNTLET_EXTENDED_STATE", "576")
    assert provided(boot_without_a_program(machine, tmp_path))[0] == host


@pytest.mark.parametrize("raised", [False, True], ids=["as the host has it", "as large as with AMX"])
def test_no_thread_loses_its_registers(
    machine: guest.Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raised: bool
) -> None:
    """System calls, switches, signals, faults, fork, vfork, exec, ends of others, a debugger."""
    words = []
    if raised:
        size = max(LARGE, state_of_the_host() + 4096 & ~63)
        monkeypatch.setenv("GAUNTLET_EXTENDED_STATE", str(size))
        words = [f"frame={size}"]
    checked = run_selftest(machine, "registers", tmp_path, *words)
    assert checked.failed == ()
    assert len(checked.passed) == 13


def test_a_run_gives_the_same_bytes_with_a_large_state(
    machine: guest.Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How large the state is depends on the processor, and results must not."""

    def flow(name: str, stack: str, params: dict[str, Any], start_s: float) -> dict[str, Any]:
        return tcp_flow(id=name, stack=stack, stack_params=params, start_s=start_s)

    runs = [
        run_plan(
            id="all",
            flows=[
                flow("tcp", "tcp", {"congestion_control": "cubic"}, 0.5),
                flow("sctp", "sctp", {}, 4.0),
                flow("quic", "quic-quinn", {}, 8.0),
                tcp_flow(
                    id="udp", stack="udp", stack_params={}, start_s=12.0, app="cbr",
                    app_params={"rate_bps": 2e6, "message_size_bytes": 1200, "duration_s": 3.0},
                ),
            ],
        )
    ]  # fmt: skip

    def played(name: str) -> dict[str, bytes]:
        guest.boot(runs, tmp_path / name, seed=1, machine=machine)
        files = [file for file in (tmp_path / name).rglob("*") if file.is_file()]
        return {str(file.relative_to(tmp_path / name)): file.read_bytes() for file in files}

    monkeypatch.delenv("GAUNTLET_EXTENDED_STATE", raising=False)
    ordinary = played("ordinary")
    monkeypatch.setenv("GAUNTLET_EXTENDED_STATE", str(max(LARGE, state_of_the_host() + 4096 & ~63)))
    assert played("large") == ordinary
    assert len(ordinary) > 1


def test_the_kernel_says_in_plain_words_why_it_cannot_go_on(machine: guest.Machine, tmp_path: Path) -> None:
    assert re.search(r"^gauntlet-kernel: panic: ", boot_without_a_program(machine, tmp_path), re.MULTILINE)
    said = boot_without_a_program(machine, tmp_path, memory="4M")
    assert re.search(r"^gauntlet-kernel: 4194304 bytes of memory \(mem=\) are too few: ", said, re.MULTILINE)
