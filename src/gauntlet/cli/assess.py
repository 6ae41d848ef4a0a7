"""`gauntlet assess`: EN 50159's threats and defences, protocol by protocol."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gauntlet.defences.data import Defences, Protocol
    from gauntlet.studies.tried import Cell, Cells


@click.command(short_help="Say which threats of EN 50159 a protocol meets, by which defences.")
@click.argument("protocols", nargs=-1)
@click.option(
    "--all", "all_", is_flag=True, help="All protocols as a table, and where D3.5 says something else."
)
@click.option(
    "--trials", "trials_", is_flag=True, help="Print what the trials of each threat came to, line by line."
)
@click.option("--json", "json_", is_flag=True, help="Print every cell with its source as JSON.")
def assess(*, protocols: tuple[str, ...], all_: bool, trials_: bool, json_: bool) -> None:
    """Say which of EN 50159's seven threats PROTOCOLS meet and which of its defences they have.

    By specification, each cell with its source, beside AB4Rail D3.5's Tables 4, 5, 7 and 8, in short, and
    beside the trials of the study en50159, where its summary is at hand: in how many nobody noticed.
    What no trial was played of says "not tried". --trials has instead of all this what the trials came to:
    verdicts, who told, after what time and whether in time. No safety integrity level is claimed.

    \b
    PROTOCOLS (mtls, mutual: with certificates at both ends):
      udp, tcp, tcp-tls, tcp-mtls, sctp, sctp-tls, quic, quic-0rtt, quic-mutual,
      dtls, dtls-mutual, restp, restp-no-crc, restp-protected, rasta, rasta-tls

    \b
    Examples:
      gauntlet assess tcp-tls
      gauntlet assess udp quic rasta
      gauntlet assess --all
      gauntlet assess rasta --trials
      gauntlet assess --all --json
    """
    from gauntlet.cli.output import console, print_json
    from gauntlet.defences import data, terminal
    from gauntlet.errors import UserError
    from gauntlet.studies import tried, tried_table

    known = data.default()
    if not protocols and not all_:
        there = ", ".join(it.id for it in known.protocols)
        raise UserError(f"Name a protocol, or --all of them; there are {there}.")
    asked = list(known.protocols) if all_ else [known.protocol(it) for it in protocols]
    played = tried.cells(known)
    if json_:
        print_json(_as_data(known, asked, played, whole=all_))
        return
    screen = console()
    if trials_:
        screen.print(tried_table.whole(known, asked, played))
        return
    if all_:
        screen.print(terminal.everything(known, tried_table.in_short(known, asked, played)))
        return
    for place, protocol in enumerate(asked):
        screen.print(terminal.one(known, protocol, tried_table.in_short(known, [protocol], played)))
        if place < len(asked) - 1:
            screen.print()


def _as_data(known: "Defences", asked: "list[Protocol]", played: "Cells", *, whole: bool) -> dict[str, Any]:
    from gauntlet.defences import compare
    from gauntlet.experiment.threats import NONE
    from gauntlet.studies.tried import tried

    trials = tried(played)
    cells = [
        it
        for protocol in asked
        for it in (*compare.threats(known, protocol, trials), *compare.defences(known, protocol))
    ]
    told: dict[str, Any] = {
        "sil_claimed": False,
        "table_4": {it.id: {"defences": it.defences, "line": it.line} for it in known.threats},
        "cells": [
            {
                **asdict(it),
                "protocol": it.protocol.id,
                "trials": _trials(played.get((it.protocol.id, it.row), ())) if it.table == 7 else [],
            }
            for it in cells
        ],
        "controls": {protocol.id: _trials(played.get((protocol.id, NONE), ())) for protocol in asked},
    }
    if whole:
        told["table_8"] = [
            {
                "hazard": it.hazard.name,
                "intent": it.hazard.intent,
                "threat": it.threat,
                "lines": it.hazard.lines,
                "judged": it.judged,
                "ticked": it.ticked,
                "holds": it.holds,
            }
            for it in compare.robustness(known)
        ]
    return told


def _trials(those: "Sequence[Cell]") -> list[dict[str, Any]]:
    """The trials of a cell: each experiment and act, with the freshness check and without."""
    return [
        {
            **asdict(it),
            "trials": it.trials,
            "unnoticed": it.unnoticed,
            "most_unnoticed": it.most_unnoticed,
            "accepted_before": it.accepted_before,
        }
        for it in those
    ]
