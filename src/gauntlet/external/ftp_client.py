"""FTP client (ftplib): fetches the files of a flow in passive mode, in sequence, over one control connection.

`ftps_client.py` is the same over TLS.
"""

import sys

# ftplib does without TLS where there is no ssl module, whose import costs a guest more than the rest of this
# program. It stays where it has been imported: by ftps_client.
sys.modules.setdefault("ssl", None)  # type: ignore[arg-type]

import ftplib  # noqa: E402
import socket  # noqa: E402

from gauntlet.external.contract import (  # noqa: E402
    OK,
    Content,
    Exchange,
    Failed,
    Object,
    Result,
    Task,
    now_ns,
    play,
)
from gauntlet.external.tcp import choose_congestion_control  # noqa: E402

BLOCK_BYTES = 8192
"""What one call reads at most: ftplib's own default."""
STEP_BYTES = 65_536
"""How often the bytes that have arrived are noted; each time costs a guest a system call."""
SOFTWARE = f"ftplib of Python {sys.version.split()[0]}"


class Client(ftplib.FTP):
    """ftplib's client, with the congestion control of the flow on its data connections."""

    congestion_control: str | None = None
    connected_ns: int | None = None
    """When the control connection was there: before the server's greeting, for which `connect` waits too."""
    secured_ns: int | None = None

    def getresp(self) -> str:
        """A response of the server."""
        self.connected_ns = self.connected_ns or now_ns()
        return super().getresp()

    def ntransfercmd(self, cmd: str, rest: int | str | None = None) -> tuple[socket.socket, int | None]:
        """A data connection."""
        conn, size = super().ntransfercmd(cmd, rest)
        choose_congestion_control(conn, self.congestion_control)
        return conn, size

    def sentence(self, error: BaseException) -> str:
        """What went wrong, for people."""
        if isinstance(error, ConnectionRefusedError):
            return "the server refused the connection"
        if isinstance(error, EOFError | ConnectionError):
            return "the server closed the connection"
        if isinstance(error, TimeoutError):
            return "the server said nothing until the limit of the run"
        return f"the server answered: {error}" if isinstance(error, ftplib.Error) else str(error)


class _Arriving:
    """Takes the blocks of a file and notes when they came."""

    def __init__(self, content: Content, entry: Object, exchange: Exchange, result: Result) -> None:
        self._entry, self._exchange, self._result = entry, exchange, result
        self.content = content
        self._noted_bytes = 0

    def take(self, block: bytes) -> None:
        """The next block, not empty."""
        first = not self.content.count_bytes
        self.content.take(block)
        last = self.content.count_bytes == self._entry.size_bytes
        if not (first or last or self.content.count_bytes - self._noted_bytes >= STEP_BYTES):
            return
        instant_ns = self.note()
        if first:
            self._exchange.first_byte_ns = instant_ns
        if last:
            self._exchange.completed_ns = instant_ns

    def note(self) -> int:
        """Note what is here by now; returns the instant."""
        instant_ns = now_ns()
        self._result.add_received(instant_ns, self.content.count_bytes - self._noted_bytes)
        self._noted_bytes = self.content.count_bytes
        return instant_ns


def fetch_all(client: Client, task: Task, result: Result) -> None:
    """The whole session. Raises Failed when a file does not arrive whole."""
    client.congestion_control = task.parameter("congestion_control")
    wanted = task.objects
    try:
        first = _log_in(client, task, result)
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
        raise Failed(client.sentence(error)) from None
    finally:
        client.close()


def _log_in(client: Client, task: Task, result: Result) -> Exchange:
    """Open the control connection; returns the beginning of the first exchange."""
    exchange = Exchange("")
    result.started_ns = exchange.requested_ns = now_ns()
    client.connect(task.server_address, task.port)
    result.transport_established_ns = exchange.connected_ns = client.connected_ns
    if client.sock is not None:
        choose_congestion_control(client.sock, client.congestion_control)
    client.login()
    exchange.secured_ns = client.secured_ns
    result.established_ns = now_ns()
    return exchange


def _fetch(client: Client, task: Task, result: Result, entry: Object, exchange: Exchange) -> None:
    content = Content(task.seed, entry.name)
    arriving = _Arriving(content, entry, exchange, result)
    try:
        client.retrbinary(f"RETR {entry.name}", arriving.take, BLOCK_BYTES)
    except (OSError, EOFError, ftplib.Error) as error:
        if content.count_bytes >= entry.size_bytes:
            raise
        arriving.note()
        so_far = f"after {content.count_bytes} of {entry.size_bytes} bytes of {entry.name}"
        raise Failed(f"{client.sentence(error)}, {so_far}") from None
    content.check(entry.size_bytes)
    exchange.outcome = OK


def main() -> None:
    """The program."""
    play(lambda task, result: fetch_all(Client(timeout=task.time_left_s), task, result), SOFTWARE)


if __name__ == "__main__":
    main()
