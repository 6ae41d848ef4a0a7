"""`gauntlet scenario`: list, show, plot, export, import and fit links over time."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gauntlet.cli.scenario_fit import fit
from gauntlet.cli.scenario_import import import_
from gauntlet.cli.scenario_options import load, stretch, which
from gauntlet.errors import UserError

if TYPE_CHECKING:
    from gauntlet.scenario import Trace


@click.group(short_help="See what a link is like over time.")
def scenario() -> None:
    """List, show, plot, export, import and fit scenarios: links over time.

    A scenario is named (`gauntlet scenario list`) or is the path of a trace (CSV or Parquet), of a line or of
    a fitted link (TOML).

    \b
    Examples:
      gauntlet scenario list
      gauntlet scenario show hsr -p bandwidth=5MHz
      gauntlet scenario plot hsr line.svg --start 25min --duration 10min
      gauntlet scenario export hsr link.csv
      gauntlet scenario import drive.csv --time t --rate dl_kbps --rtt rtt_ms
      gauntlet scenario fit own-link.csv own-model.toml
    """


scenario.add_command(import_)
scenario.add_command(fit)


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

    from gauntlet.cli.scenario_table import all_parameters

    table = Table("name", "what it is", "parameters (=defaults)", box=None, padding=(0, 2, 0, 0))
    for info in found:
        table.add_row(f"[bold]{info.name}[/]", info.title, all_parameters(info.params))
    console().print(table)


@scenario.command(short_help="Describe one scenario.")
@which
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

    found = summary(load(name, params, seed))
    if json_:
        print_json(found)
        return
    for part in tables(found):
        console().print(part)


@scenario.command(short_help="Draw a scenario.")
@which
@click.argument("picture", type=click.Path(path_type=Path))
@stretch
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
    draw(load(name, params, seed), picture, start_s=start_s, duration_s=duration_s, dark=dark)
    click.echo(str(picture))


@scenario.command(short_help="Write a scenario for other tools.")
@which
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "format_",
    type=click.Choice(["csv", "samples", "mahimahi", "tc"]),
    default="csv",
    show_default=True,
    help="csv: all columns; samples: rates, round trip and losses at regular times, as a drive test logs "
    "them; mahimahi: FILE.up and FILE.down for mm-link; tc: a shell script.",
)
@click.option("--every", metavar="TIME", help="Of samples: the time between two. [1s]")
@click.option("--bearer", help="Which bearer, where there are several.")
@stretch
def export(
    *,
    name: str,
    file: Path,
    params: tuple[str, ...],
    seed: int,
    format_: str,
    every: str | None,
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
      gauntlet scenario export hsr drive.csv --format samples --every 1s --duration 10min
    """
    from gauntlet import units
    from gauntlet.experiment import ScenarioRef, links
    from gauntlet.scenario import export_csv, export_mahimahi, export_samples, export_tc

    if every is not None and format_ != "samples":
        raise UserError(f"--every is of samples; leave it out, or write --format samples for {format_}.")
    found = load(name, params, seed)
    trace = links.bearer(ScenarioRef(name, {}, bearer), found)
    if start or duration:
        start_s = units.time_s(start or "0s", "--start")
        trace = trace.window(
            start_s, units.time_s(duration, "--duration") if duration else found.duration_s - start_s
        )
    writers: dict[str, Callable[[Trace, Path], list[Path]]] = {
        "csv": export_csv,
        "samples": partial(export_samples, every_s=units.time_s(every or "1s", "--every")),
        "mahimahi": export_mahimahi,
        "tc": export_tc,
    }
    for written in writers[format_](trace, file):
        click.echo(str(written))
