"""FTP server (pyftpdlib): offers the files of a flow, anonymously, until its client has gone.

With `ftps` as application it insists on TLS on both connections. `python -m gauntlet.external.ftp_server`
"""

import logging
import signal
import socket
import sys
from typing import Any

import pyftpdlib
from pyftpdlib.authorizers import DummyAuthorizer
from pyftpdlib.handlers import FTPHandler, TLS_DTPHandler, TLS_FTPHandler
from pyftpdlib.servers import FTPServer

from gauntlet.external.contract import Result, Task, payload, play, ready
from gauntlet.external.tcp import choose_congestion_control


def serve(task: Task, result: Result) -> None:
    """Serve until the client has quit or the process is asked to end."""
    del result  # the client sees everything that there is to say
    folder = task.scratch / "files"
    folder.mkdir()
    for entry in task.objects:
        (folder / entry.name).write_bytes(payload(task.seed, entry.name, entry.size_bytes))
    authorizer = DummyAuthorizer()
    authorizer.add_anonymous(str(folder))
    logging.basicConfig(level=logging.ERROR)
    server = FTPServer((task.server_address, task.port), _handler(task, authorizer))
    # pyftpdlib takes SystemExit for the wish to end (`serve_forever`).
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    ready()
    server.serve_forever()


class _Patient:
    """While TLS waits for its peer, waits for reading alone.

    pyftpdlib 2.2 also asks to be woken when it can write, which is always: it would look in vain again and
    again for a round trip, and in virtual time each look costs time that does not pass.
    """

    _ssl_want_read: bool
    ioloop: Any

    def modify_ioloop_events(self, events: int, logdebug: bool = False) -> None:
        waits = getattr(self, "_ssl_want_read", False)
        wanted = self.ioloop.READ if waits else events
        super().modify_ioloop_events(wanted, logdebug)  # type: ignore[misc]


class _PatientData(_Patient, TLS_DTPHandler):  # type: ignore[misc]
    """A data connection over TLS."""


class _PatientControl(_Patient, TLS_FTPHandler):  # type: ignore[misc]
    """A control connection over TLS."""

    dtp_handler = _PatientData


def _handler(task: Task, authorizer: DummyAuthorizer) -> type[FTPHandler]:
    """The handler's class, whose attributes are pyftpdlib's way of configuring it."""
    congestion_control = task.parameter("congestion_control")
    with socket.socket() as probe:
        # Here it is told as unsupported; in a call-back pyftpdlib would take it for a defect.
        choose_congestion_control(probe, congestion_control)
    secure = task.app == "ftps"
    base: Any = _PatientControl if secure else FTPHandler

    class Passive(base.passive_dtp):  # type: ignore[misc]
        """Waits for data connections, which take the congestion control from the socket that accepts them."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            choose_congestion_control(self.socket, congestion_control)

    class Handler(base):  # type: ignore[misc]
        """One control connection; the server ends with it."""

        passive_dtp = Passive

        def on_connect(self) -> None:
            choose_congestion_control(self.socket, congestion_control)

        def on_disconnect(self) -> None:
            self.ioloop.call_later(0, self.ioloop.close)

    Handler.authorizer = authorizer
    # A client that takes its time over a slow link is not to be hung up on: the run's limit is the only one.
    Handler.timeout = None
    if secure:
        Handler.certfile, Handler.keyfile = str(task.certificate), str(task.key)
        Handler.tls_control_required = Handler.tls_data_required = True
    handler: type[FTPHandler] = Handler
    return handler


if __name__ == "__main__":
    play(serve, f"pyftpdlib {pyftpdlib.__ver__}")
