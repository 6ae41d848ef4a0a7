"""What an honest client asked for and got: one request a line of gauntlet-web-client."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gauntlet.attack.survival import Curve, curve

OK = "ok"
TIMEOUT = "timeout"
_NS = 1e-9


@dataclass(frozen=True)
class Request:
    """One request, from when its connection was to begin to its last byte."""

    began_s: float
    """Since the first request began."""
    took_s: float | None
    """None: it was not served."""
    connected_s: float | None
    """How long the handshake took; None where there was none, or it did not end."""
    outcome: str
    """`ok`, or what happened instead."""
    bytes: int


def began_s(lines: Sequence[Mapping[str, Any]], otherwise_s: float) -> float:
    """When the first request of a client's lines began, by the monotonic clock."""
    return min((_due_ns(line) * _NS for line in lines), default=otherwise_s)


def requests(lines: Sequence[Mapping[str, Any]]) -> list[Request]:
    """The requests of a client's lines, in the order in which they began."""
    first_ns = min((_due_ns(line) for line in lines), default=0)
    found = [_request(line, first_ns) for line in lines]
    return sorted(found, key=lambda it: it.began_s)


def _due_ns(line: Mapping[str, Any]) -> int:
    """When a request was to begin: a client that comes late itself shall not make a server look quick."""
    return int(line.get("due_ns") or line["start_ns"])


def _request(line: Mapping[str, Any], first_ns: int) -> Request:
    began_ns = _due_ns(line)
    ok = line["outcome"] == OK
    connected_ns = line.get("connected_ns")
    return Request(
        began_s=(began_ns - first_ns) * _NS,
        took_s=(line["end_ns"] - began_ns) * _NS if ok else None,
        connected_s=None if connected_ns is None else (connected_ns - began_ns) * _NS,
        outcome=str(line["outcome"]),
        bytes=int(line.get("bytes") or 0),
    )


def delays(of: Sequence[Request], limit_s: float) -> Curve:
    """How long clients waited, those that were not served among them."""
    return curve([it.took_s for it in of], limit_s)


def served_share(of: Sequence[Request]) -> float:
    """The share of requests that were served."""
    return sum(it.took_s is not None for it in of) / len(of)


def failed_share(of: Sequence[Request]) -> float:
    """The share that was told no: refused, reset or broken off; a request that ran out of time was not."""
    return sum(it.outcome not in (OK, TIMEOUT) for it in of) / len(of)


def mean_of_served_s(of: Sequence[Request]) -> float | None:
    """The mean over those that were served alone, as the study (key ATTACK) takes it; None of none."""
    took = [it.took_s for it in of if it.took_s is not None]
    return sum(took) / len(took) if took else None
