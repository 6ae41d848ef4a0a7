"""`gauntlet scenario`: list, show, plot and export links over time."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gauntlet.cli.parameters import pairs

if TYPE_CHECKING:
    from gauntlet.scenario import Scenario, Trace

Command = TypeVar("Command", bound=Callable[..., Any])


def _which(command: Command) -> Command:
    """The argument and options that say which scenario is meant."""
    command = click.option(
        "--seed", type=int, default=1, show_default=True, help="Seed of its random draws."
    )(command)
    command = click.option(
        "-p", "--param", "params", multiple=True, metavar="NAME=VALUE", help="A parameter; may be repeated."
    )(command)
    return click.argument("name")(command)


def _stretch(command: Command) -> Command:
    """Options that cut a stretch out."""
    command = click.option("--duration", metavar="TIME", help="Length of the stretch, such as 10min.")(
        command
    )
    return click.option("--start", metavar="TIME", help="Begin there, such as 25min.")(command)


def _load(name: str, params: tuple[str, ...], seed: int) -> "Scenario":
    from gauntlet.scenario import load_scenario

    return load_scenario(name, pairs(params), seed)


@click.group(short_help="See what a link is like over time.")
def scenario() -> None:
    """List, show, plot and export scenarios: links over time.

    A scenario is named (`gauntlet scenario list`) or is the path of a trace (CSV or Parquet).

    \b
    Examples:
      gauntlet scenario list
      gauntlet scenario show hsr -p bandwidth=5MHz
      gauntlet scenario plot hsr line.svg --start 25min --duration 10min
      gauntlet scenario export hsr link.csv
    """


@scenario.command("list", short_help="Name all scenarios.")
@click.option("--json", "json_", is_flag=True, help="Print them as JSON.")
def list_(json_: bool) -> None:
    """Name the scenarios that come with Gauntlet, and their parameters.

    \b
    Example:
      gauntlet scenario list
    """
    import dataclasses

    from gauntlet.cli.output import console, print_json
    from gauntlet.scenario import available

    found = available()
    if json_:
        print_json([dataclasses.asdict(info) for info in found])
        return
    from rich.table import Table

    from gauntlet.cli.scenario_table import parameters

    table = Table("name", "what it is", "parameters (defaults)", box=None, padding=(0, 2, 0, 0))
    for info in found:
        table.add_row(f"[bold]{info.name}[/]", info.title, parameters(info.params))
    console().print(table)


@scenario.command(short_help="Describe one scenario.")
@_which
@click.option("--json", "json_", is_flag=True, help="Print it as JSON.")
def show(name: str, params: tuple[str, ...], seed: int, json_: bool) -> None:
    """Describe the scenario NAME: how long, how fast, how late, how lossy.

    \b
    Examples:
      gauntlet scenario show hsr
      gauntlet scenario show hsr -p bandwidth=5MHz -p radio=nr
      gauntlet scenario show own-trace.csv --json
    """
    from gauntlet.cli.output import console, print_json
    from gauntlet.cli.scenario_table import tables
    from gauntlet.scenario import summary

    found = summary(_load(name, params, seed))
    if json_:
        print_json(found)
        return
    for part in tables(found):
        console().print(part)


@scenario.command(short_help="Draw a scenario.")
@_which
@click.argument("picture", type=click.Path(path_type=Path))
@_stretch
@click.option("--dark", is_flag=True, help="For dark backgrounds.")
def plot(
    *,
    name: str,
    picture: Path,
    params: tuple[str, ...],
    seed: int,
    start: str | None,
    duration: str | None,
    dark: bool,
) -> None:
    """Draw the scenario NAME over time into PICTURE (.svg or .png).

    \b
    Examples:
      gauntlet scenario plot hsr line.svg
      gauntlet scenario plot hsr stretch.png --start 25min --duration 10min --dark
    """
    from gauntlet import units
    from gauntlet.figures.scenario import plot as draw

    start_s = units.time_s(start, "--start") if start else None
    duration_s = units.time_s(duration, "--duration") if duration else None
    draw(_load(name, params, seed), picture, start_s=start_s, duration_s=duration_s, dark=dark)
    click.echo(str(picture))


@scenario.command(short_help="Write a scenario for other tools.")
@_which
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "format_",
    type=click.Choice(["csv", "mahimahi", "tc"]),
    default="csv",
    show_default=True,
    help="csv: all columns; mahimahi: FILE.up and FILE.down for mm-link; tc: a shell script.",
)
@click.option("--bearer", help="Which bearer, where there are several.")
@_stretch
def export(
    *,
    name: str,
    file: Path,
    params: tuple[str, ...],
    seed: int,
    format_: str,
    bearer: str | None,
    start: str | None,
    duration: str | None,
) -> None:
    """Write the scenario NAME, or a stretch of it, to FILE.

    \b
    Examples:
      gauntlet scenario export hsr link.csv
      gauntlet scenario export hsr link --format mahimahi --start 25min --duration 10min
      gauntlet scenario export hsr play.sh --format tc --duration 10min
    """
    from gauntlet import units
    from gauntlet.experiment import ScenarioRef, links
    from gauntlet.scenario import export_csv, export_mahimahi, export_tc

    found = _load(name, params, seed)
    trace = links.bearer(ScenarioRef(name, {}, bearer), found)
    if start or duration:
        start_s = units.time_s(start or "0s", "--start")
        trace = trace.window(
            start_s, units.time_s(duration, "--duration") if duration else found.duration_s - start_s
        )
    writers: dict[str, Callable[[Trace, Path], list[Path]]] = {
        "csv": export_csv,
        "mahimahi": export_mahimahi,
        "tc": export_tc,
    }
    for written in writers[format_](trace, file):
        click.echo(str(written))
