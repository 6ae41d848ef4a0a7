"""QUIC server (aioquic): takes a stream, or offers files, until its client has gone.

`python -m gauntlet.external.aioquic_server`
"""

import asyncio
import signal
from typing import Any

from aioquic.asyncio.server import serve as listen

from gauntlet.external.contract import Failed, Result, Task, check_intact, payload, play, ready
from gauntlet.external.quic import NUMBER, SOFTWARE, Connection, configuration


class _Server(Connection):
    """One connection of the flow's client."""

    task: Task
    result: Result
    failed: list[Failed]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.arrived: dict[int, bytearray] = {}

    def on_data(self, stream_id: int, data: bytes, end: bool) -> None:
        self.arrived.setdefault(stream_id, bytearray()).extend(data)
        if self.task.direction == "upload" and data:
            self.result.add_received(len(data))
        if not end:
            return
        received = bytes(self.arrived.pop(stream_id))
        if self.task.direction == "upload":
            self._accept(received)
            self.send(stream_id, b"", end=True)
        else:
            (number,) = NUMBER.unpack(received)
            wanted = self.task.objects[number]
            content = payload(self.task.seed, wanted.name, wanted.size_bytes)
            self.result.add_sent(len(content))
            self.send(stream_id, content, end=True)

    def _accept(self, received: bytes) -> None:
        try:
            check_intact(received, self.task.seed, "stream", int(self.task.required("size_bytes")))
        except Failed as error:
            self.failed.append(error)


async def _serve(task: Task, result: Result) -> None:
    over = asyncio.Event()
    failed: list[Failed] = []

    def create(*args: Any, **options: Any) -> _Server:
        connection = _Server(*args, **options)
        connection.task, connection.result, connection.failed = task, result, failed
        connection.over.add_done_callback(lambda _: over.set())
        return connection

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    server = await listen(
        task.server_address, task.port, configuration=configuration(task), create_protocol=create
    )
    ready()
    await over.wait()
    server.close()
    if failed:
        raise failed[0]


def serve(task: Task, result: Result) -> None:
    """Serve one connection, or until the process is asked to end."""
    asyncio.run(_serve(task, result))


if __name__ == "__main__":
    play(serve, SOFTWARE)
