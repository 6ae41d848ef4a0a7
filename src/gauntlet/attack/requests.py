"""What an honest client asked for and got: one request a line of gauntlet-web-client."""

from collections.abc import Iterable, Mapping, Sequence
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
    first_byte_s: float | None
    """Until the head of the answer was there; None where it did not come."""
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

    def since(name: str) -> float | None:
        at_ns = line.get(name)
        return None if at_ns is None else (at_ns - began_ns) * _NS

    return Request(
        began_s=(began_ns - first_ns) * _NS,
        took_s=(line["end_ns"] - began_ns) * _NS if ok else None,
        connected_s=since("connected_ns"),
        first_byte_s=since("first_byte_ns"),
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
    return _mean(it.took_s for it in of)


def steps_of_served_s(of: Sequence[Request]) -> dict[str, float | None]:
    """Means over those that were served of how long each took to the end of its handshake, to the head of its
    answer and to its end. With 0-RTT a request has no first.
    """
    served = [it for it in of if it.took_s is not None]
    return {
        "connected_mean_s": _mean(it.connected_s for it in served),
        "first_byte_mean_s": _mean(it.first_byte_s for it in served),
        "end_mean_s": _mean(it.took_s for it in served),
    }


def _mean(times_s: Iterable[float | None]) -> float | None:
    found = [it for it in times_s if it is not None]
    return sum(found) / len(found) if found else None
