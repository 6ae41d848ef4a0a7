"""`gauntlet shell`: what is typed reaches a program behind the line, with a terminal of its own."""

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

SHELL = (sys.executable, "-m", "gauntlet", "shell", "--scenario", "constant", "-p", "rate=5Mbit/s")
SERVER = ("--server", f"exec {sys.executable} -m http.server 8000")
# Once it has spoken it is what the terminal's keys reach.
WAIT = f"{sys.executable} -c \"print('be' + 'gun', flush=True); import time; time.sleep(1000)\""
FETCH = (
    f'{sys.executable} -c "from urllib.request import urlopen as get; '
    "print(get('http://trackside:8000/note').read().decode())\""
)


@pytest.mark.usefixtures("host")
def test_lines_of_a_pipe_are_typed_and_the_exit_code_comes_back(tmp_path: Path) -> None:
    (tmp_path / "note").write_text("theirs")
    # In real time nobody knows when a server listens.
    lines = f"until {FETCH} 2>/dev/null; do sleep 0.2; done\ntest -t 0 && echo a terminal\nexit 5\n"
    command = [*SHELL, *SERVER, "--", "sh"]
    done = subprocess.run(
        command, input=lines, capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False
    )
    assert done.returncode == 5, done.stderr
    assert "theirs" in done.stdout
    assert "a terminal" in done.stdout
    assert '"GET /note HTTP/1.1" 200' in done.stderr, "what the server said"


@pytest.mark.usefixtures("host")
def test_a_key_ends_what_runs_in_the_shell_and_not_the_shell(tmp_path: Path) -> None:
    """Ctrl-C, typed on a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*SHELL, "--", "sh", "-i"], stdin=theirs, stdout=theirs, stderr=theirs, cwd=tmp_path, close_fds=True
    ) as process:
        os.close(theirs)
        seen = _until(ours, "", "#", "$")
        os.write(ours, f"{WAIT}\n".encode())
        seen = _until(ours, seen, "begun\r")
        os.write(ours, b"\x03")
        _until(ours, "", "KeyboardInterrupt")
        os.write(ours, b"echo the''re; exit 7\n")
        _until(ours, "", "there\r")
        assert process.wait(timeout=60) == 7
    os.close(ours)


def _until(terminal: int, seen: str, *wanted: str) -> str:
    """Read until one of the words stands there."""
    until_s = time.monotonic() + 60
    while not any(word in seen for word in wanted):
        assert select.select([terminal], [], [], max(0.0, until_s - time.monotonic()))[0], seen
        seen += os.read(terminal, 4096).decode(errors="replace")
    return seen
