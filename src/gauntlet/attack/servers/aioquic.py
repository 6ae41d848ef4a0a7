"""aioquic, where it is installed: HTTP/3, with QUIC and TLS in Python (`aioquic_program`).

It computes some times as much for a handshake and for a packet as the other servers, so that many packets are
a flood to it by themselves: that it breaks tells nothing of its library's bounds.
"""

import importlib.metadata
import importlib.util
import sys

from gauntlet.attack.kinds import H3
from gauntlet.attack.servers.contract import OFF, RETRY, Launch, Server, Wanted
from gauntlet.errors import UserError

_DEFENCES = {OFF: (), RETRY: ("--retry",)}


def _ready() -> None:
    if importlib.util.find_spec("aioquic") is None:
        raise UserError('aioquic is not installed; type `pip install "gauntlet-net[quic]"`.')


def _launch(wanted: Wanted) -> Launch:
    return Launch(
        [
            sys.executable, "-P", "-m", "gauntlet.attack.servers.aioquic_program",
            "--listen", str(wanted.address),
            "--certificate", str(wanted.chain.certificate),
            "--key", str(wanted.chain.key),
            *_DEFENCES[wanted.defence],
        ],
        tells=False,
    )  # fmt: skip


AIOQUIC = Server(
    key="aioquic",
    words="aioquic",
    protocols=(H3,),
    defences={OFF: (H3,), RETRY: (H3,)},
    ready=_ready,
    version=lambda: importlib.metadata.version("aioquic"),
    launch=_launch,
    tightens=False,
)
