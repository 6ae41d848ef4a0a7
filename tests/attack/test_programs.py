"""Programs that are older than their source measure something else than it says."""

import os
from pathlib import Path

import pytest

from gauntlet.attack import programs as built
from gauntlet.attack.programs import ATTACKER, SERVER, WEAK_SERVER
from gauntlet.attack.servers.own import OWN, S2N_QUIC
from gauntlet.errors import UserError


@pytest.fixture
def source(programs: Path, tmp_path: Path) -> Path:
    """A source of all of them, in a folder with a space in its name, older than they are."""
    file = tmp_path / "a crate" / "main.rs"
    file.parent.mkdir()
    file.write_text("fn main() {}")
    os.utime(file, (1000, 1000))
    escaped = str(file).replace(" ", "\\ ")
    for name in (ATTACKER, SERVER):
        (programs / f"{name}.d").write_text(f"{programs / name}: /gone.rs {escaped}\n")
    (programs / WEAK_SERVER).write_text("")
    return file


def test_programs_that_are_as_new_as_their_source_are_taken(source: Path) -> None:
    built.ready()
    assert built.weak_server().name == WEAK_SERVER


def test_a_program_that_is_older_than_its_source_is_refused(source: Path, programs: Path) -> None:
    os.utime(programs / ATTACKER, (500, 500))
    with pytest.raises(UserError) as refused:
        built.ready()
    assert f"{ATTACKER} is older than {source}" in str(refused.value)
    assert "`cargo build --profile measure -p web -p attackers` builds it anew" in str(refused.value)


def test_a_server_that_no_run_uses_may_be_old(source: Path, programs: Path) -> None:
    os.utime(programs / SERVER, (500, 500))
    built.ready()
    for server in (OWN, S2N_QUIC):
        with pytest.raises(UserError, match=f"{SERVER} is older than"):
            server.ready()


def test_a_control_that_is_older_than_the_servers_source_is_refused(source: Path, programs: Path) -> None:
    os.utime(programs / WEAK_SERVER, (500, 500))
    built.ready()
    with pytest.raises(UserError, match=f"{WEAK_SERVER} is older than .*--features weak"):
        built.weak_server()
