"""`gauntlet space vectors`: test vectors of link security, held against both implementations."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def _which(command: Command) -> Command:
    """The argument and the option that say which vectors are meant."""
    command = click.option("--json", "as_json", is_flag=True, help="Write the answer as JSON.")(command)
    command = click.option("--only", default="", metavar="TEXT", help="Those whose name has it in it.")(
        command
    )
    return click.argument("files", nargs=-1, type=click.Path(path_type=Path))(command)


@click.group(short_help="List, check and export test vectors of link security.")
def vectors() -> None:
    """List, check and export test vectors of CCSDS link security (SDLS), positive and negative.

    They are of the files named, or of the working copy (crates/sdls/vectors, whose README has the format).

    \b
    Examples:
      gauntlet space vectors list --only gcm
      gauntlet space vectors check
      gauntlet space vectors export --to vectors
    """


@vectors.command("list", short_help="Say what there is.")
@_which
def list_(files: tuple[Path, ...], only: str, as_json: bool) -> None:
    """Say what each vector is about, where it is from, and what it has refused.

    \b
    Examples:
      gauntlet space vectors list
      gauntlet space vectors list --only cryptolib --json
    """
    from gauntlet.cli.output import console, print_json
    from gauntlet.space.vectors import read

    found = [vector.described for vector in read(files, only)]
    if as_json:
        print_json(found)
        return
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("name", no_wrap=True, min_width=max(len(one["name"]) for one in found))
    for heading in ("link", "what it is about", "refused"):
        table.add_column(heading)
    for one in found:
        table.add_row(one["name"], one["protocol"].upper(), one["about"], ", ".join(one["refused"]))
    console().print(table)


@vectors.command(short_help="Play them with both implementations.")
@_which
def check(files: tuple[Path, ...], only: str, as_json: bool) -> None:
    """Play vectors with the crate sdls and with the implementation in Python; exit status 1 if one differs.

    The first call compiles the crate: about a minute, with cargo, in a clone of the repository. Without it
    only Python plays, and the answer says so.

    \b
    Examples:
      gauntlet space vectors check
      gauntlet space vectors check --only otar
    """
    from dataclasses import asdict

    from gauntlet.cli.output import print_json
    from gauntlet.space.vectors import check, read

    verdicts = check(read(files, only), lambda sentence: click.echo(sentence, err=True))
    if as_json:
        print_json([asdict(verdict) for verdict in verdicts])
    for verdict in [] if as_json else verdicts:
        for difference in verdict.differences:
            click.echo(f"{verdict.implementation}: {difference}")
        if verdict.not_played:
            click.echo(f"{verdict.implementation}: not played: {verdict.not_played}")
        else:
            told = f"{verdict.played} vectors, {len(verdict.differences)} differences"
            click.echo(f"{verdict.implementation}: {told}")
    if any(verdict.differences for verdict in verdicts) or not any(verdict.played for verdict in verdicts):
        raise SystemExit(1)


@vectors.command(short_help="Write each into a file of its own.")
@_which
@click.option(
    "--to", type=click.Path(path_type=Path), required=True, help="A folder, which must not be there."
)
def export(files: tuple[Path, ...], only: str, as_json: bool, to: Path) -> None:
    """Write each vector into a file of its own, for another implementation's tests.

    \b
    Examples:
      gauntlet space vectors export --to vectors
      gauntlet space vectors export --only cmac --to cmac
    """
    from gauntlet.cli.output import print_json
    from gauntlet.space.vectors import export, read

    written = export(read(files, only), to)
    if as_json:
        print_json([str(file) for file in written])
    else:
        click.echo(f"{len(written)} vectors: {to}")
