"""`gauntlet kernel`: build the virtual-time kernel, or say where it is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console


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
    from gauntlet.cli.output import console
    from gauntlet.engine import kernel as images

    with _told(console(stderr=True), quiet=quiet) as tell:
        path = images.build(source, tell)
    click.echo(str(path))


@contextmanager
def _told(screen: "Console", *, quiet: bool) -> Iterator[Callable[[str, float], None]]:
    """A bar on a terminal; in a log, a line for each step and each tenth of the work."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    if quiet:
        yield lambda _step, _done: None
    elif screen.is_terminal:
        columns = (TextColumn("kernel: {task.description}"), BarColumn(), TimeRemainingColumn())
        with Progress(*columns, console=screen) as bar:
            task = bar.add_task("start", total=1.0)
            yield lambda step, done: bar.update(task, description=step, completed=done)
    else:
        said: set[tuple[str, int]] = set()

        def line(step: str, done: float) -> None:
            tenth = int(done * 10)
            if (step, tenth) not in said:
                said.add((step, tenth))
                click.echo(f"kernel: {step}, {tenth * 10} %", err=True)

        yield line


@kernel.command(short_help="Print where the kernel is.")
def path() -> None:
    """Print the path of the kernel that guests boot; exit code 1 when there is none yet.

    \b
    Example:
      gauntlet kernel path
    """
    from gauntlet.engine import kernel as images

    click.echo(str(images.image()))
