"""QUIC server (aioquic): takes a stream or messages, or offers files, until its client has gone.

`python -m gauntlet.external.aioquic_server`
"""

import asyncio
import signal
from collections.abc import Callable
from typing import Any

from aioquic.asyncio.server import serve as listen

from gauntlet.external.contract import (
    Exchange,
    Failed,
    Result,
    Task,
    check_intact,
    payload,
    play,
    ready,
)
from gauntlet.external.loop import run, woken_ns
from gauntlet.external.quic import NUMBER, SOFTWARE, Connection, Periodic, Tickets, configuration


class _Taker(Connection):
    """Takes the client's stream, whole."""

    def __init__(self, task: Task, result: Result, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.task, self.result = task, result
        self.blocks: list[bytes] = []
        self.failed: Failed | None = None

    def on_data(self, stream_id: int, data: bytes, end: bool) -> None:
        if data:
            self.result.add_received(woken_ns(), len(data))
            self.take(data)
        if end:
            self.check()
            # This tells the client that everything is here.
            self.send(stream_id, b"", end=True)

    def take(self, data: bytes) -> None:
        """The next bytes of the stream."""
        self.blocks.append(data)

    def check(self) -> None:
        """The stream is complete: compare it with what was sent."""
        try:
            size_bytes = int(self.task.required("size_bytes"))
            check_intact(b"".join(self.blocks), self.task.seed, "stream", size_bytes)
        except Failed as error:
            self.failed = error


class _MessageTaker(_Taker):
    """Takes messages of one size, one after the other, and notes when each was there."""

    def __init__(self, task: Task, result: Result, *args: Any, **options: Any) -> None:
        super().__init__(task, result, *args, **options)
        self.plan = Periodic.of(task)
        self.message = bytearray()
        self.first_ns = 0

    def take(self, data: bytes) -> None:
        while data:
            self.first_ns = self.first_ns if self.message else woken_ns()
            missing = self.plan.size_bytes - len(self.message)
            self.message += data[:missing]
            data = data[missing:]
            if len(self.message) == self.plan.size_bytes:
                self._note(bytes(self.message))
                self.message.clear()

    def _note(self, message: bytes) -> None:
        (number,) = NUMBER.unpack(message[: NUMBER.size])
        if message != self.plan.content(number):
            self.failed = Failed(f"message {number} arrived with other content than was sent")
            return
        name = self.plan.name(number)
        self.result.exchanges.append(
            Exchange(name, self.plan.size_bytes, first_byte_ns=self.first_ns, completed_ns=woken_ns())
        )

    def check(self) -> None:
        if self.message:
            self.failed = Failed(f"the last message ended after {len(self.message)} bytes")


class _Giver(Connection):
    """Sends the file that a stream asks for on that stream."""

    def __init__(self, task: Task, result: Result, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.task, self.result = task, result
        self.failed: Failed | None = None
        self.asked: dict[int, bytes] = {}

    def on_data(self, stream_id: int, data: bytes, end: bool) -> None:
        self.asked[stream_id] = self.asked.get(stream_id, b"") + data
        if not end:
            return
        (number,) = NUMBER.unpack(self.asked.pop(stream_id))
        wanted = self.task.objects[number]
        content = payload(self.task.seed, wanted.name, wanted.size_bytes)
        self.result.add_sent(woken_ns(), len(content))
        self.send(stream_id, content, end=True)


def _kind(task: Task) -> Callable[..., _Taker | _Giver]:
    if task.direction == "download":
        return _Giver
    return _MessageTaker if task.app == "periodic" else _Taker


async def _serve(task: Task, result: Result) -> None:
    over = asyncio.Event()
    kind, connections = _kind(task), list[_Taker | _Giver]()
    expected = Periodic.of(task).count if task.app == "periodic" else None

    def ended(_: object) -> None:
        if expected is None or len(result.exchanges) >= expected:
            over.set()

    def create(*args: Any, **options: Any) -> Connection:
        connection = kind(task, result, *args, **options)
        connection.over.add_done_callback(ended)
        connections.append(connection)
        return connection

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    server = await listen(
        task.server_address,
        task.port,
        configuration=configuration(task),
        create_protocol=create,
        **Tickets(task).handlers("server"),
    )
    ready()
    await over.wait()
    server.close()
    for connection in connections:
        if connection.failed is not None:
            raise connection.failed


def serve(task: Task, result: Result) -> None:
    """Serve until the client has gone, or until the process is asked to end."""
    run(_serve(task, result))


if __name__ == "__main__":
    play(serve, SOFTWARE)
