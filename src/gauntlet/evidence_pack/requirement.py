"""What a claim is held against: EN 50159's threat, the defences against it, and what is known of the protocol
on paper (`gauntlet.defences`).
"""

from collections.abc import Mapping
from typing import Any

from gauntlet.defences import compare
from gauntlet.defences.data import Defences, Meets, Protocol, default
from gauntlet.defences.terminal import WORDS

STANDARD = "EN 50159:2010 as AB4Rail D3.5 reproduces it"


def requirement(kind: str, flow: Mapping[str, Any]) -> dict[str, Any]:
    """Of a threat by its kind and a flow of a plan; `on_paper` is None where no row is about the protocol."""
    known = default()
    threat = next(it for it in known.threats if it.id == kind)
    names = {it.id: it.name for it in known.defences}
    row = _row(known, flow)
    return {
        "standard": STANDARD,
        "threat": threat.name,
        "table_4": {"line": threat.line, "defences": [names[it] for it in threat.defences]},
        "on_paper": _on_paper(known, row, kind, names) if row else None,
    }


def _on_paper(known: Defences, row: Protocol, kind: str, names: Mapping[str, str]) -> dict[str, Any]:
    threat = next(it for it in known.threats if it.id == kind)
    cell = next(it for it in compare.threats(known, row) if it.row == kind)
    d35 = None
    if cell.in_short is not None:
        stands = str(cell.verdict) if cell.verdict else None
        d35 = {"table": cell.table, "line": cell.line, "ticked": bool(cell.in_short), "stands": stands}
    return {
        "row": row.id,
        "protocol": row.name,
        "answer": cell.answer,
        "words": WORDS[Meets(cell.answer)],
        "why": cell.why,
        "source": cell.source,
        "defences": [names[it] for it in compare.by_table_4(known, row, threat)],
        "d35": d35,
    }


def _row(known: Defences, flow: Mapping[str, Any]) -> Protocol | None:
    """The row about a flow's protocol; None where there is none that says just this."""
    name = row_of(str(flow["stack"]), flow.get("stack_params", {}))
    return known.protocol(name) if name else None


def row_of(stack: str, params: Mapping[str, Any]) -> str | None:
    """The row of `defences/protocols.toml` that a stack with its parameters belongs to."""
    if params.get("fast_open") or params.get("datagrams"):
        return None
    if stack == "restp":
        return _of_restp(params)
    if stack.startswith("rasta"):
        return _of_rasta(stack, params)
    mutual, early = bool(params.get("client_auth")), bool(params.get("early_data"))
    if stack.startswith("quic-"):
        kind = "quic"
    else:
        kind = stack if stack == "dtls" else f"{params.get('transport', 'tcp')}-{stack}"
    return stack if stack in ("udp", "tcp", "sctp") else _OF_SEALED.get((kind, mutual, early))


_OF_SEALED = {
    ("tcp-tls", False, False): "tcp-tls",
    ("tcp-tls", True, False): "tcp-mtls",
    ("sctp-tls", False, False): "sctp-tls",
    ("dtls", False, False): "dtls",
    ("dtls", True, False): "dtls-mutual",
    ("quic", False, False): "quic",
    ("quic", False, True): "quic-0rtt",
    ("quic", True, False): "quic-mutual",
}
"""By what seals, whether both sides prove who they are, and whether data come before the handshake's end."""


def _of_restp(params: Mapping[str, Any]) -> str | None:
    # The rows are about modes that send again.
    if params.get("profile") in ("voice", "datagram"):
        return None
    if params.get("protection") == "protected":
        return "restp-protected"
    return "restp-no-crc" if params.get("crc") is False else "restp"


def _of_rasta(stack: str, params: Mapping[str, Any]) -> str | None:
    # The rows are about MD4, and over TLS about certificates at both ends.
    if params.get("safety_code", "md4-half") not in ("md4-half", "md4-full"):
        return None
    if stack == "rasta-tls":
        return "rasta-tls" if params.get("client_auth") else None
    return "rasta"
