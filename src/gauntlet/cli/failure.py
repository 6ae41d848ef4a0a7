"""How a command fails: one plain sentence on stderr and an exit code; with --debug the stack trace too."""

import errno
import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

import click

from gauntlet.errors import GauntletError

EXIT_FAILED = 1
EXIT_INTERRUPTED = 130
"""128 and the number of SIGINT, as shells have it; after SIGTERM too."""


def report_failures(command: Callable[[], Any], *, debug: bool) -> NoReturn:
    """Run a command and end the process with its exit code; `debug` shows stack traces."""
    # Whoever ends a campaign politely is told how to continue, as with Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(_code(command()))
    except Exception as error:
        if debug:
            traceback.print_exc()
        if isinstance(error, BrokenPipeError):
            # The reader of our output has gone (`gauntlet ... | head`): nobody is left to tell anything.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        else:
            click.echo(_sentence(error), err=True)
        sys.exit(_exit_code(error))
    except KeyboardInterrupt:
        click.echo("Stopped.", err=True)
        sys.exit(EXIT_INTERRUPTED)


def _code(result: Any) -> int:
    """Click hands back what `Context.exit` was given, or what the command returned."""
    return result if isinstance(result, int) else 0


def _exit_code(error: Exception) -> int:
    if isinstance(error, click.Abort):
        return EXIT_INTERRUPTED
    if isinstance(error, GauntletError | click.ClickException):
        return error.exit_code
    return EXIT_FAILED


def _sentence(error: Exception) -> str:
    match error:
        case GauntletError():
            return str(error)
        case click.UsageError():
            return _usage(error)
        case click.ClickException():
            return error.format_message()
        case click.Abort():
            return "Stopped."
        case OSError():
            return _system(error)
    return f"Internal error ({type(error).__name__}: {error}); `gauntlet --debug ...` shows where."


def _usage(error: click.UsageError) -> str:
    """Click's sentence, choices on the same line, with the command that explains its options."""
    sentence = " ".join(error.format_message().split()).rstrip(".")
    command = error.ctx.command_path if error.ctx else "gauntlet"
    return f"{sentence} (see `{command} --help`)."


def _system(error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        where = f" at {error.filename}" if error.filename else ""
        return f"The disk is full{where}; free some space and type the same command again: it continues."
    return f"The system refused: {error.strerror or error}{f' ({error.filename})' if error.filename else ''}."
