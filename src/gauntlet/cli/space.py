"""`gauntlet space`: questions about links through space. Commands of the group are added here."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from gauntlet.cli.output import print_json
from gauntlet.cli.space_bench import bench
from gauntlet.cli.space_vectors import vectors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
@click.option("--least", help="With --vary delay: the shortest, one way (default: 10ms).")
@click.option("--most", help="With --vary delay: the longest, one way (default: 1h).")
@click.option("--delay", help="With --vary loss: the delay, one way (default: 250ms).")
@click.option("--loss", help="With --vary delay: the share that is lost (default: 0%).")
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
    least: str | None,
    most: str | None,
    delay: str | None,
    loss: str | None,
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
      gauntlet space link sdls-cop1 --vary loss --delay 1.28s     at which loss, on the way to the Moon
    """
    from gauntlet import units
    from gauntlet.engine.virtual import Virtual
    from gauntlet.experiment.protocols import protocol
    from gauntlet.space import breaking

    _refuse_unread(vary, {"least": least, "most": most, "delay": delay, "loss": loss})
    for name in protocols:
        _refuse_lossy(name)
    lost = units.fraction(loss or "0%")
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
            found.append(breaking.by_loss(trials, transfer, delay_s=units.time_s(delay or "250ms")))
        else:
            found.append(
                breaking.by_delay(
                    trials,
                    transfer,
                    least_s=units.time_s(least or "10ms"),
                    most_s=units.time_s(most or "1h"),
                    loss=lost,
                )
            )
    if as_json:
        print_json([asdict(one) for one in found])
    else:
        _show(found)


_READ = {"delay": ("least", "most", "loss"), "loss": ("delay",)}
"""The options that say of the link what is not varied, or how far it is."""


def _refuse_unread(vary: str, given: "Mapping[str, str | None]") -> None:
    """Raise UserError for an option that has no effect with what is varied."""
    from gauntlet.errors import UserError

    for name, value in given.items():
        if value is not None and name not in _READ[vary]:
            other = next(key for key, names in _READ.items() if name in names)
            raise UserError(
                f"--{name} has no effect with --vary {vary}; leave it out, or give --vary {other}."
            )


def _refuse_lossy(name: str) -> None:
    """Raise UserError for a transport that leaves out what is lost, which no file survives."""
    from gauntlet.errors import UserError
    from gauntlet.experiment.protocols import protocol

    if not protocol(name).reliable:
        raise UserError(
            f"{name} does not deliver everything, so no file can be sent with it; `gauntlet run` with the "
            "workload `cbr` shows what it loses."
        )


def _tell(trial: "Trial") -> None:
    """One trial as a line on stderr."""
    options = "".join(f", {key} = {value}" for key, value in trial.options.items())
    end = f"done after {_delay(trial.took_s)}" if trial.took_s is not None else trial.reason
    click.echo(
        f"  {_delay(trial.delay_s)} one way, {_loss(trial.loss)} lost{options}: {end}",
        err=True,
    )


def _delay(seconds: float) -> str:
    """As people read it; --json has every digit."""
    from gauntlet.units import format_time

    for unit, scale_s in (("d", 86_400), ("h", 3_600)):
        if seconds >= 2 * scale_s:
            return f"{float(f'{seconds / scale_s:.4g}'):g}{unit}"
    return format_time(float(f"{seconds:.4g}"))


def _loss(share: float) -> str:
    """As people read it; bisection goes by whole per cents."""
    from gauntlet.units import format_fraction

    return format_fraction(share)


def _show(found: "list[Breaking]") -> None:
    """A block of lines for each transport: a table would be cut where a terminal is narrow."""
    for number, one in enumerate(found):
        if number:
            click.echo()
        click.echo(f"{one.protocol}, {one.varied} varied")
        for head, words in (*_lines(one), *_by_chance(one)):
            click.echo(f"  {head:<14} {words}")


def _by_chance(one: "Breaking") -> "Iterator[tuple[str, str]]":
    """How sure what was found with random losses is."""
    if not one.by_chance:
        return
    runs = "one run" if one.runs == 1 else f"{one.runs} runs"
    mends = ", and what mends it," if one.mends or one.together else ""
    yield (
        "mind",
        f"each trial is {runs} with random losses, all of which have to complete; where it fails{mends} "
        "may be chance (--repetitions, at most 20)",
    )


def _lines(one: "Breaking") -> "Iterator[tuple[str, str]]":
    shown = _delay if one.varied == "delay" else _loss
    yield "completes at", "nothing that was tried" if one.holds is None else shown(one.holds)
    if one.breaks is None:
        yield "fails at", "nothing that was tried"
        return
    yield "fails at", shown(one.breaks)
    yield "why", one.reason
    if one.holds is None:
        return
    head = "what mends it"
    for mend in one.mends:
        yield head, f"{mend.key} = {mend.value} ({mend.meaning})"
        head = "or"
    if one.together:
        keys = ", ".join(f"{key} = {value}" for key, value in one.together.items())
        yield head, f"only together: {keys}"
    elif not one.mends and one.tried:
        yield head, f"none of {', '.join(one.tried)}"
    elif not one.mends:
        yield head, "no parameter of this transport is known to bear on it"
