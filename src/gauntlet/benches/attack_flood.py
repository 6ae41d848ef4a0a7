"""A flood of connections: who keeps serving, at what cost to the server and to the attacker (crates `web` and
`attackers`).

The study of QUIC and TLS/TCP under attacks (key ATTACK) named its levels after what it asked of a loop in a
shell. Here a level is a multiple of what the server itself completes at most over HTTP/2 (`attack_levels`),
and the same number a second for every protocol, certificate and defence; how much of it was offered, begun
and completed stands in the row.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from gauntlet.attack import kinds
from gauntlet.attack.certificates import P_256
from gauntlet.attack.measures import invalid, kpis
from gauntlet.attack.run import Attack, Client, Run
from gauntlet.attack.servers.contract import LIMIT, OFF, RETRY
from gauntlet.attack.servers.registry import SERVERS
from gauntlet.attack.share import OF_A_CORE
from gauntlet.benches import attack_levels
from gauntlet.benches.attack_common import (
    COMPARED,
    Condition,
    facts,
    labels,
    measure,
    of_client,
    planned,
    played,
    ready,
)
from gauntlet.benches.contract import Bench, Measured, Plan, Tell
from gauntlet.benches.parts import Parts

FULL, INITIAL = "full", "initial-only"
_KINDS = {FULL: "flood", INITIAL: "flood-initial"}

LOADS = (0.0, 0.5, 1.0, 1.5, 2.0)
"""Five levels, as the study has them."""

_MEASURES = (
    "delay_of_served_mean_s",
    "delay_restricted_mean_s",
    "delay_median_s",
    "unserved_after_100_ms_share",
    "unserved_after_300_ms_share",
    "unserved_after_1000_ms_share",
    "unserved_after_3000_ms_share",
    "served_share",
    "failed_share",
    "server_cpu_of_a_core",
    "server_cpu_a_handshake_s",
    "attacker_cpu_a_handshake_s",
    "attacker_headroom",
    "offered_per_s",
    "sent_per_s",
    "completed_per_s",
    "bytes_for_a_byte",
    "resident_bytes",
    "process_growth_bytes",
    "kernel_growth_bytes",
    "dropped_packets",
    "retransmitted_segments",
)


@dataclass(frozen=True)
class _Scale:
    """How much is played."""

    conditions: Sequence[Condition]
    client: Client
    repetitions: int
    ahead_s: float
    """For how long the flood is there before the first honest request."""


def _plain(servers: Sequence[str], loads: Sequence[float]) -> list[Condition]:
    """The study's comparison: both protocols at each level."""
    return [
        _condition(server, protocol, load)
        for server in servers
        for load in loads
        for protocol in ("h2", "h3")
    ]


def _condition(
    server: str,
    protocol: str,
    load: float,
    *,
    variant: str = FULL,
    certificate: str = P_256,
    defence: str = OFF,
) -> Condition:
    return {
        "server": server,
        "over": protocol,
        "load": load,
        "variant": variant,
        "certificate": certificate,
        "defence": defence,
    }


def conditions(quick: bool) -> list[Condition]:
    """What is measured: not every combination."""
    if quick:
        return _plain(COMPARED, (0.0, 0.5, 2.0))
    both = ("h2", "h3")
    initials = [_condition("own", it, load, variant=INITIAL) for load in (1.0, 2.0) for it in both]
    retry = [
        _condition("own", "h3", 2.0, variant=INITIAL, defence=RETRY),
        *(_condition("own", "h3", load, defence=RETRY) for load in (0.0, 2.0)),
    ]
    limit = [_condition("own", it, 2.0, defence=LIMIT) for it in both]
    return [*_plain(COMPARED, LOADS), *initials, *retry, *limit]


_FULL = _Scale(conditions(quick=False), Client(50, 0.15, 10.0), 4, 2.0)
"""As many requests as the study's, which were one second apart. The limit is as long as the flood, so that
who waits its turn behind all of it is still served, as within the study's minute. Four repetitions are fewer
than its fifty, since each has fifty requests: what differs between runs differs little.
"""
_QUICK = _Scale(conditions(quick=True), Client(12, 0.15, 2.0), 3, 1.0)
_LONG = _Scale(_plain(COMPARED, (2.0,)), Client(50, 1.0, 60.0), 3, 2.0)
"""The study's own fifty requests, a second apart, with a minute for each."""


def _measure(scales: Sequence[_Scale], quick: bool, seed: int, tell: Tell, parts: Parts) -> Measured:
    scale = scales[quick]
    same = facts()
    levels = attack_levels.levels(scale.conditions, attack_levels.SEARCHES[quick], tell, parts, same)

    def of(condition: Condition) -> Mapping[str, Any]:
        load, variant, server = float(condition["load"]), str(condition["variant"]), str(condition["server"])
        if lacks := levels.lacks(server, load):
            return {**invalid(_MEASURES, lacks), **levels.columns(server)}
        seconds = math.ceil(scale.ahead_s + scale.client.sends_s)
        rate = levels.offered_per_s(server, load)
        attack = Attack(kinds.KINDS[_KINDS[variant]], rate, seconds) if load else None
        run = Run(
            SERVERS[server],
            str(condition["over"]),
            str(condition["certificate"]),
            scale.client,
            attack,
            defence=str(condition["defence"]),
            client_at_s=scale.ahead_s if attack else 0.0,
        )
        return {**played(run, _MEASURES), **levels.columns(server)}

    found = measure(
        scale.conditions, scale.repetitions, seed, tell, parts,
        of=of, same={**same, **levels.facts()}, samples=scale.client.requests,
    )  # fmt: skip
    return replace(found, raw={**found.raw, "capacities": levels.table})


def _plan(scale: _Scale, quick: bool) -> Plan:
    return planned(
        scale.conditions,
        scale.repetitions,
        **of_client(scale.client),
        ahead_s=scale.ahead_s,
        server_of_a_core=OF_A_CORE,
        **attack_levels.planned(attack_levels.SEARCHES[quick]),
    )


def _bench(name: str, about: str, full: _Scale, quick: _Scale) -> Bench:
    return Bench(
        name=name,
        about=about,
        measures=(attack_levels.CAPACITY, *kpis(*_MEASURES)),
        full=_plan(full, quick=False),
        quick=_plan(quick, quick=True),
        measure=partial(_measure, (full, quick)),
        ready=ready,
        alone=True,
        labels=labels(
            _plan(full, quick=False),
            load={0.0: "none", 0.5: "half", 1.0: "once", 1.5: "1.5 times", 2.0: "twice"},
            variant={FULL: "full handshakes", INITIAL: "first flights only"},
        ),
    )


BENCH = _bench(
    "attack-flood",
    "Honest clients, server and attacker under a flood of connections, by server, protocol, level, "
    "kind of flood, certificate and defence.",
    _FULL,
    _QUICK,
)

LONG = _bench(
    "attack-flood-long",
    "The same at twice what the server completes at most, for as long as the study's: fifty requests, one a "
    "second.",
    _LONG,
    _LONG,
)
