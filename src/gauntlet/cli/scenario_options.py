"""What the commands of `gauntlet scenario` share: which scenario is meant, and a stretch of it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gauntlet.cli.parameters import pairs

if TYPE_CHECKING:
    from gauntlet.scenario import Scenario

Command = TypeVar("Command", bound=Callable[..., Any])


def which(command: Command) -> Command:
    """The argument and options that say which scenario is meant."""
    command = click.option(
        "--seed", type=int, default=1, show_default=True, help="Seed of its random draws."
    )(command)
    command = click.option(
        "-p", "--param", "params", multiple=True, metavar="NAME=VALUE", help="A parameter; may be repeated."
    )(command)
    return click.argument("name")(command)


def stretch(command: Command) -> Command:
    """Options that cut a stretch out."""
    command = click.option("--duration", metavar="TIME", help="Length of the stretch, such as 10min.")(
        command
    )
    return click.option("--start", metavar="TIME", help="Begin there, such as 25min.")(command)


def load(name: str, params: tuple[str, ...], seed: int) -> "Scenario":
    """The scenario that is meant. Raises `UserError`."""
    from gauntlet.scenario import load_scenario

    return load_scenario(name, pairs(params), seed)
