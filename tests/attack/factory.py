"""Outcomes of runs as the arena would leave them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gauntlet.attack.counters import Memory
from gauntlet.attack.kinds import KINDS
from gauntlet.attack.requests import OK, Request
from gauntlet.attack.run import Attack, Client, Outcome, Run, Sample
from gauntlet.attack.servers.own import OWN
from gauntlet.attack.sockets import Sockets
from gauntlet.attack.stage import Said

MB = 1_000_000


def run(attack: str | None = "flood", *, seconds: int = 10, protocol: str = "h3", **more: Any) -> Run:
    """A run with ten honest requests, one a second."""
    kind = KINDS[attack] if attack else None
    return Run(
        OWN,
        protocol,
        "p-256",
        Client(10, 1.0, 5.0),
        Attack(kind, kind.usual, seconds) if kind else None,
        **more,
    )


def request(began_s: float, took_s: float | None, outcome: str = OK) -> Request:
    """One request."""
    return Request(began_s, took_s, None, outcome if took_s is None else OK, 1000 if took_s else 0)


def second(at_s: float, **counts: Any) -> Said:
    """What an attacker told when a second was over."""
    usual = {"offered": 100, "sent": 100, "completed": 100, "late_max_ns": 0, "cpu_ns": 200_000_000}
    return Said(at_s, "second", {**usual, **counts})


def sample(at_s: float, cpu_s: float, *, process: int = 10 * MB, queued: int = 0, dropped: int = 0) -> Sample:
    """What the kernel counted."""
    return Sample(at_s, cpu_s, Memory(process + MB, process), Sockets(1, queued, 0, dropped))


def outcome(asked: Run, delays_s: Sequence[float | None], **more: Any) -> Outcome:
    """A run from second 100 on, in which the server computed for 0.1 s in each second."""
    seconds = asked.attack.seconds if asked.attack else 0
    made = Outcome(
        run=replace(asked, client=replace(asked.client, requests=len(delays_s))),
        requests=[request(float(at), took, "timeout") for at, took in enumerate(delays_s)],
        client_began_s=100.0,
        client_cpu_s=0.1,
        client_late_s=0.0,
        attack_began_s=100.0 if seconds else None,
        attack_ended_s=100.0 + seconds if seconds else None,
        seconds=[second(101.0 + at) for at in range(seconds)],
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
