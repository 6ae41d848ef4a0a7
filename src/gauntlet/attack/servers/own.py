"""Gauntlet's own server (crate `web`): HTTP/1.1 and 2 by hyper, HTTP/3 by quinn, TLS by one rustls."""

from gauntlet.attack.kinds import PROTOCOLS
from gauntlet.attack.programs import SERVER, program, weak_server
from gauntlet.attack.servers.contract import LIMIT, OFF, RETRY, TIGHT_S, Launch, Server, Wanted
from gauntlet.engine.hashes import sha256_of_file

IN_FLIGHT = 64
"""Handshakes at a time, where they are limited."""

_DEFENCES = {OFF: (), RETRY: ("--retry", "always"), LIMIT: ("--handshakes-in-flight", str(IN_FLIGHT))}

_TIGHT = tuple(
    word
    for name in ("handshake", "header", "body", "idle")
    for word in (f"--{name}-timeout-ms", str(TIGHT_S * 1000))
)


def _launch(wanted: Wanted) -> Launch:
    weak = [word for name in wanted.weakness.split("+") if name for word in ("--weakness", name)]
    return Launch(
        [
            str(weak_server() if weak else program(SERVER)),
            "--protocol", wanted.protocol,
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


def _ready() -> None:
    program(SERVER)


OWN = Server(
    key="own",
    words="Gauntlet's own",
    protocols=tuple(PROTOCOLS),
    defences={OFF: tuple(PROTOCOLS), RETRY: ("h3",), LIMIT: tuple(PROTOCOLS)},
    ready=_ready,
    version=lambda: sha256_of_file(program(SERVER))[:16],
    launch=_launch,
)
