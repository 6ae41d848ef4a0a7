"""A server of one's own: a command for the shell, with names in braces for what it has to know."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from gauntlet.attack.servers.contract import OFF, Launch, Server, Wanted
from gauntlet.errors import UserError


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
    for name, value in known.items():
        command = command.replace(f"{{{name}}}", shlex.quote(value))
    return command


def server(command: str, protocols: Sequence[str]) -> Server:
    """A server that this command starts, in the folder where one is."""
    here = Path.cwd()

    def launch(wanted: Wanted) -> Launch:
        return Launch(["sh", "-c", named(command, wanted)], tells=False, inside=here)

    def ready() -> None:
        if not command.strip():
            raise UserError("--server: the command is empty; write what starts your server.")

    return Server(
        key="command",
        words=command,
        protocols=tuple(protocols),
        defences={OFF: tuple(protocols)},
        ready=ready,
        version=lambda: "",
        launch=launch,
        tightens=False,
    )
