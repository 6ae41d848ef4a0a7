"""`gauntlet completion`: what a shell reads to complete commands and options."""

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


def script(command: click.Command, shell: str) -> str:
    """What one of `SHELLS` reads to complete `command`, which the shell knows as `gauntlet`."""
    made = get_completion_class(shell)
    assert made is not None, f"click completes nothing in {shell}"
    return made(command, {}, "gauntlet", "_GAUNTLET_COMPLETE").source()


@click.command(short_help="Print what a shell reads to complete commands.")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script with which SHELL completes Gauntlet's commands and options.

    From wheels it is installed already, where bash and fish look for it; this is for a clone, and for zsh.

    \b
    Example:
      gauntlet completion bash     into ~/.local/share/bash-completion/completions/gauntlet
    """
    click.echo(script(ctx.find_root().command, shell))
