"""`gauntlet run`: play an experiment file."""

from pathlib import Path

import click

from gauntlet.cli.cluster import cluster, scheduler_options


@click.command(short_help="Run an experiment and make its report.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--seed", type=int, help="Replace the experiment's seed.")
@click.option("--repetitions", type=int, help="Replace the experiment's number of repetitions.")
@click.option("--until", metavar="SHARE", help="Add repetitions until each judged mean is known to ± SHARE.")
@click.option(
    "--at-most",
    type=int,
    default=200,
    show_default=True,
    help="Repetitions at which --until gives up.",
)
@click.option(
    "--engine",
    type=click.Choice(["virtual", "host"]),
    default="virtual",
    show_default=True,
    help="The ground: virtual time, or this machine's kernel in real time.",
)
@click.option("--workers", type=click.IntRange(min=1), help="Guests side by side (default: one a core).")
@scheduler_options
@click.option("--out", type=click.Path(path_type=Path), help="Results folder (default: results/NAME).")
@click.option("--classes", type=click.Path(path_type=Path), help="Classes of service to advise by (TOML).")
@click.option(
    "--capture", is_flag=True, help="Keep the packets of every run as pcapng, also of those that are there."
)
@click.option("--no-cache", is_flag=True, help="Play every run; neither read nor fill the cache of runs.")
@click.option("--no-rehearsal", is_flag=True, help="Do not try programs of your own before the first run.")
@click.option("--open", "open_", is_flag=True, help="Open the report in the browser.")
@click.option("--quiet", is_flag=True, help="Print only the path of the report.")
@click.option("--json", "json_", is_flag=True, help="Print what came out as JSON.")
@click.pass_context
def run(
    ctx: click.Context,
    *,
    file: Path,
    seed: int | None,
    repetitions: int | None,
    until: str | None,
    at_most: int,
    engine: str,
    workers: int | None,
    scheduler: str | None,
    tls_ca: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    out: Path | None,
    classes: Path | None,
    capture: bool,
    no_cache: bool,
    no_rehearsal: bool,
    open_: bool,
    quiet: bool,
    json_: bool,
) -> None:
    """Run the experiment in FILE (TOML) and make its report.

    The same command continues a campaign that was stopped: what is finished stays, and only what is new is
    played when repetitions are raised or the file is edited. Runs that were played before, for whatever
    experiment, come from the cache (gauntlet cache). The same file and seed give the same tables, byte for
    byte, on any number of workers, here or on other machines (--scheduler, see gauntlet worker). With
    --engine host they are played by this machine's kernel in real time, one at a time in an order drawn from
    the seed: for what computing costs, which virtual time cannot tell.

    Runs go repetition by repetition, so that a campaign that is stopped is a fair comparison already. With
    --until 5% repetitions are added, into the same folder, until half the interval of each mean that flows
    are judged by is 5 % of it or less.

    \b
    Examples:
      gauntlet run experiments/hsr-cbr.toml
      gauntlet run experiments/hsr-cbr.toml --seed 7 --workers 1 --out /tmp/seven
      gauntlet run own.toml --repetitions 2 --quiet
      gauntlet run own.toml --until 5%
      gauntlet run own.toml --scheduler tcp://10.0.0.1:8786
      gauntlet run experiments/constant.toml --engine host
      gauntlet run own.toml --classes classes.toml
    """
    from gauntlet import units
    from gauntlet.cli.play import Wishes, play

    wishes = Wishes(
        seed=seed,
        repetitions=repetitions,
        until=None if until is None else units.fraction(until, "--until"),
        at_most=at_most,
        engine=engine,
        workers=workers,
        cluster=cluster(scheduler, tls_ca, tls_cert, tls_key, workers),
        out=out,
        classes=classes,
        capture=capture,
        cached=not no_cache,
        rehearsal=not no_rehearsal,
        quiet=quiet,
        json=json_,
        open=open_,
    )
    ctx.exit(play(file, wishes))
