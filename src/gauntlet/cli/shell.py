"""`gauntlet shell`: a shell behind an emulated link, on this machine and in real time."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from gauntlet.cli.beside import awaiting, served
from gauntlet.cli.exec import found, line_options, program, run_of

LIMIT = "24h"


@click.command(short_help="Open a shell behind an emulated link, in real time.")
@line_options(limit=LIMIT)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def shell(
    ctx: click.Context,
    *,
    name: str,
    params: tuple[str, ...],
    side: str,
    server: str | None,
    start: str,
    channel_delay: str | None,
    loss: str,
    limit: str,
    seed: int,
    command: tuple[str, ...],
) -> None:
    """Open a shell, or COMMAND, on one side of an emulated link, on this machine's kernel and in real time.

    The other side is called trackside (or train): start a server there with --server; the shell
    opens when it listens, has ended, or after 10 s. Nothing of the network around is to be seen. Needs
    what `gauntlet doctor` says of the host ground.

    \b
    Examples:
      gauntlet shell --scenario hsr --server 'python3 -m http.server 8000'
      gauntlet shell --scenario constant -p rate=1Mbit/s --channel-delay 150ms -- ping -c 3 trackside
    """
    import json
    import tempfile

    from gauntlet.engine import host
    from gauntlet.engine.contract import Place
    from gauntlet.engine.on_terminal import terminal
    from gauntlet.errors import RunError
    from gauntlet.experiment.sysctls import STOCK_SYSCTLS

    run, hosts, environment = run_of(
        name, params, start=start, channel_delay=channel_delay, loss=loss, limit=limit, seed=seed, plain=True
    )
    if not sys.stdin.isatty():
        # What is typed comes from a pipe: nobody sees what a shell would do to a screen.
        environment["TERM"] = "dumb"
    first, *rest = command or (os.environ.get("SHELL") or "sh",)
    here = program("program", side, [found(first), *rest], environment, hosts=hosts)
    programs = [here]
    if server:
        other = "trackside" if side == "train" else "train"
        beside = program("server", other, [found("sh")], environment, hosts=hosts, wait=False)
        programs.insert(0, beside)
    for it in programs:
        # What is written on this machine stays there.
        it["private_tmp"] = False
    said: list[str] = []

    def listen(event: Mapping[str, Any]) -> None:
        if event["event"] == "output":
            said.append(f"{event['program']}: {event['text'].rstrip()}")

    ground = host.Host.installed(STOCK_SYSCTLS)
    with tempfile.TemporaryDirectory(prefix="gauntlet-shell-") as folder:
        if server:
            listens = Path(folder) / "listens"
            beside["argv"] = served(found("sh"), server, listens)
            here["argv"] = awaiting(found("sh"), here["argv"], listens)
        with terminal() as place:
            here["terminal"] = str(place)
            planned = {**run, "programs": programs}
            out = ground.play(planned, Path(folder), place=Place(), on_event=listen)
        record = json.loads((out / "record.json").read_text())
    # Beside what is typed it would be in the way.
    for line in said:
        click.echo(line, err=True)
    if record["outcome"] != "ok":
        raise RunError(record["reason"])
    told = next(it for it in record["programs"] if it["id"] == "program")
    if told["exit_code"] is None:
        raise RunError(f"{told['reason']}.")
    ctx.exit(int(told["exit_code"]))
