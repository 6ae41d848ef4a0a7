"""Why a server does not serve, by the lines of gauntlet-web-client."""

from typing import Any

import pytest

from gauntlet.attack import unready
from gauntlet.attack.loopback import Address

AT = Address("127.0.0.1", 4433)


@pytest.mark.parametrize(
    ("protocol", "request_", "words"),
    [
        ("h2", {"outcome": "refused"}, "nobody listens at TCP 127.0.0.1:4433; --listen"),
        ("h1", {"outcome": "status", "status": 404}, "it answered with status 404 at /"),
        ("h2", {"outcome": "tls", "error": "invalid peer certificate: UnknownIssuer"}, "as {certificate} ("),
        ("h3", {"outcome": "tls", "error": "invalid peer certificate: UnknownIssuer"}, "as {certificate} ("),
        ("h1", {"outcome": "tls", "error": "InvalidContentType"}, "TLS failed (InvalidContentType)"),
        (
            "h2",
            {"outcome": "tls", "error": "received fatal alert: NoApplicationProtocol"},
            "it does not speak h2, which the client names by ALPN; try --protocol h1",
        ),
        (
            "h2",
            {"outcome": "closed", "connected_ns": 1, "error": "frame with invalid size"},
            "it does not speak h2, which the client names by ALPN; try --protocol h1 (frame with",
        ),
        ("h2", {"outcome": "protocol", "connected_ns": 1}, "it does not speak h2"),
        ("h2", {"outcome": "protocol", "connected_ns": 1, "first_byte_ns": 2}, "ended as 'protocol'"),
        ("h2", {"outcome": "closed", "connected_ns": 1, "first_byte_ns": 2}, "ended as 'closed'"),
        ("h2", {"outcome": "closed"}, "ended as 'closed'"),
        ("h2", {"outcome": "reset", "connected_ns": 1}, "ended as 'reset'; if it speaks HTTP/1.1 alone, try"),
        ("h2", {"outcome": "timeout", "connected_ns": 1}, "it did not answer whole within 1.5 s"),
        ("h3", {"outcome": "timeout", "connected_ns": 1}, "it did not answer whole within 1.5 s"),
        ("h2", {"outcome": "timeout"}, "ended as 'timeout'"),
        ("h3", {"outcome": "timeout"}, "nothing answered at UDP 127.0.0.1:4433; if it speaks no HTTP/3"),
        ("h3", {"outcome": "refused"}, "ended as 'refused'"),
        ("h1", {"outcome": "timeout", "connected_ns": 1}, "it did not answer whole within 1.5 s"),
        ("h1", None, "nothing served at 127.0.0.1:4433"),
    ],
)
def test_the_last_request_tells_why(protocol: str, request_: dict[str, Any] | None, words: str) -> None:
    assert words in unready.why(request_, protocol, AT, 1.5)


@pytest.mark.parametrize(
    ("protocol", "request_"),
    [
        ("h1", {"outcome": "reset", "connected_ns": 1}),
        ("h2", {"outcome": "reset"}),
        ("h2", {"outcome": "reset", "connected_ns": 1, "first_byte_ns": 2}),
    ],
)
def test_another_protocol_is_proposed_only_where_nothing_came_of_this_one(
    protocol: str, request_: dict[str, Any]
) -> None:
    assert "--protocol" not in unready.why(request_, protocol, AT, 1.5)
