"""`gauntlet worker`: have this machine play the runs of campaigns elsewhere."""

from pathlib import Path

import click

from gauntlet.cli.cluster import tls_options


@click.command(short_help="Have this machine play runs for campaigns elsewhere.")
@click.argument("scheduler")
@click.option("--workers", type=click.IntRange(min=1), help="Runs side by side (default: one a core).")
@tls_options
def worker(
    *, scheduler: str, workers: int | None, tls_ca: Path | None, tls_cert: Path | None, tls_key: Path | None
) -> None:
    """Play runs for campaigns that were started with --scheduler, until it is stopped (Ctrl-C).

    SCHEDULER is the address of a Dask scheduler (`dask scheduler`), which campaigns and workers both reach.
    Needed are the same version of Gauntlet with its kernel as where campaigns are started, and no folder in
    common. Of a campaign with another engine no run is played; that is said in one sentence.

    \b
    Examples:
      gauntlet worker tcp://10.0.0.1:8786
      gauntlet worker tcp://10.0.0.1:8786 --workers 2
      gauntlet worker tls://10.0.0.1:8786 --tls-ca ca.pem --tls-cert node.pem --tls-key node.key
    """
    from gauntlet.executor.address import Cluster
    from gauntlet.worker import serve

    def ready(count: int) -> None:
        runs = "1 run" if count == 1 else f"{count} runs"
        click.echo(f"Ready: plays {runs} at a time for {scheduler}; Ctrl-C ends it.", err=True)

    asked = serve(Cluster(scheduler, tls_ca, tls_cert, tls_key), workers, ready)
    click.echo("Stopped." if asked else f"Stopped: the scheduler at {scheduler} is gone.", err=True)
