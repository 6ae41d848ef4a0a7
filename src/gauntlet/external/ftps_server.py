"""FTP server over TLS (pyftpdlib): insists on TLS on the control and on each data connection."""

from typing import Any

# First, so that pyftpdlib finds it: ftp_server hides it where nobody has imported it.
import OpenSSL

from gauntlet.external import ftp_server
from gauntlet.external.contract import Result, Task, play

# isort: split
from pyftpdlib.handlers import TLS_DTPHandler, TLS_FTPHandler


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
    tls_control_required = tls_data_required = True


def _serve(task: Task, result: Result) -> None:
    del result  # the client sees everything that there is to say

    class Handler(_PatientControl):
        """With the flow's certificate."""

        certfile, keyfile = task.certificate, task.key

    ftp_server.serve(task, Handler)


def main() -> None:
    """The program."""
    play(_serve, f"{ftp_server.SOFTWARE}, pyOpenSSL {OpenSSL.__version__}")


if __name__ == "__main__":
    main()
