"""Certificates for servers of a run: an authority and a server's certificate by it, in a folder."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from gauntlet.attack.programs import CERTIFICATE, program
from gauntlet.errors import RunError

P_256 = "p-256"
KEYS: Mapping[str, str] = MappingProxyType(
    {P_256: "ECDSA P-256", "ed25519": "Ed25519", "rsa-2048": "RSA 2048", "rsa-4096": "RSA 4096"}
)


@dataclass(frozen=True)
class Chain:
    """Files in PEM."""

    authority: Path
    """What a client trusts."""
    certificate: Path
    key: Path


def chain(kind: str, folder: Path) -> Chain:
    """The certificate of a server with a key of this kind, made where the folder has none yet; it is good for
    `server.gauntlet.test`, 127.0.0.1 and ::1.
    """
    own = folder / kind
    found = Chain(own / "ca.pem", own / "server.pem", own / "server.key")
    if found.key.is_file():
        return found
    command = [str(program(CERTIFICATE)), kind, "--folder", str(own)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunError(f"No certificate was made: {done.stderr.strip()}")
    found.key.chmod(0o600)
    return found
