"""The programs of the crates `web` and `attackers`; they are built from source."""

from collections.abc import Sequence
from pathlib import Path

from gauntlet.engine.built import Built, changed_since
from gauntlet.engine.hashes import sha256_of_file
from gauntlet.errors import UserError

SERVER = "gauntlet-web-server"
CLIENT = "gauntlet-web-client"
ATTACKER = "gauntlet-attacker"
CERTIFICATE = "gauntlet-web-certificate"
WEAK_SERVER = "gauntlet-web-server-weak"
"""The server, built with the feature `weak`: each of its bounds can be taken away."""

_BUILT = Built("GAUNTLET_ATTACK_PROGRAMS", ("web", "attackers"))


def program(name: str) -> Path:
    """Path of a program: in GAUNTLET_ATTACK_PROGRAMS, in the working copy's build, or on the PATH."""
    return _BUILT.program(name)


def weak_server() -> Path:
    """The server whose bounds can be taken away. Raises UserError with what builds it."""
    how = (
        f"build it with `cargo build --profile measure -p web --features weak --target-dir target/weak` and "
        f"copy target/weak/measure/{SERVER} to target/measure/{WEAK_SERVER}."
    )
    try:
        found = program(WEAK_SERVER)
    except UserError:
        raise UserError(f"The positive controls need {WEAK_SERVER}: {how}") from None
    # A copy has no list of its sources beside it; those of the server as it is are the same.
    if source := changed_since(found, of=SERVER):
        raise UserError(f"{found} is older than {source}, from which it is built: {how}")
    return found


def check(name: str) -> None:
    """Raise UserError when a program is not built, or older than its source."""
    _BUILT.check(name)


def ready() -> None:
    """Raise UserError when one that every run needs, whatever the server, is not built, or older than its
    source.
    """
    for name in (CLIENT, ATTACKER, CERTIFICATE):
        check(name)


def older(name: str, flag: str) -> str:
    """That a program is an older one, since it does not know what it is asked for."""
    return f"{name} does not know {flag}, so it is an older one: build it anew (`{_BUILT.command}`)."


def hashes(names: Sequence[str] = (SERVER, CLIENT, ATTACKER)) -> dict[str, str]:
    """Programs by their SHA-256: what is measured under one of them is of that one."""
    return {name: sha256_of_file(program(name)) for name in names}
