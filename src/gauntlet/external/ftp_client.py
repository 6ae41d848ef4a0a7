"""FTP client (ftplib): fetches the files of a flow in passive mode, in sequence, over one control connection.

With `ftps` as application the control connection is secured by AUTH TLS and each data connection by PROT P
(RFC 4217). `python -m gauntlet.external.ftp_client`
"""

import ftplib
import platform
import socket
import ssl
from collections.abc import Callable

from gauntlet.external.contract import (
    OK,
    Exchange,
    Failed,
    Object,
    Result,
    Task,
    check_intact,
    now_ns,
    play,
)
from gauntlet.external.tcp import choose_congestion_control

BLOCK_BYTES = 8192
"""What one call reads at most: ftplib's own default."""


class _Choosing(ftplib.FTP):
    """ftplib's client, with the congestion control of the flow on its data connections."""

    congestion_control: str | None = None
    connected_ns: int | None = None
    """When the control connection was there: before the server's greeting, for which `connect` waits too."""

    def getresp(self) -> str:
        self.connected_ns = self.connected_ns or now_ns()
        return super().getresp()

    def ntransfercmd(self, cmd: str, rest: int | str | None = None) -> tuple[socket.socket, int | None]:
        conn, size = super().ntransfercmd(cmd, rest)
        choose_congestion_control(conn, self.congestion_control)
        return conn, size


class _ChoosingTls(_Choosing, ftplib.FTP_TLS):
    """The same over TLS: `ftplib.FTP_TLS.ntransfercmd` secures the connection."""


def fetch_all(task: Task, result: Result) -> None:
    """The whole session. Raises Failed when a file does not arrive whole."""
    secure = task.app == "ftps"
    client = _client(task, secure)
    wanted = task.objects
    try:
        first = _log_in(client, task, result, secure)
        for number, entry in enumerate(wanted):
            exchange = first if number == 0 else Exchange(entry.name)
            exchange.object, exchange.size_bytes = entry.name, entry.size_bytes
            exchange.requested_ns = exchange.requested_ns or now_ns()
            result.exchanges.append(exchange)
            try:
                _fetch(client, task, result, entry, exchange)
            except Failed as error:
                exchange.outcome = str(error)
                raise
        client.quit()
        result.finished_ns = now_ns()
    except Failed:
        raise
    except (OSError, EOFError, ftplib.Error) as error:
        raise Failed(sentence(error)) from None
    finally:
        client.close()


def _client(task: Task, secure: bool) -> _Choosing:
    if not secure:
        client = _Choosing(timeout=task.time_left_s)
    else:
        context = ssl.create_default_context(cafile=str(task.ca))
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        if task.keylog:
            context.keylog_filename = str(task.keylog)
        client = _ChoosingTls(context=context, timeout=task.time_left_s)
    client.congestion_control = task.parameter("congestion_control")
    return client


def _log_in(client: _Choosing, task: Task, result: Result, secure: bool) -> Exchange:
    """Open the control connection; returns the beginning of the first exchange."""
    exchange = Exchange("")
    result.started_ns = exchange.requested_ns = now_ns()
    client.connect(task.server_address, task.port)
    result.transport_established_ns = exchange.connected_ns = client.connected_ns
    if client.sock is not None:
        choose_congestion_control(client.sock, client.congestion_control)
    if isinstance(client, ftplib.FTP_TLS):
        client.auth()
        exchange.secured_ns = now_ns()
    client.login()
    if isinstance(client, ftplib.FTP_TLS):
        client.prot_p()
    client.voidcmd("TYPE I")
    result.established_ns = now_ns()
    return exchange


def _fetch(client: _Choosing, task: Task, result: Result, entry: Object, exchange: Exchange) -> None:
    blocks: list[bytes] = []
    take = _taker(blocks, result, exchange, entry)
    try:
        client.retrbinary(f"RETR {entry.name}", take, BLOCK_BYTES)
    except (OSError, EOFError, ftplib.Error) as error:
        count = sum(map(len, blocks))
        if count < entry.size_bytes:
            sofar = f"after {count} of {entry.size_bytes} bytes of {entry.name}"
            raise Failed(f"{sentence(error)}, {sofar}") from None
        raise
    check_intact(b"".join(blocks), task.seed, entry.name, entry.size_bytes)
    exchange.outcome = OK


def _taker(blocks: list[bytes], result: Result, exchange: Exchange, entry: Object) -> Callable[[bytes], None]:
    missing = entry.size_bytes

    def take(block: bytes) -> None:
        nonlocal missing
        blocks.append(block)
        instant_ns = now_ns()
        result.add_received(instant_ns, len(block))
        exchange.first_byte_ns = exchange.first_byte_ns or instant_ns
        missing -= len(block)
        if missing <= 0:
            exchange.completed_ns = exchange.completed_ns or instant_ns

    return take


def sentence(error: BaseException) -> str:
    """What went wrong, for people."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the server's certificate was refused: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {error.reason or error}"
    if isinstance(error, ConnectionRefusedError):
        return "the server refused the connection"
    if isinstance(error, EOFError | ConnectionError):
        return "the server closed the connection"
    if isinstance(error, TimeoutError):
        return "the server said nothing until the limit of the run"
    return f"the server answered: {error}" if isinstance(error, ftplib.Error) else str(error)


if __name__ == "__main__":
    play(fetch_all, f"ftplib of Python {platform.python_version()}, {ssl.OPENSSL_VERSION}")
