"""Slow attacks: connections that are held, equally many over each protocol (crates `web` and `attackers`).

The study (key ATTACK) held 150 half-open requests over TCP beside thirty finished clients over QUIC. Here the
same number of connections is held over each protocol, in each of the ways that it has.
"""

from collections.abc import Mapping
from typing import Any

from gauntlet.attack import kinds
from gauntlet.attack.certificates import P_256
from gauntlet.attack.kinds import BUILT_UP_S
from gauntlet.attack.measures import kpis
from gauntlet.attack.run import Attack, Client, Run
from gauntlet.attack.servers.registry import SERVERS
from gauntlet.benches.attack_common import Condition, facts, labels, measure, planned, played, ready
from gauntlet.benches.contract import Bench, Measured, Plan, Tell
from gauntlet.benches.parts import Parts

NONE = "none"
WAYS = ("handshake-stall", "header-drip", "body-drip", "window-starvation", "ack-withholding")
"""Keys of `gauntlet.attack.kinds`."""

HELD = (0, 250, 500, 1000)
"""Up to what the text of the study says that it held."""

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
_CLIENT = (Client(50, 0.4, 10.0), Client(15, 0.15, 4.0))
_REPETITIONS = (8, 3)


def conditions(quick: bool) -> list[Condition]:
    """What is measured: a way is held only over protocols that it can be held over."""
    servers = ("own",) if quick else ("own", "nginx")
    held = (500,) if quick else HELD[1:]
    ways = ("header-drip",) if quick else WAYS
    protocols = ("h1", "h3") if quick else ("h1", "h2", "h3")
    return [
        *(_condition(server, protocol, NONE, 0) for server in servers for protocol in protocols),
        *(
            _condition(server, protocol, way, count)
            for server in servers
            for way in ways
            for count in held
            for protocol in protocols
            if protocol in kinds.KINDS[way].protocols
            and not (count != 500 and way not in ("handshake-stall", "header-drip"))
        ),
    ]


def _condition(server: str, protocol: str, way: str, held: int) -> Condition:
    return {"server": server, "over": protocol, "way": way, "held_asked": held}


def _measure(quick: bool, seed: int, tell: Tell, parts: Parts) -> Measured:
    client = _CLIENT[quick]

    def of(condition: Condition) -> Mapping[str, Any]:
        way, held = str(condition["way"]), int(condition["held_asked"])
        seconds = BUILT_UP_S + 2 + round(client.sends_s)
        attack = Attack(kinds.KINDS[way], held, seconds) if held else None
        run = Run(
            SERVERS[str(condition["server"])],
            str(condition["over"]),
            P_256,
            client,
            attack,
            client_at_s=BUILT_UP_S + 1.0 if attack else 0.0,
        )
        return played(run, _MEASURES)

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


def _plan(quick: bool) -> Plan:
    client = _CLIENT[quick]
    return planned(
        conditions(quick),
        _REPETITIONS[quick],
        requests=client.requests,
        interval_s=client.interval_s,
        limit_s=client.limit_s,
        built_up_s=BUILT_UP_S,
    )


BENCH = Bench(
    name="attack-slow",
    about="Honest clients and server while an attacker holds connections, equally many over each protocol.",
    measures=kpis(*_MEASURES),
    full=_plan(quick=False),
    quick=_plan(quick=True),
    measure=_measure,
    ready=ready,
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
