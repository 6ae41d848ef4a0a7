"""FTP client over TLS (ftplib, RFC 4217): AUTH TLS on the control, PROT P on each data connection."""

import ftplib
import ssl
from typing import Any

from gauntlet.external import ftp_client
from gauntlet.external.contract import Result, Task, now_ns, play


class _Client(ftp_client.Client, ftplib.FTP_TLS):
    """`ftplib.FTP_TLS.ntransfercmd` secures data connections."""

    def login(self, *args: Any, **options: Any) -> str:
        """Secure the control connection, say who it is, ask for secured data."""
        self.auth()
        self.secured_ns = now_ns()
        answer = super().login(*args, **options)
        self.prot_p()
        return answer

    def sentence(self, error: BaseException) -> str:
        """What went wrong, for people."""
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"the server's certificate was refused: {error.verify_message}"
        if isinstance(error, ssl.SSLError):
            return f"TLS failed: {error.reason or error}"
        return super().sentence(error)


def _fetch_all(task: Task, result: Result) -> None:
    context = ssl.create_default_context(cafile=task.ca)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    if task.keylog:
        context.keylog_filename = task.keylog
    ftp_client.fetch_all(_Client(context=context, timeout=task.time_left_s), task, result)


def main() -> None:
    """The program."""
    play(_fetch_all, f"{ftp_client.SOFTWARE}, {ssl.OPENSSL_VERSION}")


if __name__ == "__main__":
    main()
