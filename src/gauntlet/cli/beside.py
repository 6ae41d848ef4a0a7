"""What `gauntlet exec` and `shell` start on the other side, and how COMMAND waits until it listens."""

from collections.abc import Sequence
from pathlib import Path

_SERVE = r"""listening() {
    cat /proc/net/tcp /proc/net/tcp6 /proc/net/udp /proc/net/udp6 /proc/net/sctp/eps 2>/dev/null |
    grep -c -e '^ *[0-9]*: .* 0A ' -e '^ *[0-9]*: .* 07 ' -e '^ *[0-9a-f]* *[0-9a-f]* *[0-9]* *10 '; }
before=$(listening)
( while kill -0 $$ 2>/dev/null && [ "$(listening)" -le "$before" ]; do sleep 0.1; done; : > "$0" ) &
exec sh -c "$1"
"""
"""The server, and beside it a watch on its own network: the file appears when a socket listens there, or
when the server has ended. States of sockets as in Linux' include/net/tcp_states.h: 0A listens, 07 is UDP
without a peer; endpoints of SCTP have them in decimals (net/sctp/proc.c).
"""
_AWAIT = 'n=0; while [ ! -e "$0" ] && [ $n -lt 100 ]; do sleep 0.1; n=$((n + 1)); done; exec "$@"'
"""COMMAND once the file is there, or after ten seconds, for what is beside need not listen at all."""


def served(shell: str, server: str, listens: Path) -> list[str]:
    """The arguments of a shell that runs `server` and makes the file `listens` when it does."""
    return [shell, "-c", _SERVE, str(listens), server]


def awaiting(shell: str, command: Sequence[str], listens: Path) -> list[str]:
    """The arguments of a shell that becomes `command` when that file is there."""
    return [shell, "-c", _AWAIT, str(listens), *command]
