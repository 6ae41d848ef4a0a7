"""The numbers of a run, each with its unit and what it is; and the row of a run."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from types import MappingProxyType
from typing import Any

from gauntlet.attack import gates
from gauntlet.attack.requests import delays, failed_share, mean_of_served_s, served_share
from gauntlet.attack.run import Outcome
from gauntlet.metrics.kpi import Kpi

Number = Callable[[Outcome], float | None]

INVALID = "invalid"
AFTER_S = (0.1, 0.3, 1.0, 3.0)
"""Times at which survival curves are read for tables."""


def _ms(name: str, label: str, definition: str) -> Kpi:
    return Kpi(name, label, "ms", 1e3, False, definition)


def _share(name: str, label: str, higher: bool, definition: str) -> Kpi:
    return Kpi(name, label, "%", 100.0, higher, definition, most=1.0)


def _grown(name: str, label: str, definition: str) -> Kpi:
    return Kpi(name, label, "kB", 1e-3, False, definition, least=-inf)


def _unserved(time_s: float) -> Number:
    def number(outcome: Outcome) -> float:
        return delays(outcome.during_attack(), outcome.run.client.limit_s).unserved(time_s)

    return number


def after(time_s: float) -> str:
    """The measure that reads survival curves at this time."""
    return f"unserved_after_{round(time_s * 1e3)}_ms_share"


_A_HANDSHAKE = "for a handshake that came to its end, with its request where it has one."

_ALL: tuple[tuple[Kpi, Number], ...] = (
    (
        _ms(
            "delay_of_served_mean_s",
            "Delay of served requests, mean",
            "From the beginning of the connection to the last byte, over the requests that were "
            "served alone: the study's way, which leaves out whoever waits for ever.",
        ),
        lambda it: mean_of_served_s(it.during_attack()),
    ),
    (
        _ms(
            "delay_restricted_mean_s",
            "Delay, mean up to the limit",
            "The area under the survival curve (Kaplan and Meier) up to the limit: the mean wait of "
            "a client that gives up there.",
        ),
        lambda it: delays(it.during_attack(), it.run.client.limit_s).restricted_mean_s,
    ),
    (
        _ms(
            "delay_median_s",
            "Delay, median",
            "By when half of all requests are served; none where that is not within the limit.",
        ),
        lambda it: delays(it.during_attack(), it.run.client.limit_s).quantile_s(0.5),
    ),
    *(
        (
            _share(
                after(time_s),
                f"Not served after {time_s:g} s",
                False,
                "The survival curve at this time: the share of requests that take longer.",
            ),
            _unserved(time_s),
        )
        for time_s in AFTER_S
    ),
    (
        _share("served_share", "Honest requests served", True, "Within the limit."),
        lambda it: served_share(it.during_attack()),
    ),
    (
        _share(
            "failed_share",
            "Honest requests refused or reset",
            False,
            "Those that ran out of time are not among them.",
        ),
        lambda it: failed_share(it.during_attack()),
    ),
    (
        Kpi(
            "server_cpu_of_a_core", "Server's computing time", "% of a core", 100.0, False,
            "Of all its processes, while client and attack are at work.",
        ),
        lambda it: it.server_cpu_share,
    ),
    (
        _ms("server_cpu_a_handshake_s", "Server, a handshake", f"Its computing time {_A_HANDSHAKE}"),
        lambda it: it.server_cpu_a_handshake_s,
    ),
    (
        _ms("attacker_cpu_a_handshake_s", "Attacker, a handshake", f"The same {_A_HANDSHAKE}"),
        lambda it: it.attacker_cpu_a_handshake_s,
    ),
    (
        Kpi(
            "attacker_headroom", "Attacker's headroom", "times", 1.0, True,
            "How many times as much of the same it could begin before it takes 90 % of its core.",
        ),
        lambda it: it.attacker_headroom(gates.OF_A_CORE),
    ),
    (
        Kpi("offered_per_s", "Offered", "1/s", 1.0, True, "What the attacker was to begin."),
        lambda it: it.told("offered"),
    ),
    (
        Kpi("sent_per_s", "Sent", "1/s", 1.0, True, "What it began."),
        lambda it: it.told("sent"),
    ),
    (
        Kpi("completed_per_s", "Completed", "1/s", 1.0, True, "What came to its end."),
        lambda it: it.told("completed"),
    ),
    (
        Kpi("held", "Held connections", "", 1.0, True, "The most that the attacker held at a time."),
        lambda it: None if it.attacker is None else float(it.held),
    ),
    (
        Kpi("attacker_bytes_per_s", "Attacker's bytes", "B/s", 1.0, False, "Sent by it."),
        lambda it: it.told("bytes_out"),
    ),
    (
        Kpi(
            "bytes_for_a_byte", "Server's bytes for one of the attacker's", "", 1.0, False,
            "Bytes that came to the attacker over those that it sent.",
        ),
        lambda it: _over(it, "bytes_in", "bytes_out"),
    ),
    (
        Kpi(
            "resident_bytes", "Resident set", "kB", 1e-3, False,
            "The most that `top` would show of the server's processes.",
        ),
        lambda it: float(max(sample.memory.resident for sample in it.samples)),
    ),
    (
        _grown(
            "process_growth_bytes", "Growth of the process",
            "By how much the server's processes grew at most (proportional set).",
        ),
        lambda it: float(it.process_growth_bytes),
    ),
    (
        _grown(
            "kernel_growth_bytes", "Growth of its sockets",
            "By how much the kernel's memory for the server's sockets grew at most; no resident set "
            "has it.",
        ),
        lambda it: float(it.kernel_growth_bytes),
    ),
    (
        Kpi(
            "dropped_packets", "Packets that found a full queue", "", 1.0, False,
            "At the server's sockets.",
        ),
        lambda it: float(it.dropped_packets),
    ),
    (
        Kpi(
            "retransmitted_segments", "TCP segments that were sent again", "", 1.0, False,
            "By whoever is on this machine's loopback; of QUIC the libraries do not all tell.",
        ),
        lambda it: float(it.retransmitted_segments),
    ),
)  # fmt: skip

NUMBERS: Mapping[str, tuple[Kpi, Number]] = MappingProxyType({kpi.name: (kpi, of) for kpi, of in _ALL})
"""The measures of a run by their names, with what gives each."""

INVALID_RUN = _share(
    INVALID, "Invalid runs", False, "1 where the run tells nothing (and has no number), 0 where it does."
)


def kpis(*names: str) -> tuple[Kpi, ...]:
    """These measures, and whether the run is invalid."""
    return (*(NUMBERS[name][0] for name in names), INVALID_RUN)


def row(outcome: Outcome, names: tuple[str, ...], lacks: Sequence[str] = ()) -> dict[str, Any]:
    """The numbers of a run by their names; all of them none where the run is invalid, with the reasons:
    those of the gates, and what it `lacks` besides of what is asked of it.
    """
    reasons = [*gates.reasons(outcome), *lacks]
    return invalid(names, reasons) if reasons else valid({name: NUMBERS[name][1](outcome) for name in names})


def valid(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a run that tells something."""
    return {**numbers, INVALID: 0.0, "why_invalid": ""}


def invalid(names: Iterable[str], reasons: Iterable[str]) -> dict[str, Any]:
    """The row of a run that tells nothing: it has no number, and why."""
    return {**dict.fromkeys(names), INVALID: 1.0, "why_invalid": "; ".join(reasons)}


def _over(outcome: Outcome, above: str, below: str) -> float | None:
    totals = outcome.attacker or {}
    return float(totals.get(above, 0)) / float(totals[below]) if totals.get(below) else None
