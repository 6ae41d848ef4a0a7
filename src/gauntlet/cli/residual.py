"""`gauntlet residual`: how likely a code takes a changed message for right."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from decimal import Decimal


@click.command(short_help="Say how likely a CRC, checksum or MAC misses an error.")
@click.argument("codes", nargs=-1)
@click.option(
    "--length", "lengths", multiple=True, help="Of the message with its code (default: 64B and 1024B)."
)
@click.option(
    "--ber", "rates", multiple=True, help="A bit error probability (default: 1e-6, 1e-4, 1e-2 and 0.5)."
)
@click.option("--seed", default=1, show_default=True, help="Of checksums, which are drawn by chance.")
@click.option(
    "--plot", type=click.Path(path_type=Path), help="Draw it against the bit error probability (.svg, .png)."
)
@click.option("--json", "json_", is_flag=True, help="Print it as JSON.")
def residual(
    *,
    codes: tuple[str, ...],
    lengths: tuple[str, ...],
    rates: tuple[str, ...],
    seed: int,
    plot: Path | None,
    json_: bool,
) -> None:
    """Say with which probability an error stays undetected by CODES.

    Bits are flipped each for itself. CRCs are exact, by the weights of the dual code; checksums that add are
    drawn (random data, 95 % intervals); a MAC of t bits is 2^-t. Beside it stands the limit of OPC UA
    Safety's argument: 4e-10 of the wrong messages, at any length and bit error probability. Without CODES,
    list those that are known. A 32-bit CRC at another length than 16, 32, 64, 128, 256, 512, 1024 and 1518 B
    takes minutes.

    \b
    Examples:
      gauntlet residual                                  which codes there are
      gauntlet residual crc-32c crc-32 --length 1518B
      gauntlet residual internet adler-32 --length 128B --ber 1e-4
      gauntlet residual crc-16-ccitt crc-32c mac-64 --length 1024B --plot codes.svg
    """
    from gauntlet import units
    from gauntlet.cli.output import console, print_json
    from gauntlet.residual import answers, figure, stored, terminal
    from gauntlet.residual.codes import CODES, Crc, code

    if not codes:
        if json_:
            print_json(
                [
                    {"code": it.key, "label": it.label, "bits": it.bits, "used": it.used}
                    for it in CODES.values()
                ]
            )
            return
        console().print(terminal.codes())
        return
    asked = [code(it) for it in codes]
    octets = [int(units.size_bytes(it, "--length")) for it in lengths or ("64B", "1024B")]
    probabilities = [_probability(it) for it in rates or ("1e-6", "1e-4", "1e-2", "0.5")]
    for it in asked:
        for length in octets:
            answers.check(it, length, probabilities)
    slow = [
        it for it in asked if isinstance(it, Crc) and not all(stored.is_kept(it, 8 * each) for each in octets)
    ]
    if slow:
        click.echo(f"{slow[0].label} is counted for a length that is not kept; this takes minutes.", err=True)
    if plot is not None:
        found = figure.lines(asked, octets, seed)
        figure.write(found, plot)
    else:
        found = [answers.answer(it, length, probabilities, seed) for it in asked for length in octets]
    if json_:
        print_json([it.to_json() for it in found])
    elif plot is not None:
        click.echo(str(plot))
    else:
        console().print(terminal.answers(found))


def _probability(given: str) -> "Decimal":
    from decimal import Decimal, InvalidOperation

    from gauntlet.errors import UserError

    try:
        found = Decimal(given)
    except InvalidOperation:
        found = Decimal("nan")
    if not found.is_finite():
        raise UserError(f"--ber {given}: not a number; give a bit error probability such as 1e-6.")
    return found
