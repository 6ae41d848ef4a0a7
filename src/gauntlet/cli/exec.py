"""`gauntlet exec`: own programs over an emulated link, in virtual time; and what `gauntlet shell` shares."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from gauntlet.cli.beside import awaiting, served
from gauntlet.cli.parameters import pairs
from gauntlet.errors import UserError

LISTENS = Path("/dev/shm/gauntlet-server-listens")
"""In the guest's own memory, which its programs share; each run has a guest of its own."""

Command = Callable[..., Any]


def line_options(*, limit: str) -> Callable[[Command], Command]:
    """The options that say what the line is like, where the program runs and what is on the other side."""
    options = (
        click.option("--scenario", "name", required=True, help="Scenario, or the path of a trace."),
        click.option(
            "-p",
            "--param",
            "params",
            multiple=True,
            metavar="NAME=VALUE",
            help="A parameter of the scenario.",
        ),
        click.option(
            "--side",
            type=click.Choice(["train", "trackside"]),
            default="train",
            help="Where COMMAND runs.",
        ),
        click.option(
            "--server", metavar="COMMAND", help="Shell command that runs on the other side meanwhile."
        ),
        click.option(
            "--start", metavar="TIME", default="0s", show_default=True, help="Begin there in the scenario."
        ),
        click.option(
            "--channel-delay", metavar="TIME", help="One-way delay of the whole channel, such as 50ms."
        ),
        click.option(
            "--loss",
            metavar="SHARE",
            default="0%",
            show_default=True,
            help="Packet loss in both directions.",
        ),
        click.option(
            "--limit",
            metavar="TIME",
            default=limit,
            show_default=True,
            help="Time of the run after which all ends.",
        ),
        click.option("--seed", type=int, default=1, show_default=True, help="Seed of everything random."),
    )

    def with_options(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return with_options


@click.command("exec", short_help="Run own programs over an emulated link.")
@line_options(limit="10min")
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
    and GAUNTLET_SERVER (trackside). COMMAND starts when the server listens, has ended, or after 10 s of the
    line's time. What COMMAND writes below the present folder stays; /tmp is its own and
    in memory.

    \b
    Examples:
      gauntlet exec --scenario hsr --server 'python3 -m http.server 8000' -- \\
          curl -s http://trackside:8000/
      gauntlet exec --scenario constant -p rate=1Mbit/s --channel-delay 150ms \\
          --server 'python3 -m http.server 8000' -- \\
          curl -so /dev/null -w '%{time_total} s\\n' http://trackside:8000/
    """
    from gauntlet.engine import interactive
    from gauntlet.experiment.external import NO_RDRAND

    first = found(command[0])
    run, hosts, own = run_of(
        name, params, start=start, channel_delay=channel_delay, loss=loss, limit=limit, seed=seed
    )
    environment = {**NO_RDRAND, **own}
    if Path(environment.get("TMPDIR", "")).is_relative_to("/tmp"):
        # What lies there on the host the programs do not have.
        environment["TMPDIR"] = "/tmp"
    programs = [program("program", side, [first, *command[1:]], environment, hosts=hosts)]
    if server:
        other = "trackside" if side == "train" else "train"
        shell = found("sh")
        programs[0]["argv"] = awaiting(shell, programs[0]["argv"], LISTENS)
        beside = served(shell, server, LISTENS)
        programs.append(program("server", other, beside, environment, hosts=hosts, wait=False))
    ctx.exit(interactive.run_programs({**run, "programs": programs}, writable=[Path.cwd()], on_output=_show))


def run_of(
    name: str,
    params: tuple[str, ...],
    *,
    start: str,
    channel_delay: str | None,
    loss: str,
    limit: str,
    seed: int,
    plain: bool = False,
) -> tuple[dict[str, Any], dict[str, str], dict[str, str]]:
    """The run of a plan without flows, its hosts by side, and the environment of programs in it. With `plain`
    it rides a plain line, whatever the scenario has. Raises UserError.
    """
    from gauntlet import units
    from gauntlet.experiment import plan_run
    from gauntlet.experiment.expand import empty_run
    from gauntlet.experiment.load import check_condition
    from gauntlet.experiment.networks import NETWORKS

    units.fraction(loss, "--loss")
    for option, text in (("--start", start), ("--limit", limit), ("--channel-delay", channel_delay or "0s")):
        units.time_s(text, option)
    if not 0 <= seed < 2**53:
        raise UserError(f"--seed: {seed} is out of range; give a whole number from 0 to 2^53 - 1.")
    line = {"channel_delay": channel_delay} if channel_delay else {}
    condition = check_condition(
        {
            "scenario": {"name": name, "start": start, **pairs(params)},
            "link": {"loss": loss, **line, **({"network": "wire"} if plain else {})},
            "flow": (),
            "sysctl": {},
        }
    )
    spec = empty_run(condition, Path(), seed=seed, limit_s=units.time_s(limit))
    network = NETWORKS[spec.link.network]
    hosts = {side: network.host(side) for side in ("train", "trackside")}
    environment = {
        **os.environ,
        "GAUNTLET_CLIENT": f"{{address:{hosts['train']}}}",
        "GAUNTLET_SERVER": f"{{address:{hosts['trackside']}}}",
    }
    return dict(plan_run(spec)), hosts, environment


def found(program: str) -> str:
    """The program's path on this machine, whose file tree the guest sees. Raises UserError."""
    path = shutil.which(program)
    if path is None:
        raise UserError(f"There is no program '{program}' on this machine; install it, or give its path.")
    return str(Path(path).absolute())


def program(
    name: str,
    side: str,
    argv: list[str],
    environment: dict[str, str],
    *,
    hosts: dict[str, str],
    wait: bool = True,
) -> dict[str, Any]:
    """A program as a plan has it, on one of the sides of `hosts`."""
    return {
        "id": name,
        "node": hosts[side],
        "argv": argv,
        "working_directory": str(Path.cwd()),
        "environment": environment,
        "start_s": 0.0,
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
