"""QUIC client (aioquic): uploads a stream, sends periodic messages, or fetches files over one connection.

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
from gauntlet.external.loop import NS_PER_S, run, woken_ns
from gauntlet.external.quic import NUMBER, SOFTWARE, Connection, Periodic, Tickets, configuration


class _Client(Connection):
    """Collects what arrives on the stream that is being waited for."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.connected_ns: int | None = None
        self.result: Result | None = None
        self.blocks: list[bytes] = []
        self.exchange: Exchange | None = None
        self.ended = asyncio.Event()

    def on_data(self, stream_id: int, data: bytes, end: bool) -> None:
        if data and self.result is not None:
            instant_ns = woken_ns()
            self.result.add_received(instant_ns, len(data))
            self.blocks.append(data)
            if self.exchange is not None:
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
async def _connected(task: Task, result: Result, tickets: Tickets) -> AsyncIterator[_Client]:
    """A session through which data can flow: after the handshake, or at once when early data are wanted and a
    ticket is there.
    """
    made: list[_Client] = []

    def create(*args: Any, **options: Any) -> _Client:
        made.append(_Client(*args, **options))
        return made[-1]

    chosen = configuration(task)
    chosen.session_ticket = tickets.newest()
    early = tickets.early and chosen.session_ticket is not None
    result.started_ns = result.started_ns or now_ns()
    try:
        async with connect(
            task.server_address,
            task.port,
            configuration=chosen,
            create_protocol=create,
            wait_connected=not early,
            **tickets.handlers("client"),
        ) as client:
            assert isinstance(client, _Client)
            client.connected_ns = now_ns()
            result.established_ns = result.established_ns or client.connected_ns
            yield client
    except ConnectionError:
        # aioquic's ConnectionError of a failed handshake has no words; the event before it has.
        why = made[0].over.result() if made and made[0].over.done() else "no connection could be made"
        raise Failed(why) from None


async def _upload(task: Task, result: Result) -> None:
    size_bytes = int(task.required("size_bytes"))
    async with _connected(task, result, Tickets(task)) as client:
        stream = client.open_stream()
        result.add_sent(now_ns(), size_bytes)
        client.send(stream, payload(task.seed, "stream", size_bytes), end=True)
        # The server ends the stream when it has everything.
        await client.until_the_end()
        result.finished_ns = now_ns()


async def _send_periodically(task: Task, result: Result) -> None:
    plan = Periodic.of(task)
    if plan.fresh:
        await _send_over_fresh_connections(task, result, plan)
        return
    async with _connected(task, result, Tickets(task)) as client:
        stream = client.open_stream()
        start_ns = now_ns()
        for number in range(plan.count):
            exchange = await _due(plan, start_ns, number, result)
            last = number == plan.count - 1
            client.send(stream, plan.content(number), end=last)
            result.add_sent(exchange.requested_ns or 0, plan.size_bytes)
        await client.until_the_end()
    result.finished_ns = now_ns()


async def _send_over_fresh_connections(task: Task, result: Result, plan: Periodic) -> None:
    start_ns, tickets = now_ns(), Tickets(task)
    for number in range(plan.count):
        exchange = await _due(plan, start_ns, number, result)
        try:
            async with _connected(task, result, tickets) as client:
                exchange.connected_ns = exchange.secured_ns = client.connected_ns
                result.add_sent(now_ns(), plan.size_bytes)
                client.send(client.open_stream(), plan.content(number), end=True)
                await client.until_the_end()
        except Failed as error:
            # One connection that fails is that message's outcome; the next one has its own.
            exchange.outcome = str(error)
    result.finished_ns = now_ns()
    if all(exchange.outcome for exchange in result.exchanges):
        raise Failed(result.exchanges[0].outcome or "no message was sent")


async def _due(plan: Periodic, start_ns: int, number: int, result: Result) -> Exchange:
    """Wait until a message is due, and begin the notes of its exchange."""
    due_ns = start_ns + round(number * plan.interval_s * NS_PER_S)
    await asyncio.sleep((due_ns - now_ns()) / NS_PER_S)
    exchange = Exchange(plan.name(number), plan.size_bytes, requested_ns=now_ns())
    result.exchanges.append(exchange)
    return exchange


async def _fetch_all(task: Task, result: Result) -> None:
    wanted = task.objects
    begun_ns = now_ns()
    async with _connected(task, result, Tickets(task)) as client:
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
    todo = {"bulk": _upload, "files": _fetch_all, "periodic": _send_periodically}.get(task.app)
    if todo is None:
        raise Unsupported(f"the aioquic client has no application '{task.app}'; it has bulk, files, periodic")
    if task.parameter("rate_bps") is not None:
        raise Unsupported("the aioquic client does not pace what it sends; leave the rate out")
    run(todo(task, result))


if __name__ == "__main__":
    play(main, SOFTWARE)
