"""The laboratory with stand-ins for its programs, which really listen, connect and compute."""

import os
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gauntlet.attack.programs import ATTACKER, CERTIFICATE, CLIENT, SERVER
from gauntlet.attack.servers.contract import OFF, Launch, Server, Wanted
from gauntlet.attack.servers.own import OWN

FAKES = Path(__file__).parent / "fakes"

Programs = Callable[..., Path]

CORES = os.sched_getaffinity(0)

two_cores = pytest.mark.skipif(len(CORES) < 2, reason="server and attacker need a core each")


@pytest.fixture(autouse=True)
def _all_cores() -> Iterator[None]:
    """Server and attacker need a core each; where tests run side by side, those with guests keep to one."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, CORES)
    yield
    os.sched_setaffinity(0, before)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the stand-ins under the names of the programs, in which they are looked for."""
    folder = tmp_path / "programs"
    folder.mkdir()
    fakes = {SERVER: "server", CLIENT: "client", ATTACKER: "attacker", CERTIFICATE: "certificate"}
    for name, fake in fakes.items():
        program = folder / name
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKES / fake}.py "$@"\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("GAUNTLET_ATTACK_PROGRAMS", str(folder))
    monkeypatch.setenv("GAUNTLET_CACHE", str(tmp_path / "cache"))
    return folder


def silent(command: list[str]) -> Server:
    """A server that says nothing, started by a command in which `{address}` stands for where it listens."""

    def launch(wanted: Wanted) -> Launch:
        told = [word.replace("{address}", str(wanted.address)) for word in command]
        return Launch(told, tells=False)

    return Server("silent", "a silent one", ("h1",), {OFF: ("h1",)}, lambda: None, lambda: "", launch)


__all__ = ["FAKES", "OWN", "silent", "two_cores"]
