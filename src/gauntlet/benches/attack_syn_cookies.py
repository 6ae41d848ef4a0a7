"""SYN cookies: whom they save under a flood from forged addresses, and what they cost while nobody attacks.

Each run is in a network namespace of its own, in which the kernel sends no cookies, sends them when its queue
of half-open connections is full (what Linux does unless told otherwise), or always, for every handshake. In
it the attacker forges addresses of which none answers; nothing leads out of it.
"""

import math
from collections.abc import Mapping
from typing import Any

from gauntlet.attack import namespace
from gauntlet.attack.certificates import P_256
from gauntlet.attack.kinds import SYN_FLOOD
from gauntlet.attack.measures import INVALID, kpis
from gauntlet.attack.namespace import ALWAYS, OFF, WHEN_FULL
from gauntlet.attack.run import Attack, Client, Outcome, Run
from gauntlet.attack.servers.registry import SERVERS
from gauntlet.attack.share import OF_A_CORE
from gauntlet.benches import attack_common, attack_cost
from gauntlet.benches.attack_common import Condition, facts, labels, measure, of_client, planned, play
from gauntlet.benches.contract import SAMPLES, Bench, Measured, Plan, Tell
from gauntlet.benches.parts import Parts
from gauntlet.metrics.kpi import Kpi

RATES = (2000, 10_000)
"""SYNs a second. Gauntlet's own server has room for 1,024 half-open connections, each of which the kernel
holds for seconds: either rate fills that within one.
"""

_UNDER_FLOOD = Client(40, 0.15, 4.0)
"""Who is not heard says it again one second and three seconds after (RFC 6298): the limit leaves time for
both.
"""
_LEFT_ALONE = (Client(600, 0.01, 5.0), Client(100, 0.01, 5.0))
_AHEAD_S = 2.0
_REPETITIONS = (6, 3)

_MEASURES = (
    "served_share",
    "delay_restricted_mean_s",
    "delay_median_s",
    "unserved_after_100_ms_share",
    "unserved_after_300_ms_share",
    "unserved_after_1000_ms_share",
    "unserved_after_3000_ms_share",
    "failed_share",
    "server_cpu_of_a_core",
    "offered_per_s",
    "sent_per_s",
    "resident_bytes",
    "process_growth_bytes",
    "kernel_growth_bytes",
)
_OF_A_HANDSHAKE = ("server_cpu_a_handshake_s", "client_cpu_a_handshake_s")


def conditions(quick: bool) -> list[Condition]:
    """What is measured."""
    asked = (OFF, WHEN_FULL) if quick else (OFF, WHEN_FULL, ALWAYS)
    return [
        {"cookies": cookies, "flood_per_s": rate}
        for rate in (RATES[-1:] if quick else (0, *RATES))
        for cookies in asked
    ]


def _run(cookies: str, rate: int, quick: bool) -> Run:
    """With a flood the server has its share of a core, as in the other floods; what a handshake costs is
    found without one, as for the other defences. A flood lasts until the last request is given up, so that
    nobody is served because it is over.
    """
    own = SERVERS["own"]
    if not rate:
        return Run(own, "h2", P_256, _LEFT_ALONE[quick], None, of_a_core=None, cookies=cookies)
    client = _UNDER_FLOOD
    attack = Attack(SYN_FLOOD, rate, math.ceil(_AHEAD_S + client.sends_s + client.limit_s))
    return Run(own, "h2", P_256, client, attack, client_at_s=_AHEAD_S, cookies=cookies)


def _measure(quick: bool, seed: int, tell: Tell, parts: Parts) -> Measured:
    def of(condition: Condition) -> Mapping[str, Any]:
        run = _run(str(condition["cookies"]), int(condition["flood_per_s"]), quick)
        return {SAMPLES: run.client.requests, **row(play(run))}

    return measure(
        conditions(quick), _REPETITIONS[quick], seed, tell, parts,
        of=of, same=facts(), samples=_UNDER_FLOOD.requests, beside="cookies",
    )  # fmt: skip


def row(outcome: Outcome) -> dict[str, Any]:
    """The row of a run: what became of honest clients, what the kernel had half open and sent, and without a
    flood what a handshake cost either end.
    """
    found = attack_common.sample(outcome, _MEASURES)
    if found[INVALID]:
        return {**found, **dict.fromkeys((*_OF_A_HANDSHAKE, *(it.name for it in _OF_THE_KERNEL)))}
    cost = attack_cost.row(outcome, attack_cost.NONE) if outcome.run.attack is None else {}
    return {
        **found,
        **{name: cost.get(name) for name in _OF_A_HANDSHAKE},
        "half_open": float(max(it.sockets.half_open for it in outcome.samples)),
        "cookies_sent": float(outcome.tcp["SyncookiesSent"]),
        "cookies_redeemed": float(outcome.tcp["SyncookiesRecv"]),
    }


_OF_THE_KERNEL = (
    Kpi("half_open", "Half-open connections", "", 1.0, False, "The most that the kernel held at a time."),
    Kpi("cookies_sent", "SYN cookies sent", "", 1.0, False, "By the kernel, in the whole run."),
    Kpi("cookies_redeemed", "SYN cookies redeemed", "", 1.0, True, "By clients that answered."),
)


def _plan(quick: bool) -> Plan:
    return planned(
        conditions(quick),
        _REPETITIONS[quick],
        **of_client(_UNDER_FLOOD),
        ahead_s=_AHEAD_S,
        server_of_a_core=OF_A_CORE,
        left_alone=_LEFT_ALONE[quick].requests,
    )


def _ready() -> None:
    attack_common.ready()
    namespace.check()


_COST = {it.name: it for it in attack_cost.BENCH.measures}

BENCH = Bench(
    name="attack-syn-cookies",
    about="Honest clients under SYNs from forged addresses, and what a handshake costs without them, by when "
    "the kernel sends SYN cookies.",
    measures=(*(_COST[name] for name in _OF_A_HANDSHAKE), *_OF_THE_KERNEL, *kpis(*_MEASURES)),
    full=_plan(quick=False),
    quick=_plan(quick=True),
    measure=_measure,
    ready=_ready,
    alone=True,
    labels=labels(
        _plan(quick=False),
        cookies={OFF: "never", WHEN_FULL: "when its queue is full", ALWAYS: "always"},
        flood_per_s={0: "none", **{rate: f"{rate:,} a second" for rate in RATES}},
    ),
)
