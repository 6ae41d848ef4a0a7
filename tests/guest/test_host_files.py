"""What a guest's programs find in the host's file tree costs no virtual time (kernel/patches/0010)."""

import compileall
import sys
from pathlib import Path

import pytest

from .conftest import gauntlet

CLOCK_STEP_NS = 256
"""What a reading of the clock takes (docs/virtual-time.md)."""
FAILURE_NS = 1000
"""What a failed call takes that says "not yet" (handle_syscall in Linux' arch/um/kernel/skas/syscall.c)."""
FREE_FAILURES = 100_000
"""So many others take no time, until the program sleeps (kernel/patches/0010)."""


def took_ns(what: str, folder: Path) -> int:
    """Virtual time between two readings of the clock around the lines `what` of a Python program."""
    lines = "\n".join(f"    {line}" for line in what.splitlines())
    program = (
        "import contextlib, os, socket, sys, time\n"
        f"def act():\n{lines}\n"
        "time.sleep(0.1)\nbegan = time.monotonic_ns()\nact()\nprint(time.monotonic_ns() - began)"
    )
    answer = gauntlet("exec", "--scenario", "constant", "--", sys.executable, "-B", "-c", program, cwd=folder)
    assert answer.code == 0, answer.err
    return int(answer.out.split()[-1])


def asked(times: int) -> str:
    """A program that asks so many times for a file that is not there."""
    return f"for _ in range({times}):\n    with contextlib.suppress(OSError): os.stat('/no/such/file')"


def test_a_file_that_is_not_there_takes_no_time(tmp_path: Path) -> None:
    assert took_ns(asked(1000), tmp_path) == CLOCK_STEP_NS


def test_a_program_that_asks_in_a_loop_gets_on(tmp_path: Path) -> None:
    took = took_ns(asked(FREE_FAILURES + 50), tmp_path)
    assert took == pytest.approx(50 * FAILURE_NS, abs=52 * CLOCK_STEP_NS)


def test_an_answer_that_says_not_yet_takes_time(tmp_path: Path) -> None:
    ask = (
        "ours, _theirs = socket.socketpair()\nours.setblocking(False)\n"
        "for _ in range(20):\n    with contextlib.suppress(OSError): ours.recv(1)"
    )
    assert took_ns(ask, tmp_path) == pytest.approx(20 * FAILURE_NS, abs=22 * CLOCK_STEP_NS)


def test_whether_modules_are_compiled_moves_no_instant(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    for name in ("first", "second", "third"):
        (package / f"{name}.py").write_text("VALUE = 1\n")
    load = f"sys.path.insert(0, {str(package)!r})\nimport first, second, third"
    source_only = took_ns(load, tmp_path)
    assert compileall.compile_dir(package, quiet=1)
    assert took_ns(load, tmp_path) == source_only
