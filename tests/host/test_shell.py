"""`gauntlet shell`: what is typed reaches a program behind the line, with a terminal of its own."""

import os
import pty
import select
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

SHELL = (sys.executable, "-m", "gauntlet", "shell", "--scenario", "constant", "-p", "rate=5Mbit/s")
CTRL_C, CTRL_D, CTRL_Z = b"\x03", b"\x04", b"\x1a"
# A bound, for a machine that does much else; nothing waits for it where all is well.
PATIENCE_S = 600.0
# It takes its time, as on a machine that does much else.
SERVER = ("--server", f"sleep 3; exec {sys.executable} -m http.server 8000")
# As a script runs its jobs in the background (POSIX.1-2017, Shell, 2.11): Ctrl-C is ignored from there on.
AS_A_JOB = ("setsid", "--ctty", "sh", "-c", "trap '' INT QUIT; exec \"$@\"", "sh")
# What a terminal's keys reach is what has spoken, and speaks again when it is continued: without Python's
# buffers, since the word that it has begun may still be on its way out of `print` when the handler speaks.
WAIT = """import os, signal, time
signal.signal(signal.SIGCONT, lambda *_: os.write(1, b"aga" + b"in\\n"))
os.write(1, b"be" + b"gun\\n")
while True:
    time.sleep(1000)
"""
FETCH = (
    f'{sys.executable} -c "from urllib.request import urlopen as get; '
    "print(get('http://trackside:8000/note').read().decode())\""
)


@pytest.mark.usefixtures("host")
def test_lines_of_a_pipe_are_typed_and_the_exit_code_comes_back(tmp_path: Path) -> None:
    (tmp_path / "note").write_text("theirs")
    lines = f"{FETCH}\ntest -t 0 && echo a terminal\necho on $TERM\nexit 5\n"
    done = _typed(lines, tmp_path, *SERVER)
    assert done.returncode == 5, done.stderr
    assert "theirs" in done.stdout
    assert "a terminal" in done.stdout
    assert "on dumb" in done.stdout, "no signs for a screen among what a script reads"
    assert '"GET /note HTTP/1.1" 200' in done.stderr, "what the server said"


@pytest.mark.usefixtures("host")
def test_a_pipe_that_ends_is_an_end_of_file_for_each_program_that_asks(tmp_path: Path) -> None:
    done = _typed("cat; (exit 4)", tmp_path)
    assert done.returncode == 4, done.stderr


@pytest.mark.usefixtures("host")
def test_keys_and_sizes_of_a_terminal_reach_what_runs_in_the_shell_and_not_the_shell(tmp_path: Path) -> None:
    (tmp_path / "wait.py").write_text(WAIT)
    wait = f"{sys.executable} wait.py"
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(ours, (30, 100))
    process = subprocess.Popen(
        [*AS_A_JOB, *SHELL, "--", "sh", "-i"], stdin=theirs, stdout=theirs, stderr=theirs, cwd=tmp_path
    )
    os.close(theirs)
    try:
        _until(ours, "#", "$")
        _type(ours, "stty size")
        _until(ours, "30 100\r")
        termios.tcsetwinsize(ours, (31, 90))
        _type(ours, 'until test "$(stty size)" = "31 90"; do sleep 0.1; done; echo res""ized')
        _until(ours, "resized\r")
        _type(ours, wait)
        _until(ours, "begun\r")
        os.write(ours, CTRL_C)
        _until(ours, "KeyboardInterrupt")
        _type(ours, wait)
        _until(ours, "begun\r")
        os.write(ours, CTRL_Z)
        _until(ours, "Stopped")
        _type(ours, "fg")
        _until(ours, "again\r")
        os.write(ours, CTRL_C)
        _until(ours, "KeyboardInterrupt")
        _type(ours, "(exit 3)")
        os.write(ours, CTRL_D)
        assert _code(process, ours) == 3
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def _typed(lines: str, folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    """What a shell makes of the lines of a pipe."""
    command = [*SHELL, *options, "--", "sh"]
    return subprocess.run(
        command, input=lines, capture_output=True, text=True, cwd=folder, timeout=PATIENCE_S, check=False
    )


def _type(terminal: int, line: str) -> None:
    os.write(terminal, f"{line}\n".encode())


def _until(terminal: int, *wanted: str) -> None:
    """Read until one of the words stands there."""
    seen = ""
    until_s = time.monotonic() + PATIENCE_S
    while not any(word in seen for word in wanted):
        assert select.select([terminal], [], [], max(0.0, until_s - time.monotonic()))[0], seen
        seen += os.read(terminal, 4096).decode(errors="replace")


def _code(process: "subprocess.Popen[bytes]", terminal: int) -> int:
    """Read to the end, and with which exit code that came."""
    until_s = time.monotonic() + PATIENCE_S
    while select.select([terminal], [], [], max(0.0, until_s - time.monotonic()))[0]:
        try:
            os.read(terminal, 4096)
        except OSError:
            break
    return process.wait(timeout=PATIENCE_S)
