"""Outcomes of runs as the arena would leave them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gauntlet.attack.counters import Memory
from gauntlet.attack.kinds import KINDS, RATE
from gauntlet.attack.requests import OK, Request
from gauntlet.attack.run import Attack, Client, Outcome, Run, Sample
from gauntlet.attack.seconds import Second
from gauntlet.attack.servers.own import OWN
from gauntlet.attack.sockets import Sockets

MB = 1_000_000


def run(attack: str | None = "flood", *, seconds: int = 10, protocol: str = "h3", **more: Any) -> Run:
    """A run with ten honest requests, one a second, and a hundred beginnings a second."""
    kind = KINDS[attack] if attack else None
    dose = 0 if kind is None else 100 if kind.dose == RATE else kind.usual
    return Run(
        OWN,
        protocol,
        "p-256",
        Client(10, 1.0, 5.0),
        Attack(kind, dose, seconds) if kind else None,
        **more,
    )


def request(began_s: float, took_s: float | None, outcome: str = OK) -> Request:
    """One request."""
    took = took_s is not None
    connected_s, first_byte_s = (part * took_s if took_s is not None else None for part in (0.5, 0.8))
    return Request(began_s, took_s, connected_s, first_byte_s, OK if took else outcome, 1000 if took else 0)


def second(ended_s: float, *, lasted_s: float = 1.0, number: int | None = None, **counts: Any) -> Second:
    """What an attacker told when a second was over, of an attack from second 100 on unless it is numbered."""
    usual = {"offered": 100, "sent": 100, "completed": 100, "late_max_ns": 0, "cpu_ns": 200_000_000}
    number = round(ended_s) - 100 if number is None else number
    return Second(number, ended_s - lasted_s, ended_s, {**usual, **counts})


def sample(at_s: float, cpu_s: float, *, process: int = 10 * MB, queued: int = 0, dropped: int = 0) -> Sample:
    """What the kernel counted."""
    return Sample(at_s, cpu_s, Memory(process + MB, process), Sockets(1, queued, 0, dropped))


def outcome(asked: Run, delays_s: Sequence[float | None], **more: Any) -> Outcome:
    """A run from second 100 on, in which the server computed for 0.1 s in each second."""
    seconds = asked.attack.seconds if asked.attack else 0
    each = asked.attack.dose if asked.attack and asked.attack.kind.dose == RATE else 100
    made = Outcome(
        run=replace(asked, client=replace(asked.client, requests=len(delays_s))),
        requests=[request(float(at), took, "timeout") for at, took in enumerate(delays_s)],
        client_began_s=100.0,
        client_cpu_s=0.1,
        client_late_s=0.0,
        attack_began_s=100.0 if seconds else None,
        attack_ended_s=100.0 + seconds if seconds else None,
        seconds=[second(101.0 + at, offered=each, sent=each) for at in range(seconds)],
        attacker={"offered": 1000, "sent": 1000, "completed": 1000, "saturated": False, "why": ""}
        if seconds
        else None,
        samples=[sample(100.0 + at, 0.1 * at) for at in range(11)],
        counted={},
        died="",
        complaints=[],
        others_of_a_core=0.0,
        retransmitted_segments=0,
        throttled=None,
        instructions={},
    )
    return replace(made, **more)
