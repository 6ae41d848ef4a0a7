"""QUIC client (aioquic): uploads a stream, or fetches files in sequence over one connection.

`python -m gauntlet.external.aioquic_client`
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aioquic.asyncio.client import connect

from gauntlet.external.contract import (
    OK,
    Exchange,
    Failed,
    Result,
    Task,
    Unsupported,
    check_intact,
    now_ns,
    payload,
    play,
)
from gauntlet.external.quic import NUMBER, SOFTWARE, Connection, configuration


class _Client(Connection):
    """Collects what arrives on the stream that is being waited for."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.result: Result | None = None
        self.blocks: list[bytes] = []
        self.exchange: Exchange | None = None
        self.ended = asyncio.Event()

    def on_data(self, stream_id: int, data: bytes, end: bool) -> None:
        if data and self.result is not None:
            self.result.add_received(len(data))
            self.blocks.append(data)
            if self.exchange is not None:
                instant_ns = self.result.received[-1][0]
                self.exchange.first_byte_ns = self.exchange.first_byte_ns or instant_ns
                self.exchange.completed_ns = instant_ns
        if end:
            self.ended.set()

    async def until_the_end(self) -> None:
        """Wait for the end of the stream. Raises Failed when the connection ends first."""
        ended = asyncio.ensure_future(self.ended.wait())
        either: list[asyncio.Future[Any]] = [ended, self.over]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not self.ended.is_set():
            ended.cancel()
            raise Failed(self.over.result() or "the server closed the connection before the end")
        self.ended.clear()


@asynccontextmanager
async def _connected(task: Task, result: Result) -> AsyncIterator[_Client]:
    made: list[_Client] = []

    def create(*args: Any, **options: Any) -> _Client:
        made.append(_Client(*args, **options))
        return made[-1]

    chosen = configuration(task)
    result.started_ns = now_ns()
    try:
        async with connect(
            task.server_address, task.port, configuration=chosen, create_protocol=create
        ) as client:
            assert isinstance(client, _Client)
            result.transport_established_ns = result.established_ns = now_ns()
            yield client
    except ConnectionError:
        # aioquic's ConnectionError of a failed handshake has no words; the event before it has.
        why = made[0].over.result() if made and made[0].over.done() else "no connection could be made"
        raise Failed(why) from None


async def _upload(task: Task, result: Result) -> None:
    size_bytes = int(task.required("size_bytes"))
    async with _connected(task, result) as client:
        stream = client.open_stream()
        result.add_sent(size_bytes)
        client.send(stream, payload(task.seed, "stream", size_bytes), end=True)
        # The server ends the stream when it has everything.
        await client.until_the_end()
        result.finished_ns = now_ns()


async def _fetch_all(task: Task, result: Result) -> None:
    wanted = task.objects
    begun_ns = now_ns()
    async with _connected(task, result) as client:
        client.result = result
        for number, entry in enumerate(wanted):
            exchange = Exchange(entry.name, entry.size_bytes, requested_ns=now_ns() if number else begun_ns)
            if number == 0:
                exchange.connected_ns = exchange.secured_ns = result.established_ns
            result.exchanges.append(exchange)
            client.blocks, client.exchange = [], exchange
            client.send(client.open_stream(), NUMBER.pack(number), end=True)
            try:
                await client.until_the_end()
                check_intact(b"".join(client.blocks), task.seed, entry.name, entry.size_bytes)
            except Failed as error:
                exchange.outcome, exchange.completed_ns = str(error), None
                raise
            exchange.outcome = OK
        result.finished_ns = now_ns()


def main(task: Task, result: Result) -> None:
    """What the application asks for."""
    todo = {"bulk": _upload, "files": _fetch_all}.get(task.app)
    if todo is None:
        raise Unsupported(f"the aioquic client has no application '{task.app}'; it has bulk and files")
    if task.parameter("rate_bps") is not None:
        raise Unsupported("the aioquic client does not pace what it sends; leave the rate out")
    asyncio.run(todo(task, result))


if __name__ == "__main__":
    play(main, SOFTWARE)
