"""The server by aioquic: what it answers, how and how long it lets a client in, where it does not listen."""

import asyncio
import importlib.util
import math
import signal
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, H3Event, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted, QuicEvent
from aioquic.quic.logger import QuicLogger
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from gauntlet.attack.certificates import Chain
from gauntlet.attack.kinds import LONG_BYTES
from gauntlet.attack.loopback import Address, free
from gauntlet.attack.servers import aioquic_program
from gauntlet.attack.servers.aioquic import AIOQUIC
from gauntlet.attack.servers.contract import OFF, PAGE_BYTES, RETRY, TIGHT_S, Wanted
from gauntlet.errors import UserError

PATIENCE_S = 60
"""Of a machine that does other things."""


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Chain:
    """A certificate that nobody vouches for."""
    folder = tmp_path_factory.mktemp("chain")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    found = Chain(folder / "ca.pem", folder / "server.pem", folder / "server.key")
    found.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    found.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return found


@pytest.fixture(params=[OFF, RETRY])
def defence(request: pytest.FixtureRequest) -> str:
    """With Retry, and without."""
    return str(request.param)


@pytest.fixture
def listening(defence: str, chain: Chain, tmp_path: Path) -> Iterator[Address]:
    """A server that runs; it ends well when it is asked to."""
    wanted = Wanted("h3", free(), chain, tmp_path, defence=defence)
    with subprocess.Popen(AIOQUIC.launch(wanted).command) as server:
        try:
            yield wanted.address
            assert server.poll() is None
        finally:
            server.send_signal(signal.SIGTERM)
        assert server.wait(PATIENCE_S) == 0


class Asking(QuicConnectionProtocol):
    """A client over HTTP/3."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.http = H3Connection(self._quic)
        self.heads: list[dict[bytes, bytes]] = []
        self.octets = 0
        self.over = asyncio.Event()

    def ask(self, path: str) -> None:
        """Sends a request, with fields behind its body: what comes for it is one answer."""
        stream = self._quic.get_next_available_stream_id()
        head = {":method": "POST", ":scheme": "https", ":authority": "localhost", ":path": path}
        self.http.send_headers(stream, [(name.encode(), value.encode()) for name, value in head.items()])
        self.http.send_data(stream, b"a body", end_stream=False)
        self.http.send_headers(stream, [(b"behind", b"the body")], end_stream=True)
        self.transmit()

    def quic_event_received(self, event: QuicEvent) -> None:
        for found in self.http.handle_event(event):
            if isinstance(found, HeadersReceived):
                self.heads.append(dict(found.headers))
            if isinstance(found, DataReceived):
                self.octets += len(found.data)
            if isinstance(found, HeadersReceived | DataReceived) and found.stream_ended:
                self.over.set()


async def asked(address: Address, path: str, log: QuicLogger) -> tuple[bytes, int]:
    """Status and length of the answer at a path; the log tells of the packets."""
    configuration = QuicConfiguration(alpn_protocols=H3_ALPN, verify_mode=ssl.CERT_NONE, quic_logger=log)
    async with asyncio.timeout(PATIENCE_S):
        # What comes before the server listens is lost, and sent again by QUIC.
        async with connect(
            address.host, address.port, configuration=configuration, create_protocol=Asking
        ) as client:
            assert isinstance(client, Asking)
            client.ask(path)
            await client.over.wait()
            (head,) = client.heads
            assert head[b"content-length"] == str(client.octets).encode()
            return head[b":status"], client.octets


@pytest.mark.parametrize(
    ("path", "status", "octets"),
    [
        ("/", b"200", PAGE_BYTES),
        *((f"/bytes/{it}", b"200", it) for it in LONG_BYTES),
        ("/nothing", b"404", 0),
    ],
)
def test_it_answers_as_the_other_servers_do(
    listening: Address, defence: str, path: str, status: bytes, octets: int
) -> None:
    log = QuicLogger()
    assert asyncio.run(asked(listening, path, log)) == (status, octets)
    retries = str(log.to_dict()).count("'packet_type': 'retry'")
    assert retries == (1 if defence == RETRY else 0)


def test_clients_are_told_after_how_long_without_a_packet_a_connection_ends(listening: Address) -> None:
    log = QuicLogger()
    asyncio.run(asked(listening, "/", log))
    (trace,) = log.to_dict()["traces"]
    stated = [it["data"] for it in trace["events"] if it["name"] == "transport:parameters_set"]
    (ms,) = [it["max_idle_timeout"] for it in stated if it["owner"] == "remote"]
    assert ms == 1000 * aioquic_program.IDLE_TIMEOUT_S


class Pair:
    """A client that waits for long and the server, by a clock that the test sets."""

    ADDRESS = ("127.0.0.1", 1)

    def __init__(self, chain: Chain) -> None:
        patient = QuicConfiguration(alpn_protocols=H3_ALPN, verify_mode=ssl.CERT_NONE, idle_timeout=1000.0)
        self.client = QuicConnection(configuration=patient)
        self.server = QuicConnection(
            configuration=aioquic_program.configuration(chain.certificate, chain.key),
            original_destination_connection_id=self.client.original_destination_connection_id,
        )
        self.client.connect(self.ADDRESS, now=0.0)

    def hear(self, now: float) -> bool:
        """Hands the server what the client sends; whether that is anything."""
        sent = self.client.datagrams_to_send(now)
        for datagram, _ in sent:
            self.server.receive_datagram(datagram, self.ADDRESS, now)
        return bool(sent)

    def answer(self, now: float) -> bool:
        """Hands the client what the server sends; whether that is anything."""
        sent = self.server.datagrams_to_send(now)
        for datagram, _ in sent:
            self.client.receive_datagram(datagram, self.ADDRESS, now)
        return bool(sent)

    def talk(self) -> None:
        """Lets both speak for a second, with the timers that are due, until neither has anything to say."""
        for now in (tenth / 10 for tenth in range(11)):
            for end in (self.client, self.server):
                if (timer := end.get_timer()) is not None and timer <= now:
                    end.handle_timer(now)
            while self.hear(now) | self.answer(now):
                pass

    def happened(self) -> list[QuicEvent]:
        """What the server has to tell of."""
        return list(iter(self.server.next_event, None))

    def end(self, now: float) -> tuple[float, str]:
        """When and why the server ends the connection if it hears nothing from now on."""
        while True:
            self.server.datagrams_to_send(now)
            now = self.server.get_timer() or math.inf
            assert now < math.inf, "the server waits for ever"
            self.server.handle_timer(now)
            for event in self.happened():
                if isinstance(event, ConnectionTerminated):
                    return now, event.reason_phrase


def test_a_connection_ends_so_long_after_the_last_packet_that_came(chain: Chain) -> None:
    pair = Pair(chain)
    pair.talk()
    assert any(isinstance(it, HandshakeCompleted) for it in pair.happened())
    late = 0.9 * aioquic_program.IDLE_TIMEOUT_S
    pair.client.send_ping(1)
    assert pair.hear(late)
    at, why = pair.end(late)
    assert (at, why) == (pytest.approx(late + aioquic_program.IDLE_TIMEOUT_S), "Idle timeout")


def test_a_handshake_that_its_client_leaves_ends_so_long_after_the_first_packet(chain: Chain) -> None:
    pair = Pair(chain)
    assert pair.hear(0.0)
    at, why = pair.end(0.0)
    assert (at, why) == (pytest.approx(aioquic_program.IDLE_TIMEOUT_S), "Idle timeout")


def test_its_time_out_is_no_tighter_where_that_is_asked_for_and_the_laboratory_knows(
    chain: Chain, tmp_path: Path
) -> None:
    wanted = Wanted("h3", free(), chain, tmp_path)
    assert AIOQUIC.launch(replace(wanted, tight=True)) == AIOQUIC.launch(wanted)
    assert not AIOQUIC.tightens
    assert aioquic_program.IDLE_TIMEOUT_S > TIGHT_S


def test_fields_behind_a_body_are_no_request_and_a_declined_answer_ends_nothing(chain: Chain) -> None:
    configuration = QuicConfiguration(is_client=False, alpn_protocols=H3_ALPN)
    configuration.load_cert_chain(chain.certificate, chain.key)
    quic = QuicConnection(configuration=configuration, original_destination_connection_id=bytes(8))
    heads = {0: [(b":path", b"/")], 4: [(b":path", b"/no")]}
    came = [
        HeadersReceived(headers=heads[0], stream_id=0, stream_ended=False),
        HeadersReceived(headers=[(b"behind", b"a body")], stream_id=0, stream_ended=True),
        HeadersReceived(headers=heads[4], stream_id=4, stream_ended=True),
    ]
    handed: list[bytes] = []

    class Http:
        """HTTP/3 that notes what it is handed; an answer for stream 4 was declined."""

        def handle_event(self, event: H3Event) -> list[H3Event]:
            return [event]

        def send_headers(self, stream_id: int, headers: list[tuple[bytes, bytes]]) -> None:
            handed.append(dict(headers)[b":status"])
            if stream_id == 4:
                raise RuntimeError("Cannot send data after the stream was reset")

        def send_data(self, stream_id: int, data: bytes, end_stream: bool) -> None:
            assert end_stream
            handed.append(data)

    async def take() -> None:
        connection = aioquic_program.Connection(quic)
        connection.http = Http()  # type: ignore[assignment]
        for event in came:
            connection.quic_event_received(cast(QuicEvent, event))

    asyncio.run(take())
    assert handed == [b"200", b"." * PAGE_BYTES, b"404"]


def test_it_refuses_what_is_not_loopback(chain: Chain, tmp_path: Path) -> None:
    words = AIOQUIC.launch(Wanted("h3", free(), chain, tmp_path)).command
    words[words.index("--listen") + 1] = "192.0.2.1:4433"
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode != 0 and "is not on this machine's loopback" in done.stderr


def test_without_the_library_one_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert AIOQUIC.version()[0].isdecimal()
    AIOQUIC.ready()
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(UserError, match=r'`pip install "gauntlet-net\[quic\]"`'):
        AIOQUIC.ready()
