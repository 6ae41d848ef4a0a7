"""The programs of the crates `web` and `attackers`; they are built from source."""

from pathlib import Path

from gauntlet.engine.built import Built
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
    try:
        return program(WEAK_SERVER)
    except UserError:
        raise UserError(
            f"The positive controls need {WEAK_SERVER}: build it with `cargo build --profile measure -p web "
            f"--features weak --target-dir target/weak` and copy target/weak/measure/{SERVER} to "
            f"target/measure/{WEAK_SERVER}."
        ) from None


def ready() -> None:
    """Raise UserError when one of them is not built."""
    for name in (SERVER, CLIENT, ATTACKER, CERTIFICATE):
        program(name)


def hashes() -> dict[str, str]:
    """Server, client and attacker by their SHA-256: what is measured under one of them is of that one."""
    return {name: sha256_of_file(program(name)) for name in (SERVER, CLIENT, ATTACKER)}
