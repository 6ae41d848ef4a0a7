"""The doctor where it is really as it says: noexec file systems, filters of system calls, limits."""

import ctypes
import json
import os
import resource
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gauntlet.engine import cgroup

DOCTOR = [sys.executable, "-m", "gauntlet", "doctor", "--json"]

Found = dict[str, dict[str, Any]]


def consult(
    before: str = "", *, prepare: Callable[[], None] | None = None, **variables: str
) -> tuple[int, Found]:
    """The doctor's exit code and checks by name, after shell commands and what `prepare` did to it."""
    done = subprocess.run(
        [*(_own_mounts() if before else []), "sh", "-ec", f'{before}\nexec "$@"', "sh", *DOCTOR],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
        preexec_fn=prepare,
        check=False,
    )
    assert done.stdout, done.stderr
    return done.returncode, {check["name"]: check for check in json.loads(done.stdout)}


def _own_mounts() -> list[str]:
    for command in (["unshare", "--mount"], ["unshare", "--user", "--map-root-user", "--mount"]):
        if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
            return command
    pytest.skip("this user may have no mounts of its own (unshare --mount)")


# --- file systems ----------------------------------------------------------------------------------------


def test_a_noexec_tmpdir_is_told_and_guests_boot_all_the_same(tmp_path: Path) -> None:
    code, found = consult(f"mount -t tmpfs -o noexec none {tmp_path}", TMPDIR=str(tmp_path))
    said = found["guest memory"]
    assert f"{tmp_path}: mounted noexec" in said["detail"]
    assert not said["required"]
    assert found["guest"]["ok"], found["guest"]
    assert code == 0


def test_a_small_dev_shm_is_told_and_guests_boot_all_the_same() -> None:
    code, found = consult("mount -t tmpfs -o size=64m none /dev/shm")
    assert "/dev/shm: only 64 MiB free" in found["guest memory"]["detail"]
    assert found["guest"]["ok"], found["guest"]
    assert code == 0


def test_nowhere_to_run_from(tmp_path: Path) -> None:
    noexec = "".join(
        f"mount --bind {folder} {folder}; mount -o remount,bind,noexec {folder}\n"
        for folder in ("/dev/shm", "/tmp", "/var/tmp", tmp_path)
    )
    code, found = consult(noexec, TMPDIR=str(tmp_path))
    said = found["guest memory"]
    assert not said["ok"]
    assert said["required"]
    assert "mounted noexec" in said["detail"]
    assert "TMPDIR" in said["remedy"]
    assert code == 1


# --- system calls ----------------------------------------------------------------------------------------

_PTRACE, _PERSONALITY = 101, 135
_REFUSED, _KILLED, _ALLOWED = 0x00050001, 0x80000000, 0x7FFF0000  # linux/seccomp.h: ERRNO with EPERM
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _FILTER = 22, 38, 2


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def without(call: int, answer: int) -> Callable[[], None]:
    """Has a process meet a filter, as a container's, that gives one system call this answer."""

    def step(code: int, yes: int, no: int, value: int) -> bytes:
        return struct.pack("HBBI", code, yes, no, value)

    # Load the number; is it the call? its answer, else go on.
    steps = [step(0x20, 0, 0, 0), step(0x15, 0, 1, call), step(6, 0, 0, answer), step(6, 0, 0, _ALLOWED)]
    code = ctypes.create_string_buffer(b"".join(steps))

    def confine() -> None:
        program = _Program(len(steps), ctypes.addressof(code))
        libc = ctypes.CDLL(None)
        assert libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
        assert libc.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0) == 0

    return confine


def test_a_filter_that_refuses_ptrace() -> None:
    code, found = consult(prepare=without(_PTRACE, _REFUSED))
    assert code == 1
    assert "PTRACE_TRACEME is refused" in found["tracing"]["detail"]
    assert "seccomp" in found["tracing"]["detail"]
    assert "SYS_PTRACE" in found["tracing"]["remedy"]
    assert "ptrace: Operation not permitted" in found["guest"]["detail"], "the guest's own words"


def test_a_filter_that_kills_whoever_traces() -> None:
    code, found = consult(prepare=without(_PTRACE, _KILLED))
    assert code == 1
    assert "SIGSYS" in found["tracing"]["detail"]


def test_a_filter_that_refuses_a_layout_without_chance_is_worth_knowing() -> None:
    code, found = consult(prepare=without(_PERSONALITY, _REFUSED))
    assert code == 0
    assert "personality" in found["addresses"]["detail"]
    assert found["guest"]["ok"]


# --- limits ----------------------------------------------------------------------------------------------


def test_a_limit_of_open_files() -> None:
    code, found = consult(prepare=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100)))
    assert code == 1
    assert "no more than 100 files" in found["open files"]["detail"]


def test_a_limit_of_file_sizes() -> None:
    code, found = consult(prepare=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 27, 1 << 27)))
    assert code == 1
    assert "ulimit -f" in found["guest memory"]["remedy"]


@pytest.fixture
def own_group() -> Iterator[Path]:
    """A control group below our own that limits processes; removed behind the test."""
    for group in cgroup.levels(Path("/"), "pids"):
        folder = group.folder / f"gauntlet-test-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            if (folder / "pids.max").exists():
                yield folder
                return
        finally:
            folder.rmdir()
    pytest.skip("this user may make no control group that limits processes")


def test_a_control_group_that_limits_processes(own_group: Path) -> None:
    (own_group / "pids.max").write_text("12")

    def enter() -> None:
        (own_group / "cgroup.procs").write_text(str(os.getpid()))

    code, found = consult(prepare=enter)
    assert code == 1
    assert "pids.max" in found["processes"]["detail"]
    assert "--pids-limit" in found["processes"]["remedy"]
