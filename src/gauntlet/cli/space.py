"""`gauntlet space`: questions about links through space. Commands of the group are added here."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from gauntlet.cli.output import console, print_json
from gauntlet.cli.space_bench import bench
from gauntlet.cli.space_vectors import vectors

if TYPE_CHECKING:
    from gauntlet.space.breaking import Breaking, Trial


@click.group(short_help="Ask what links through space do to transports and their security.")
def space() -> None:
    """Ask what links through space do to transports and their security.

    \b
    Examples:
      gauntlet space link quic-quinn-cubic     at which delay its defaults break, and what mends it
      gauntlet space bench --quick             what the security of a command link costs here
      gauntlet space vectors check             whether both implementations of link security agree
    """


space.add_command(bench)
space.add_command(vectors)


@space.command(short_help="Find the delay or loss at which a transport's defaults break.")
@click.argument("protocols", nargs=-1, required=True)
@click.option("--vary", type=click.Choice(("delay", "loss")), default="delay", show_default=True)
@click.option("--least", default="10ms", show_default=True, help="The shortest delay, one way.")
@click.option("--most", default="1h", show_default=True, help="The longest delay, one way.")
@click.option("--delay", default="250ms", show_default=True, help="With --vary loss: the delay, one way.")
@click.option("--loss", default="0%", show_default=True, help="With --vary delay: the share that is lost.")
@click.option("--size", default="100kB", show_default=True, help="The file that is sent.")
@click.option("--rate", default="1Mbit/s", show_default=True, help="The link's rate, both ways.")
@click.option(
    "--repetitions", type=click.IntRange(1, 20), help="Runs of each trial (default: 1; 3 with losses)."
)
@click.option("--json", "as_json", is_flag=True, help="Write the answer and every trial as JSON.")
def link(
    *,
    protocols: tuple[str, ...],
    vary: str,
    least: str,
    most: str,
    delay: str,
    loss: str,
    size: str,
    rate: str,
    repetitions: int | None,
    as_json: bool,
) -> None:
    """Send a file over a link that gets longer, or worse, until it no longer arrives: by bisection.

    Where it just fails, each parameter that may be at fault is changed alone; the answer names those that
    mend it, with the least value that does. Each trial is a run with the real stack in virtual time.

    \b
    Examples:
      gauntlet space link quic-quinn-cubic
      gauntlet space link quic-quinn-cubic sdls-cop1 --most 1d --json
      gauntlet space link sdls-cop1 --vary loss --delay 250ms
    """
    from gauntlet import units
    from gauntlet.engine.virtual import Virtual
    from gauntlet.experiment.protocols import protocol
    from gauntlet.space import breaking

    lost = units.fraction(loss)
    found = []
    for name in protocols:
        transfer = breaking.Transfer(
            protocol=protocol(name).key,
            size_bytes=units.size_bytes(size),
            rate_bps=units.rate_bps(rate),
            repetitions=repetitions or (3 if vary == "loss" or lost else 1),
        )
        trials = breaking.Trials(
            Virtual.installed(), transfer, lambda trial: None if as_json else _tell(trial)
        )
        if vary == "loss":
            found.append(breaking.by_loss(trials, transfer, delay_s=units.time_s(delay)))
        else:
            found.append(
                breaking.by_delay(
                    trials, transfer, least_s=units.time_s(least), most_s=units.time_s(most), loss=lost
                )
            )
    if as_json:
        print_json([asdict(one) for one in found])
    else:
        _show(found)


def _tell(trial: "Trial") -> None:
    """One trial as a line on stderr."""
    from gauntlet.units import format_fraction, format_time

    options = " ".join(f"{key}={value}" for key, value in trial.options.items())
    end = f"done after {format_time(trial.took_s)}" if trial.took_s is not None else trial.reason
    click.echo(
        f"  {format_time(trial.delay_s)} one way, {format_fraction(trial.loss)} lost {options}: {end}",
        err=True,
    )


def _show(found: "list[Breaking]") -> None:
    from rich.table import Table

    from gauntlet.units import format_fraction, format_time

    table = Table("protocol", "varied", "completes at", "fails at", "why", "what mends it there")
    for one in found:
        shown = format_time if one.varied == "delay" else format_fraction
        mends = "; or ".join(f"{mend.key} = {mend.value} ({mend.meaning})" for mend in one.mends)
        if one.together:
            mends = "only together: " + ", ".join(f"{key} = {value}" for key, value in one.together.items())
        if not mends and one.breaks is not None:
            mends = "none of the parameters tried"
        table.add_row(
            one.protocol,
            one.varied,
            "nothing tried" if one.holds is None else shown(one.holds),
            "nothing tried" if one.breaks is None else shown(one.breaks),
            one.reason,
            mends,
        )
    console().print(table)
