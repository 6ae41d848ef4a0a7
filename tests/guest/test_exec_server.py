"""`gauntlet exec --server`: the program starts when the other side listens, however long that takes."""

import sys
from pathlib import Path

import pytest

from .conftest import gauntlet

FETCH = (
    "import time, urllib.request\n"
    "began = time.monotonic()\n"
    "print(urllib.request.urlopen('http://trackside:8000/').status, began)\n"
)


@pytest.mark.parametrize("slow_s", [0, 4])
def test_a_server_is_awaited(tmp_path: Path, slow_s: int) -> None:
    server = f"sleep {slow_s}; exec {sys.executable} -m http.server 8000"
    answer = gauntlet(
        "exec", "--scenario", "constant", "--server", server, "--", sys.executable, "-c", FETCH, cwd=tmp_path
    )
    assert answer.code == 0, answer.err
    status, began_s = answer.out.split()
    assert status == "200"
    assert slow_s < float(began_s) < slow_s + 4


def test_what_listens_to_nothing_holds_nobody_up(tmp_path: Path) -> None:
    ended = gauntlet(
        "exec", "--scenario", "constant", "--server", "true", "--", "cat", "/proc/uptime", cwd=tmp_path
    )
    silent = gauntlet(
        "exec", "--scenario", "constant", "--server", "sleep 60", "--", "cat", "/proc/uptime", cwd=tmp_path
    )
    assert float(ended.out.split()[0]) < 4
    assert 10 <= float(silent.out.split()[0]) < 14
