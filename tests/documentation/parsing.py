"""Commands as click reads them, without running them."""

from collections.abc import Iterator, Sequence

import click

from gauntlet.cli import main


def walked(command: click.Command = main, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Every command of the program with what one types to get there."""
    yield " ".join(("gauntlet", *path)), command
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from walked(below, (*path, name))


def command_of(words: Sequence[str]) -> tuple[click.Command, list[str]]:
    """The command that words after `gauntlet` name, and the words left; AssertionError when there is none."""
    command: click.Command = main
    rest = list(words)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        assert rest[0] in command.commands, f"there is no command '{rest[0]}'"
        command = command.commands[rest.pop(0)]
    return command, rest


def parse(words: Sequence[str]) -> click.Context:
    """Read a whole command line after `gauntlet`; raises click.UsageError or AssertionError."""
    command, rest = command_of(words)
    return command.make_context("gauntlet", rest, parent=click.Context(main))


def check_options(words: Sequence[str]) -> None:
    """Whether the command and its options exist; arguments may be left out. Raises AssertionError."""
    command, rest = command_of(words)
    own = rest[: rest.index("--")] if "--" in rest else rest
    known = {
        option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)
    }
    for word in own:
        if word.startswith("--"):
            assert word.partition("=")[0] in {*known, "--help"}, f"there is no option {word}"
