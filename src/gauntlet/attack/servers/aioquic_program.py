"""A web server over HTTP/3 by aioquic, which `gauntlet.attack.servers.aioquic` starts.

It answers every request by its path, as the other servers of the laboratory do, and listens on loopback and
nowhere else.

`python -m gauntlet.attack.servers.aioquic_program`
"""

import asyncio
import signal
import sys
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from pathlib import Path
from typing import Any

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import serve
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import H3Event, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated, QuicEvent

from gauntlet.attack.kinds import LONG_BYTES
from gauntlet.attack.loopback import address
from gauntlet.attack.servers.contract import PAGE_BYTES
from gauntlet.errors import UserError

IDLE_TIMEOUT_S = 10.0
"""After so long without a packet a connection ends, its handshake too; the library has no other time-out."""

_ANSWERS = {b"/": b"." * PAGE_BYTES, **{f"/bytes/{it}".encode(): b"." * it for it in LONG_BYTES}}


class Connection(QuicConnectionProtocol):
    """One connection of a client, and its requests."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.http: H3Connection | None = None
        """From when the protocol is agreed on."""

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self._quic)
        if self.http is None:
            return
        for found in self.http.handle_event(event):
            self._answer(self.http, found)

    def _answer(self, http: H3Connection, event: H3Event) -> None:
        if not isinstance(event, HeadersReceived):
            return
        path = dict(event.headers).get(b":path")
        if path is None:  # Fields behind a body, which is not waited for.
            return
        content = _ANSWERS.get(path)
        status = b"404" if content is None else b"200"
        content = content or b""
        head = [(b":status", status), (b"content-length", str(len(content)).encode())]
        # The library refuses what is sent on a stream whose answer the client has declined meanwhile.
        with suppress(RuntimeError, ValueError):
            http.send_headers(event.stream_id, head)
            http.send_data(event.stream_id, content, end_stream=True)


def configuration(certificate: Path, key: Path) -> QuicConfiguration:
    """What every connection begins with."""
    made = QuicConfiguration(alpn_protocols=H3_ALPN, is_client=False, idle_timeout=IDLE_TIMEOUT_S)
    made.load_cert_chain(certificate, key)
    return made


async def _serve(asked: Namespace) -> None:
    over = asyncio.Event()
    for ending in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(ending, over.set)
    server = await serve(
        asked.listen.host,
        asked.listen.port,
        configuration=configuration(asked.certificate, asked.key),
        create_protocol=Connection,
        retry=asked.retry,
    )
    await over.wait()
    server.close()


def main() -> None:
    """Serves until SIGTERM or SIGINT."""
    parser = ArgumentParser(prog="aioquic_program", description="A web server over HTTP/3 by aioquic.")
    parser.add_argument("--listen", required=True, metavar="ADDRESS:PORT")
    parser.add_argument("--certificate", required=True, type=Path, metavar="PEM")
    parser.add_argument("--key", required=True, type=Path, metavar="PEM")
    parser.add_argument("--retry", action="store_true", help="Have every client validate its address first.")
    asked = parser.parse_args()
    try:
        asked.listen = address(asked.listen)
    except UserError as error:
        sys.exit(str(error))
    asyncio.run(_serve(asked))


if __name__ == "__main__":
    main()
