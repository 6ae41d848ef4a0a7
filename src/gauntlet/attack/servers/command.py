"""A server of one's own: a command for the shell, with names in braces for what it has to know."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from gauntlet.attack.servers.contract import OFF, Launch, Server, Wanted
from gauntlet.errors import UserError

KEY = "command"

NAMES = ("port", "address", "host", "certificate", "key", "protocol")
"""What is replaced, in braces."""
_IN_BRACES = re.compile(r"(?<![${])\{([A-Za-z_]\w*)\}")
"""A name alone, and not the shell's `${NAME}`, `{a,b}`, `{{NAME}}` of a template, or JSON."""


def named(command: str, wanted: Wanted) -> str:
    """The command with the names replaced, each as one word of the shell."""
    known = {
        "address": str(wanted.address),
        "host": wanted.address.host,
        "port": str(wanted.address.port),
        "certificate": str(wanted.chain.certificate),
        "key": str(wanted.chain.key),
        "protocol": wanted.protocol,
    }
    return _IN_BRACES.sub(lambda it: shlex.quote(known[it[1]]) if it[1] in known else it[0], command)


def server(command: str, protocols: Sequence[str]) -> Server:
    """A server that this command starts, in the folder where one is."""
    here = Path.cwd()

    def launch(wanted: Wanted) -> Launch:
        return Launch(["sh", "-c", named(command, wanted)], tells=False, inside=here)

    def ready() -> None:
        if not command.strip():
            raise UserError("--server: the command is empty; write what starts your server.")
        if unknown := next((it for it in _IN_BRACES.findall(command) if it not in NAMES), None):
            there = ", ".join(f"{{{it}}}" for it in NAMES)
            raise UserError(
                f"--server: {{{unknown}}} stands for nothing; there are {there}, and braces that are the "
                f"command's own have a blank in them, as in '{{ {unknown} }}'."
            )

    return Server(
        key=KEY,
        words=command,
        protocols=tuple(protocols),
        defences={OFF: tuple(protocols)},
        ready=ready,
        version=lambda: "",
        launch=launch,
        tightens=False,
    )
