"""`gauntlet shell`: what is typed reaches a program behind the line, with a terminal of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

SHELL = (sys.executable, "-m", "gauntlet", "shell", "--scenario", "constant", "-p", "rate=5Mbit/s")
SERVER = ("--server", f"exec {sys.executable} -m http.server 8000")
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
