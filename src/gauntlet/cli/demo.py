"""`gauntlet demo`: the main job on the Rome-Florence line, small."""

from pathlib import Path

import click


@click.command(short_help="Compare five protocols on the Rome-Florence line.")
@click.option("--workers", type=click.IntRange(min=1), help="Guests side by side (default: one a core).")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("demo-results"),
    show_default=True,
    help="Results folder.",
)
@click.option("--no-cache", is_flag=True, help="Play every run; neither read nor fill the cache of runs.")
@click.option("--open", "open_", is_flag=True, help="Open the report in the browser.")
@click.pass_context
def demo(ctx: click.Context, workers: int | None, out: Path, no_cache: bool, open_: bool) -> None:
    """Compare TCP CUBIC, TCP BBR, TCP Reno, SCTP and UDP on the Rome-Florence high-speed line.

    Channel delays of 25 and 150 ms one way, packet loss of 0 and 1 %. Ends with the path of the report.

    \b
    Examples:
      gauntlet demo
      gauntlet demo --open
    """
    from importlib.resources import as_file, files

    from gauntlet.cli.play import Wishes, play

    with as_file(files("gauntlet.experiment") / "examples" / "demo.toml") as file:
        ctx.exit(play(file, Wishes(workers=workers, out=out, cached=not no_cache, open=open_)))
