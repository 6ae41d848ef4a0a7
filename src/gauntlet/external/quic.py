"""What both ends over aioquic share: configuration, and connections that say what happens to them."""

import asyncio
import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aioquic
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, QuicEvent, StreamDataReceived
from aioquic.quic.logger import QuicFileLogger
from aioquic.tls import SessionTicket

from gauntlet.external.contract import Task, Unsupported, payload

SOFTWARE = f"aioquic {aioquic.__version__}"
ALPN = "gauntlet"
"""Application protocol of both ends; of no meaning to anybody else."""

NUMBER = struct.Struct("!I")
"""The number of an object or of a message, as requests and messages begin with it."""

_CONGESTION_CONTROLS = {"newreno": "reno", "cubic": "cubic"}
"""aioquic's names of congestion controls by ours; its "reno" is the NewReno of RFC 9002, appendix B."""


def configuration(task: Task) -> QuicConfiguration:
    """aioquic's configuration of this end. Raises Unsupported for a congestion control that it lacks."""
    wanted = task.parameter("congestion_control") or "newreno"
    if wanted not in _CONGESTION_CONTROLS:
        known = " and ".join(_CONGESTION_CONTROLS)
        raise Unsupported(f"aioquic has no congestion control '{wanted}'; it has {known}")
    client = task.role == "client"
    chosen = QuicConfiguration(
        alpn_protocols=[ALPN],
        congestion_control_algorithm=_CONGESTION_CONTROLS[wanted],
        is_client=client,
        server_name=task.server_name if client else None,
        quic_logger=QuicFileLogger(task.qlog) if task.qlog else None,
        # Both ends would log the same secrets; aioquic writes them until the program ends.
        secrets_log_file=Path(task.keylog).open("a") if task.keylog and client else None,  # noqa: SIM115
    )
    if client:
        chosen.load_verify_locations(task.ca)
    else:
        chosen.load_cert_chain(task.certificate, task.key)
    return chosen


class Tickets:
    """Session tickets of one end (RFC 8446, section 4.6.1), where the task asks for resumption."""

    def __init__(self, task: Task) -> None:
        self.wanted = task.parameter("resumption") == "true"
        self.early = task.parameter("early_data") == "true"
        """Whether what is resumed sends data in its first flight (0-RTT)."""
        self._kept: dict[bytes, SessionTicket] = {}

    def keep(self, ticket: SessionTicket) -> None:
        """aioquic hands over a ticket that it has given, or got."""
        self._kept[ticket.ticket] = ticket

    def take(self, name: bytes) -> SessionTicket | None:
        """The ticket that a client shows; each is good once, so that early data cannot be played again."""
        return self._kept.pop(name, None)

    def newest(self) -> SessionTicket | None:
        """The ticket to show; it is gone then. None: there is none."""
        return self._kept.popitem()[1] if self._kept else None

    def handlers(self, role: str) -> dict[str, Any]:
        """What `connect` or `serve` of aioquic is told of them: nothing where nobody asks for resumption."""
        if not self.wanted:
            return {}
        own = {"session_ticket_fetcher": self.take} if role == "server" else {}
        return {**own, "session_ticket_handler": self.keep}


class Connection(QuicConnectionProtocol):
    """A connection whose streams' arrivals go to `on_data`, and whose end is told in words."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.over: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Done when the connection has ended, with why; empty when it was closed in order."""

    def quic_event_received(self, event: QuicEvent) -> None:
        """aioquic calls this for every event."""
        if isinstance(event, StreamDataReceived):
            self.on_data(event.stream_id, event.data, event.end_stream)
        elif isinstance(event, ConnectionTerminated) and not self.over.done():
            self.over.set_result(ending(event))

    def on_data(self, stream_id: int, data: bytes, end: bool) -> None:
        """Bytes of a stream have arrived; `end`: they are its last."""

    def open_stream(self) -> int:
        """A new bidirectional stream."""
        return self._quic.get_next_available_stream_id()

    def send(self, stream_id: int, data: bytes, *, end: bool = False) -> None:
        """Hand bytes over to aioquic, which takes any number and sends as its congestion control lets it."""
        self._quic.send_stream_data(stream_id, data, end_stream=end)
        self.transmit()


@dataclass(frozen=True)
class Periodic:
    """The application periodic: messages of one size at an interval."""

    seed: int
    size_bytes: int
    interval_s: float
    count: int
    fresh: bool
    """A connection for each message; else one for all."""

    @staticmethod
    def of(task: Task) -> "Periodic":
        """Read the application's parameters. Raises Unsupported for a message that cannot hold its number."""
        size_bytes = int(task.required("message_size_bytes"))
        if size_bytes < NUMBER.size:
            raise Unsupported(
                f"messages of {size_bytes} bytes are too short; {NUMBER.size} bytes is the least"
            )
        interval_s = float(task.required("interval_s"))
        count = math.ceil(float(task.required("duration_s")) / interval_s)
        return Periodic(task.seed, size_bytes, interval_s, count, task.parameter("connection") == "fresh")

    @staticmethod
    def name(number: int) -> str:
        """What the exchange of a message is called."""
        return f"message-{number}"

    def content(self, number: int) -> bytes:
        """Message `number`, from 0."""
        rest = payload(self.seed, self.name(number), self.size_bytes - NUMBER.size)
        return NUMBER.pack(number) + rest


def ending(event: ConnectionTerminated) -> str:
    """Why a connection ended, in words; empty when it was closed in order."""
    if not event.error_code and not event.reason_phrase:
        return ""
    reason = event.reason_phrase or "no reason was given"
    return f"the connection ended: {reason} (QUIC error 0x{event.error_code:x})"
