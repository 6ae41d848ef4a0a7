"""`gauntlet scenario import`: a link that was measured becomes a trace."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from gauntlet.errors import UserError

if TYPE_CHECKING:
    from gauntlet.scenario.measured.link import Measured

_TABLES = (".csv", ".tsv", ".txt")
_OWN: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "table": ("time", "rate", "rate_up", "rtt", "loss", "loss_up", "gaps"),
        "mahimahi": ("every",),
        "capture": ("every", "terminal", "interface", "loaded"),
    }
)
"""Options that say something about each kind of file; `delay` and `queue` do about all."""
_CALLED = {"table": "a table", "mahimahi": "a Mahimahi trace", "capture": "a capture"}


@click.command("import", short_help="Make a scenario of a measured link.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="The trace; without it FILE-link.csv, here.")
@click.option("--format", "format_", type=click.Choice(list(_OWN)), help="Else told by name and content.")
@click.option("--time", metavar="COLUMN", help="Table: of the time, in numbers (s) or ISO 8601.")
@click.option("--rate", metavar="COLUMN", help="Table: of the rate down, and up where --rate-up is missing.")
@click.option("--rate-up", metavar="COLUMN", help="Table: of the rate up.")
@click.option("--rtt", metavar="COLUMN", help="Table: of the round trip; half of it goes each way.")
@click.option("--loss", metavar="COLUMN", help="Table: of the loss down, and up where --loss-up is missing.")
@click.option("--loss-up", metavar="COLUMN", help="Table: of the loss up.")
@click.option("--gaps", type=click.Choice(["hold", "outage"]), help="Table: what missing samples are. [hold]")
@click.option("--every", metavar="TIME", help="Others: length of the windows whose mean rate is taken. [1s]")
@click.option("--terminal", metavar="ADDRESS", help="Capture: the IP address of the moving end.")
@click.option("--interface", metavar="NAME", help="Capture: which interface, where there are several.")
@click.option(
    "--loaded",
    type=click.Choice(["up", "down", "both"]),
    help="Capture: where there was always something to send. [that with more bytes]",
)
@click.option("--delay", metavar="TIME", help="Of each way, where the file says none.")
@click.option("--queue", metavar="SIZE", help="Buffer in front of the link. [512kB]")
def import_(
    *,
    files: tuple[Path, ...],
    out: Path | None,
    format_: str | None,
    delay: str | None,
    queue: str | None,
    **given: Any,
) -> None:
    """Make a trace, which is a scenario, of a link that was measured.

    FILE is a table of samples (the log of a drive test), one or two Mahimahi traces (up, then down), or a
    capture (pcap, pcapng) of a flow that always had something to send. A column's unit stands in its name
    (dl_kbps, rtt_ms, loss_pct) or behind a colon (dl:kbit/s). A rate of zero is an outage. What was found and
    what was taken for granted is said.

    \b
    Examples:
      gauntlet scenario import drive.csv --time t --rate dl_kbps --rtt rtt_ms
      gauntlet scenario import cell.up cell.down --delay 25ms
      gauntlet scenario import train.pcapng --terminal 10.0.0.2 --delay 25ms --every 500ms
    """
    from gauntlet import units
    from gauntlet.scenario import export_csv
    from gauntlet.scenario.measured.link import Assumed

    for file in files:
        if not file.is_file():
            raise UserError(f"There is no file {file}.")
    kind = format_ or _kind(files)
    _refuse_foreign(kind, given)
    assumed = Assumed(
        delay_s=units.time_s(delay, "--delay") if delay else None,
        queue_limit_bytes=units.size_bytes(queue or "512kB", "--queue"),
    )
    target = out or Path(f"{files[0].stem}-link.csv")
    if target.suffix != ".csv":
        raise UserError(f"--out: {target} is no name of a trace; it must end in .csv.")
    if any(target.resolve() == file.resolve() for file in files):
        raise UserError(f"--out: {target} is the file itself; choose another name.")
    measured = _read(kind, files, given, assumed)
    export_csv(measured.trace, target)
    for note in measured.notes:
        click.echo(note, err=True)
    click.echo(str(target))


def _kind(files: tuple[Path, ...]) -> str:
    from gauntlet.scenario.measured import packets

    if packets.is_capture(files[0]):
        return "capture"
    return "table" if files[0].suffix.lower() in _TABLES and len(files) == 1 else "mahimahi"


def _refuse_foreign(kind: str, given: Mapping[str, Any]) -> None:
    """Options that mean nothing to this kind of file."""
    from gauntlet.scenario.measured.capture import ONE_SIDE

    if kind == "capture" and (given["loss"] or given["loss_up"]):
        raise UserError(f"--loss: {ONE_SIDE}")
    for name, value in given.items():
        if value is not None and name not in _OWN[kind]:
            raise UserError(f"--{name.replace('_', '-')} says nothing about {_CALLED[kind]}; leave it out.")


def _read(kind: str, files: tuple[Path, ...], given: Mapping[str, Any], assumed: Any) -> "Measured":
    from gauntlet import units
    from gauntlet.scenario.measured import capture, drive_test, mahimahi

    if len(files) > (2 if kind == "mahimahi" else 1):
        most = "two files, up and down" if kind == "mahimahi" else "one file"
        raise UserError(f"{len(files)} files were given, but {_CALLED[kind]} is {most}.")
    every_s = units.time_s(given["every"] or "1s", "--every")
    match kind:
        case "table":
            for name in ("time", "rate"):
                if given[name] is None:
                    raise UserError(
                        f"{files[0]} is a table: say which column is the {name}, such as --{name} "
                        f"{'t' if name == 'time' else 'dl_kbps'}."
                    )
            columns = drive_test.Columns(
                **{name: given[name] for name in ("time", "rate", "rate_up", "rtt", "loss", "loss_up")}
            )
            return drive_test.read(files[0], columns, assumed, given["gaps"] or "hold")
        case "mahimahi":
            return mahimahi.read(files[0], files[-1], every_s, assumed)
    return capture.read(
        files[0],
        terminal=given["terminal"],
        interface=given["interface"],
        loaded=given["loaded"],
        every_s=every_s,
        assumed=assumed,
    )
