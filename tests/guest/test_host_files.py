"""What a guest's programs find in the host's file tree costs no virtual time (kernel/patches/0010)."""

import compileall
import json
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
    return int(json.loads(answer.out.split()[-1]))


@pytest.mark.parametrize("more", [0, 50])
def test_a_file_that_is_not_there_takes_no_time_until_it_is_asked_for_in_a_loop(
    more: int, tmp_path: Path
) -> None:
    times = FREE_FAILURES + more if more else 1000
    ask = f"for _ in range({times}):\n    with contextlib.suppress(OSError): os.stat('/no/such/file')"
    took = took_ns(ask, tmp_path)
    if more:
        assert took == pytest.approx(more * FAILURE_NS, abs=(more + 2) * CLOCK_STEP_NS)
    else:
        assert took == CLOCK_STEP_NS


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
