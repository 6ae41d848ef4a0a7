"""`gauntlet kernel`: build the virtual-time kernel, or say where it is."""

from pathlib import Path

import click


@click.group(short_help="Build or find the virtual-time kernel.")
def kernel() -> None:
    """Build or find the virtual-time kernel that guests boot.

    \b
    Examples:
      gauntlet kernel build
      gauntlet kernel build --source ~/linux-6.12.tar.xz
      gauntlet kernel path
    """


@kernel.command(short_help="Build the kernel once.")
@click.option(
    "--source",
    type=click.Path(path_type=Path),
    help="Tarball or source folder of Linux 6.6 or newer (default: the newest in /usr/src).",
)
@click.option("--quiet", is_flag=True, help="Print only the path of the kernel.")
def build(source: Path | None, quiet: bool) -> None:
    """Build the kernel from source, unless the cache has it: about five minutes on two cores.

    \b
    Examples:
      gauntlet kernel build
      gauntlet kernel build --source ~/linux-6.12.tar.xz
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from gauntlet.cli.output import console
    from gauntlet.engine import kernel as images

    columns = (TextColumn("kernel: {task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), disable=quiet) as bar:
        task = bar.add_task("start", total=1.0)
        path = images.build(source, lambda step, done: bar.update(task, description=step, completed=done))
    click.echo(str(path))


@kernel.command(short_help="Print where the kernel is.")
def path() -> None:
    """Print the path of the kernel that guests boot; exit code 1 when there is none yet.

    \b
    Example:
      gauntlet kernel path
    """
    from gauntlet.engine import kernel as images

    click.echo(str(images.image()))
