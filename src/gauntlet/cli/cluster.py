"""What commands share that speak with a cluster: the scheduler's address and the files of TLS."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from gauntlet.executor.address import Cluster

_FILE = click.Path(path_type=Path)


def tls_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of TLS: --tls-ca, --tls-cert, --tls-key."""
    for name, what in (
        ("--tls-key", "Own private key (PEM), for a scheduler at tls://."),
        ("--tls-cert", "Own certificate (PEM), for a scheduler at tls://."),
        ("--tls-ca", "Certificate (PEM) of the authority that all of the cluster trust."),
    ):
        command = click.option(name, type=_FILE, metavar="FILE", help=what)(command)
    return command


def scheduler_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--scheduler, and the options of TLS."""
    return click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Have the workers of a Dask scheduler (tcp://HOST:PORT) play the runs, not this machine.",
    )(tls_options(command))


def cluster(
    scheduler: str | None,
    tls_ca: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    workers: int | None = None,
) -> "Cluster | None":
    """The cluster that options name; None where they name none. Raises UserError for what cannot be."""
    from gauntlet.errors import UserError
    from gauntlet.executor.address import Cluster

    if scheduler is None:
        if tls_ca or tls_cert or tls_key:
            raise UserError("--tls-ca, --tls-cert and --tls-key go with --scheduler tls://HOST:PORT.")
        return None
    if workers is not None:
        raise UserError(
            "--workers is for the cores of this machine; with --scheduler as many runs play as the cluster "
            "has workers (`gauntlet worker --workers`)."
        )
    found = Cluster(scheduler, tls_ca, tls_cert, tls_key)
    found.check()
    return found
