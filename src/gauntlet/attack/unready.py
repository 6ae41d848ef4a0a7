"""Why a server that is asked for its page did not serve it, from what the last client told of it."""

from collections.abc import Mapping
from typing import Any

from gauntlet.attack.kinds import H1, H2, H3
from gauntlet.attack.loopback import Address
from gauntlet.attack.requests import TIMEOUT

REFUSED, STATUS, TLS, PROTOCOL, CLOSED, RESET = "refused", "status", "tls", "protocol", "closed", "reset"
"""Outcomes of a request, beside those of `gauntlet.attack.requests`."""

_CERTIFICATE = "invalid peer certificate"
_NO_ALPN = ("noapplicationprotocol", "no_application_protocol", "error 120")
"""How the alert is told by which a server declines a protocol (RFC 7301; in QUIC by its number)."""
_OTHERS: Mapping[str, str] = {H1: "--protocol h2", H2: "--protocol h1", H3: "--protocol h2 or h1"}


def why(request: Mapping[str, Any] | None, protocol: str, address: Address, limit_s: float) -> str:
    """A clause without its full stop. `request` is a line of gauntlet-web-client, which waits for `limit_s`;
    None: it told of none.
    """
    if request is None:
        return f"nothing served at {address}"
    outcome = str(request["outcome"])
    told = f" ({error})" if (error := request.get("error")) else ""
    if outcome == STATUS:
        return f"it answered with status {request.get('status')} at /, where a page has to be"
    if outcome == REFUSED and protocol != H3:
        return f"nobody listens at TCP {address}; --listen names the port of a server that takes another one"
    if outcome == TLS or _speaks_no_h2(request, protocol):
        return _of_tls(outcome, str(error), protocol) + told
    if outcome == TIMEOUT and request.get("connected_ns"):
        return f"TLS came about, and it did not answer whole within {limit_s:g} s"
    if outcome == TIMEOUT and protocol == H3:
        words = f"nothing answered at UDP {address}; if it speaks no HTTP/3, try {_OTHERS[H3]}"
    else:
        words = f"nothing served at {address}, and the last request ended as '{outcome}'{told}"
    if outcome == RESET and _before_any_h2(request, protocol):
        words += f"; if it speaks HTTP/1.1 alone, try {_OTHERS[H2]}"
    return words


def _speaks_no_h2(request: Mapping[str, Any], protocol: str) -> bool:
    """Whether something else than HTTP/2 came behind the handshake, or its end at once: servers without ALPN
    go on. One that is silent or resets may have it, and a backend that hangs.
    """
    return _before_any_h2(request, protocol) and request["outcome"] in (PROTOCOL, CLOSED)


def _before_any_h2(request: Mapping[str, Any], protocol: str) -> bool:
    """Whether TLS came about, and behind it nothing of HTTP/2."""
    return protocol == H2 and bool(request.get("connected_ns")) and not request.get("first_byte_ns")


def _of_tls(outcome: str, error: str, protocol: str) -> str:
    """Of a handshake that failed, or behind which nothing came of HTTP/2."""
    if _CERTIFICATE in error:
        return "its certificate is not the one that it was given as {certificate}"
    if outcome != TLS or any(it in error.lower() for it in _NO_ALPN):
        return f"it does not speak {protocol}, which the client names by ALPN; try {_OTHERS[protocol]}"
    return "TLS failed"
