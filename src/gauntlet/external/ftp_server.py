"""FTP server (pyftpdlib): offers the files of a flow, anonymously, until its client has gone.

`ftps_server.py` is the same over TLS.
"""

import sys

# pyftpdlib does without these where they are not there, and their imports cost a guest more than the rest of
# this program. OpenSSL stays where it has been imported: by ftps_server.
for name in ("OpenSSL", "multiprocessing", "curses", "crypt", "bz2", "lzma"):
    sys.modules.setdefault(name, None)  # type: ignore[arg-type]

import logging  # noqa: E402
import os  # noqa: E402
import signal  # noqa: E402
import socket  # noqa: E402

import pyftpdlib  # noqa: E402
from pyftpdlib.authorizers import DummyAuthorizer  # noqa: E402
from pyftpdlib.handlers import FTPHandler  # noqa: E402
from pyftpdlib.servers import FTPServer  # noqa: E402

from gauntlet.external.contract import Result, Task, payload, play, ready  # noqa: E402
from gauntlet.external.tcp import choose_congestion_control  # noqa: E402

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SOFTWARE = f"pyftpdlib {pyftpdlib.__ver__}"


def serve(task: Task, base: "Any" = FTPHandler) -> None:
    """Serve until the client has quit or the process is asked to end; `base` handles its connection."""
    folder = os.path.join(task.scratch, "files")
    os.mkdir(folder)
    for entry in task.objects:
        with open(os.path.join(folder, entry.name), "wb") as file:
            file.write(payload(task.seed, entry.name, entry.size_bytes))
    handler = _handler(task, base)
    handler.authorizer = DummyAuthorizer()
    handler.authorizer.add_anonymous(folder)
    logging.basicConfig(level=logging.ERROR)
    server = FTPServer((task.server_address, task.port), handler)
    # pyftpdlib takes SystemExit for the wish to end (`serve_forever`).
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    ready()
    server.serve_forever()


def _handler(task: Task, base: "Any") -> "type[Any]":
    """The handler's class, whose attributes are pyftpdlib's way of configuring it."""
    congestion_control = task.parameter("congestion_control")
    with socket.socket() as probe:
        # Here it is told as unsupported; in a call-back pyftpdlib would take it for a defect.
        choose_congestion_control(probe, congestion_control)

    class Passive(base.passive_dtp):  # type: ignore[misc]
        """Waits for data connections, which take the congestion control from the socket that accepts them."""

        def __init__(self, *args: "Any", **options: "Any") -> None:
            super().__init__(*args, **options)
            choose_congestion_control(self.socket, congestion_control)

    class Handler(base):  # type: ignore[misc]
        """One control connection; the server ends with it."""

        passive_dtp = Passive
        # A client that takes its time over a slow link is not hung up on: the run's limit is the only one.
        timeout = None

        def on_connect(self) -> None:
            choose_congestion_control(self.socket, congestion_control)

        def on_disconnect(self) -> None:
            self.ioloop.call_later(0, self.ioloop.close)

    return Handler


def _serve(task: Task, result: Result) -> None:
    del result  # the client sees everything that there is to say
    serve(task)


def main() -> None:
    """The program."""
    play(_serve, SOFTWARE)


if __name__ == "__main__":
    main()
