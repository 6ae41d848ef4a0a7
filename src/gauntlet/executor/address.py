"""Where a cluster is: the address of its scheduler and the files with which TLS is spoken with it."""

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gauntlet.errors import UserError

if TYPE_CHECKING:
    from distributed.security import Security

_ADDRESS = re.compile(r"(?P<kind>tcp|tls)://(?P<host>\[[^\]]+\]|[^:/\s]+):(?P<port>\d{1,5})/?")


@dataclass(frozen=True)
class Cluster:
    """A Dask scheduler: its address, and the files (PEM) with which TLS is spoken with it."""

    address: str
    tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None

    def check(self) -> None:
        """Raise UserError when it cannot be the address of a scheduler, when files are missing, or when the
        package is not installed that speaks with one.
        """
        found = _ADDRESS.fullmatch(self.address)
        if found is None:
            raise UserError(
                f"'{self.address}' is no address of a scheduler; write it as tcp://HOST:PORT, or tls://HOST:PORT."
            )
        files = {"--tls-ca": self.tls_ca, "--tls-cert": self.tls_cert, "--tls-key": self.tls_key}
        missing = [name for name, file in files.items() if file is None]
        if missing and (found["kind"] == "tls" or len(missing) < len(files)):
            raise UserError(f"TLS needs {', '.join(files)}; not given: {', '.join(missing)}.")
        if not missing and found["kind"] == "tcp":
            raise UserError(
                f"{self.address} is an address without TLS; write tls:// to use the files of TLS."
            )
        for name, file in files.items():
            if file is not None and not file.is_file():
                raise UserError(f"{name}: there is no file {file}.")
        if importlib.util.find_spec("distributed") is None:
            raise UserError(
                "A cluster needs distributed, which is not installed; type "
                '`pip install "gauntlet-net[cluster]"`.'
            )

    def security(self) -> "Security":
        """How Dask encrypts: with the files, or not at all."""
        from distributed.security import Security

        if self.tls_ca is None:
            return Security()
        own: dict[str, Any] = {}
        for role in ("client", "worker"):
            own |= {f"tls_{role}_cert": str(self.tls_cert), f"tls_{role}_key": str(self.tls_key)}
        return Security(tls_ca_file=str(self.tls_ca), require_encryption=True, **own)
