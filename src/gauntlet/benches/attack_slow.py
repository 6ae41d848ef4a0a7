"""Slow attacks: connections that are held, equally many over each protocol (crates `web` and `attackers`).

The study (key ATTACK) held 150 half-open requests over TCP beside thirty finished clients over QUIC. Here the
same number of connections is held over each protocol, in each of the ways that it has.
"""

import math
from collections.abc import Mapping
from typing import Any

from gauntlet.attack import kinds
from gauntlet.attack.certificates import P_256
from gauntlet.attack.kinds import BUILT_UP_S
from gauntlet.attack.measures import kpis
from gauntlet.attack.run import Attack, Client, Outcome, Run
from gauntlet.attack.servers.registry import SERVERS
from gauntlet.benches.attack_common import (
    COMPARED,
    Condition,
    facts,
    labels,
    measure,
    of_client,
    planned,
    play,
    ready,
    sample,
)
from gauntlet.benches.contract import Bench, Measured, Plan, Tell
from gauntlet.benches.parts import Parts

NONE = "none"
WAYS = ("handshake-stall", "header-drip", "body-drip", "window-starvation", "ack-withholding")
"""Keys of `gauntlet.attack.kinds`."""

HELD = (0, 250, 500, 1000)
"""Up to what the text of the study says that it held."""
_STUDYS = "header-drip"
"""The way of the study."""
_BOTH = ("h1", "h3")
"""What it compares; slow headers are HTTP/1.1's."""

_HELD_SHARE = 0.9
"""Of what was asked for so many have to be held at a time."""

_MEASURES = (
    "delay_of_served_mean_s",
    "delay_restricted_mean_s",
    "delay_median_s",
    "unserved_after_100_ms_share",
    "unserved_after_1000_ms_share",
    "served_share",
    "failed_share",
    "server_cpu_of_a_core",
    "held",
    "attacker_bytes_per_s",
    "resident_bytes",
    "process_growth_bytes",
    "kernel_growth_bytes",
    "dropped_packets",
    "retransmitted_segments",
)
_CLIENT = (Client(50, 0.075, 5.0), Client(10, 0.15, 4.0))
"""In full as many requests as the study's; quick. They come closer together than its one a second, since all
connections are held before the first.
"""
_REPETITIONS = (3, 3)
"""Few, since an attack takes six seconds before it is whole and what comes of it hangs little on chance."""


def conditions(quick: bool) -> list[Condition]:
    """What is measured: the study's own attack on both servers, each number of connections over HTTP/1.1 and
    HTTP/3; on Gauntlet's own also every way over every protocol, of 500, and stalls, of 1,000.
    """
    if quick:
        return [
            _condition(server, protocol, way, held)
            for server in COMPARED
            for way, held in ((NONE, 0), (_STUDYS, 500))
            for protocol in _BOTH
        ]
    studys = [
        _condition(server, protocol, _STUDYS if count else NONE, count)
        for server in COMPARED
        for count in HELD
        for protocol in _BOTH
    ]
    every = [
        _condition("own", protocol, way, 500)
        for way in WAYS
        for protocol in kinds.PROTOCOLS
        if (way, protocol) not in {(_STUDYS, it) for it in _BOTH}
    ]
    stalls = [_condition("own", protocol, "handshake-stall", 1000) for protocol in _BOTH]
    return [*studys, *every, *stalls]


def _condition(server: str, protocol: str, way: str, held: int) -> Condition:
    return {"server": server, "over": protocol, "way": way, "held_asked": held}


def _measure(quick: bool, seed: int, tell: Tell, parts: Parts) -> Measured:
    client = _CLIENT[quick]

    def of(condition: Condition) -> Mapping[str, Any]:
        way, held = str(condition["way"]), int(condition["held_asked"])
        seconds = BUILT_UP_S + 1 + math.ceil(client.sends_s)
        attack = Attack(kinds.KINDS[way], held, seconds) if held else None
        run = Run(
            SERVERS[str(condition["server"])],
            str(condition["over"]),
            P_256,
            client,
            attack,
            client_at_s=BUILT_UP_S + 1.0 if attack else 0.0,
        )
        outcome = play(run)
        return sample(outcome, _MEASURES, lacks(outcome, held))

    return measure(
        conditions(quick),
        _REPETITIONS[quick],
        seed,
        tell,
        parts,
        of=of,
        same=facts(),
        samples=client.requests,
    )


def lacks(outcome: Outcome, asked: int) -> list[str]:
    """Why a run does not say what so many held connections do: fewer were. A server that ends them withstands
    the attack, which is another question (`attack_weaknesses`); here equally many are compared.
    """
    if outcome.attacker is None or outcome.held >= _HELD_SHARE * asked:
        return []
    return [f"{outcome.held} of {asked} connections were held"]


def _plan(quick: bool) -> Plan:
    return planned(
        conditions(quick),
        _REPETITIONS[quick],
        **of_client(_CLIENT[quick]),
        built_up_s=BUILT_UP_S,
        more={way: list(kinds.KINDS[way].more) for way in WAYS},
    )


BENCH = Bench(
    name="attack-slow",
    about="Honest clients and server while an attacker holds connections, equally many over each protocol.",
    measures=kpis(*_MEASURES),
    full=_plan(quick=False),
    quick=_plan(quick=True),
    measure=_measure,
    ready=ready,
    alone=True,
    labels=labels(
        _plan(quick=False),
        way={
            NONE: "nothing",
            "handshake-stall": "handshakes that stall",
            "header-drip": "headers in drops",
            "body-drip": "bodies in drops",
            "window-starvation": "windows that stay shut",
            "ack-withholding": "acknowledgements that do not come",
        },
    ),
)
