"""`gauntlet exec`: own programs over an emulated link, in virtual time."""

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import click

from gauntlet.cli.parameters import pairs
from gauntlet.errors import UserError

SERVER_LEAD_S = 1.0
"""Virtual seconds that the server has to begin listening before the program starts."""


@click.command("exec", short_help="Run own programs over an emulated link.")
@click.option("--scenario", "name", required=True, help="Scenario, or the path of a trace.")
@click.option(
    "-p", "--param", "params", multiple=True, metavar="NAME=VALUE", help="A parameter of the scenario."
)
@click.option(
    "--side", type=click.Choice(["train", "trackside"]), default="train", help="Where COMMAND runs."
)
@click.option("--server", metavar="COMMAND", help="Shell command that runs on the other side meanwhile.")
@click.option("--start", metavar="TIME", default="0s", show_default=True, help="Begin there in the scenario.")
@click.option("--channel-delay", metavar="TIME", help="One-way delay of the whole channel, such as 50ms.")
@click.option(
    "--loss", metavar="SHARE", default="0%", show_default=True, help="Packet loss in both directions."
)
@click.option(
    "--limit", metavar="TIME", default="10min", show_default=True, help="Virtual time after which all ends."
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of everything random.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def exec_(
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
    """Run COMMAND on one side of an emulated link, in virtual time, and end with its exit code.

    Both sides find each other by the names train and trackside; the addresses are in GAUNTLET_CLIENT (train)
    and GAUNTLET_SERVER (trackside). What COMMAND writes below the present folder stays; /tmp is its own and
    in memory.

    \b
    Examples:
      gauntlet exec --scenario hsr --server 'python3 -m http.server 8000' -- \\
          curl -s http://trackside:8000/
      gauntlet exec --scenario constant -p rate=1Mbit/s --channel-delay 150ms \\
          --server 'python3 -m http.server 8000' -- \\
          curl -so /dev/null -w '%{time_total} s\\n' http://trackside:8000/
    """
    from gauntlet import units
    from gauntlet.experiment import plan_run
    from gauntlet.experiment.expand import empty_run
    from gauntlet.experiment.load import check_condition
    from gauntlet.experiment.networks import NETWORKS

    program = _found(command[0])
    units.fraction(loss, "--loss")
    for option, text in (("--start", start), ("--limit", limit), ("--channel-delay", channel_delay or "0s")):
        units.time_s(text, option)
    condition = check_condition(
        {
            "scenario": {"name": name, "start": start, **pairs(params)},
            "link": {"loss": loss} | ({"channel_delay": channel_delay} if channel_delay else {}),
            "flow": (),
            "sysctl": {},
        }
    )
    spec = empty_run(condition, Path(), seed=_seed(seed), limit_s=units.time_s(limit))
    network = NETWORKS[spec.link.network]
    other = "trackside" if side == "train" else "train"
    lead_s = SERVER_LEAD_S if server else 0.0
    hosts = {place: network.host(place) for place in ("train", "trackside")}
    environment = {
        **os.environ,
        "GAUNTLET_CLIENT": f"{{address:{hosts['train']}}}",
        "GAUNTLET_SERVER": f"{{address:{hosts['trackside']}}}",
    }
    if Path(environment.get("TMPDIR", "")).is_relative_to("/tmp"):
        # What lies there on the host the programs do not have.
        environment["TMPDIR"] = "/tmp"
    programs = [_program("program", side, [program, *command[1:]], environment, hosts=hosts, start_s=lead_s)]
    if server:
        shell = [_found("sh"), "-c", server]
        programs.append(_program("server", other, shell, environment, hosts=hosts, wait=False))
    run = {**plan_run(spec), "programs": programs}
    from gauntlet.engine import interactive

    ctx.exit(interactive.run_programs(run, writable=[Path.cwd()], on_output=_show))


def _found(program: str) -> str:
    """The program's path on this machine, whose file tree the guest sees."""
    path = shutil.which(program)
    if path is None:
        raise UserError(f"There is no program '{program}' on this machine; install it, or give its path.")
    return str(Path(path).absolute())


def _seed(seed: int) -> int:
    if not 0 <= seed < 2**53:
        raise UserError(f"--seed: {seed} is out of range; give a whole number from 0 to 2^53 - 1.")
    return seed


def _program(
    name: str,
    side: str,
    argv: list[str],
    environment: dict[str, str],
    *,
    hosts: dict[str, str],
    start_s: float = 0.0,
    wait: bool = True,
) -> dict[str, Any]:
    return {
        "id": name,
        "node": hosts[side],
        "argv": argv,
        "working_directory": str(Path.cwd()),
        "environment": environment,
        "start_s": start_s,
        "wait": wait,
        "private_tmp": True,
        "names": hosts,
    }


def _show(program: str, stream: str, text: str) -> None:
    """Pass on what a program prints; the server's lines are marked, and go to stderr."""
    if program == "server":
        sys.stderr.write("".join(f"server: {line}\n" for line in text.splitlines()))
        return
    target = sys.stdout if stream == "stdout" else sys.stderr
    target.write(text)
    target.flush()
