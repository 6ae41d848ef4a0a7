"""Gauntlet's own server (crate `web`): HTTP/1.1 and 2 by hyper, HTTP/3 by quinn or s2n-quic, TLS by one
rustls.
"""

import subprocess
from collections.abc import Callable

from gauntlet.attack.kinds import H3, PROTOCOLS
from gauntlet.attack.programs import SERVER, check, older, program, weak_server
from gauntlet.attack.servers.contract import LIMIT, OFF, RETRY, TIGHT_S, Launch, Server, Wanted
from gauntlet.engine.hashes import sha256_of_file
from gauntlet.errors import UserError

IN_FLIGHT = 64
"""Handshakes at a time, where they are limited."""

_DEFENCES = {OFF: (), RETRY: ("--retry", "always"), LIMIT: ("--handshakes-in-flight", str(IN_FLIGHT))}

_TIGHT = tuple(
    word
    for name in ("handshake", "header", "body", "idle")
    for word in (f"--{name}-timeout-ms", str(TIGHT_S * 1000))
)


_LIBRARY = "--quic-library"

WEAKNESSES = (
    "no-handshake-timeout",
    "no-header-timeout",
    "no-idle-timeout",
    "no-body-timeout",
    "unbounded-bodies",
    "unbounded-handshakes",
    "unbounded-connections",
    "unbounded-incoming",
    "unbounded-resets",
    "unbounded-headers",
    "unbounded-control",
    "unbounded-sending",
    "unbounded-crypto",
    "repeats-datagrams",
)
"""Bounds that the server can be made to lack, by the names of the crate `web` (`weakness.rs`)."""


def _launch_with(*words: str) -> Callable[[Wanted], Launch]:
    """What starts it with these words besides."""

    def launch(wanted: Wanted) -> Launch:
        weak = [word for name in wanted.weakness.split("+") if name for word in ("--weakness", name)]
        return Launch(
            [
                str(weak_server() if weak else program(SERVER)),
                "--protocol", wanted.protocol,
                *words,
                "--listen", str(wanted.address),
                "--certificate", str(wanted.chain.certificate),
                "--key", str(wanted.chain.key),
                *_DEFENCES[wanted.defence],
                *weak,
                *(_TIGHT if wanted.tight else ()),
                *wanted.more,
            ],
            tells=True,
        )  # fmt: skip

    return launch


def _ready() -> None:
    check(SERVER)


def _ready_with_library() -> None:
    check(SERVER)
    told = subprocess.run([str(program(SERVER)), "--help"], capture_output=True, text=True, check=False)
    if _LIBRARY not in told.stdout:
        raise UserError(older(SERVER, _LIBRARY))


def _version() -> str:
    return sha256_of_file(program(SERVER))[:16]


OWN = Server(
    key="own",
    words="Gauntlet's own",
    protocols=tuple(PROTOCOLS),
    defences={OFF: tuple(PROTOCOLS), RETRY: (H3,), LIMIT: tuple(PROTOCOLS)},
    ready=_ready,
    version=_version,
    launch=_launch_with(),
)

S2N_QUIC = Server(
    key="s2n-quic",
    words="Gauntlet's own over s2n-quic",
    protocols=(H3,),
    defences={OFF: (H3,), RETRY: (H3,), LIMIT: (H3,)},
    ready=_ready_with_library,
    version=_version,
    launch=_launch_with(_LIBRARY, "s2n-quic"),
)
"""The same server, which differs in its QUIC library alone."""
