"""How long after a flood honest clients are served as before (crates `web` and `attackers`)."""

from collections.abc import Mapping
from dataclasses import replace
from statistics import median
from typing import Any

from gauntlet.attack import kinds
from gauntlet.attack.certificates import P_256
from gauntlet.attack.gates import reasons
from gauntlet.attack.measures import INVALID_RUN, invalid, valid
from gauntlet.attack.run import Attack, Client, Outcome, Run
from gauntlet.attack.servers.registry import SERVERS
from gauntlet.benches import attack_levels
from gauntlet.benches.attack_common import (
    COMPARED,
    Condition,
    facts,
    labels,
    measure,
    planned,
    play,
    ready,
)
from gauntlet.benches.contract import Bench, Measured, Plan, Tell
from gauntlet.benches.parts import Parts
from gauntlet.metrics.kpi import Kpi

_QUIET_S = (3.0, 1.5)
"""Before the flood, in full and quick: what the client's delay is without it."""
_FLOOD_S = (8, 3)
_WATCHED_S = (10.0, 3.0)
"""After the flood."""
_INTERVAL_S = 0.1
_LIMIT_S = 2.0
_IN_A_ROW = 5
"""So many requests one after the other that are served as before end the recovery."""
_SLOWER, _SLOWER_S = 2.0, 0.02
"""As before: at most so many times the median before the flood, and so much besides."""
_REPETITIONS = (3, 3)
_LOAD = 2.0
"""A flood that the server cannot serve: behind one that it can nothing waits."""
_TOLD = ("recovery_time_s", "recovered")


def conditions(quick: bool) -> list[Condition]:
    """What is measured."""
    return [
        {"server": server, "over": protocol, "load": _LOAD}
        for server in (("own",) if quick else COMPARED)
        for protocol in ("h2", "h3")
    ]


def _measure(quick: bool, seed: int, tell: Tell, parts: Parts) -> Measured:
    same = facts()
    levels = attack_levels.levels(conditions(quick), attack_levels.SEARCHES[quick], tell, parts, same)
    quiet_s, flood_s, watched_s = _QUIET_S[quick], _FLOOD_S[quick], _WATCHED_S[quick]
    requests = round((quiet_s + flood_s + watched_s) / _INTERVAL_S)

    def of(condition: Condition) -> Mapping[str, Any]:
        server, load = str(condition["server"]), float(condition["load"])
        if lacks := levels.lacks(server, load):
            return {**invalid(_TOLD, lacks), **levels.columns(server)}
        rate = levels.offered_per_s(server, load)
        run = Run(
            SERVERS[server],
            str(condition["over"]),
            P_256,
            Client(requests, _INTERVAL_S, _LIMIT_S),
            Attack(kinds.KINDS["flood"], rate, flood_s),
            attack_at_s=quiet_s,
        )
        return {**row(play(run), watched_s), **levels.columns(server)}

    found = measure(
        conditions(quick), _REPETITIONS[quick], seed, tell, parts,
        of=of, same={**same, **levels.facts()}, samples=requests,
    )  # fmt: skip
    return replace(found, raw={**found.raw, "capacities": levels.table})


def row(outcome: Outcome, watched_s: float) -> dict[str, Any]:
    """When requests are served as before again, after the end of the attack; as long as was watched where
    they were not.
    """
    why = reasons(outcome)
    began_s, ended_s = outcome.attack_began_s, outcome.attack_ended_s
    before = [] if began_s is None else [
        it.took_s
        for it in outcome.requests
        if it.took_s is not None and outcome.client_began_s + it.began_s + it.took_s < began_s
    ]  # fmt: skip
    if not why and not before:
        why.append("no request was served before the flood")
    if why or ended_s is None:
        return invalid(_TOLD, why)
    usual_s = median(before) * _SLOWER + _SLOWER_S
    after_s = ended_s - outcome.client_began_s
    later = [it for it in outcome.requests if it.began_s >= after_s]
    as_before = [it.took_s is not None and it.took_s <= usual_s for it in later]
    for place in range(len(later) - _IN_A_ROW + 1):
        if all(as_before[place : place + _IN_A_ROW]):
            found_s = later[place].began_s - after_s
            return valid({"recovery_time_s": found_s, "recovered": 1.0})
    return valid({"recovery_time_s": watched_s, "recovered": 0.0})


def _plan(quick: bool) -> Plan:
    return planned(
        conditions(quick),
        _REPETITIONS[quick],
        quiet_s=_QUIET_S[quick],
        flood_s=_FLOOD_S[quick],
        watched_s=_WATCHED_S[quick],
        interval_s=_INTERVAL_S,
        **attack_levels.planned(attack_levels.SEARCHES[quick]),
    )


BENCH = Bench(
    name="attack-recovery",
    about="How long after a flood honest clients are served as before.",
    measures=(
        attack_levels.CAPACITY,
        Kpi(
            "recovery_time_s", "Recovery", "s", 1.0, False,
            "From the end of the flood to the first of five requests in a row that are served as before; as "
            "long as was watched where there are none.",
        ),
        Kpi("recovered", "Runs that recovered", "%", 100.0, True, "While it was watched.", most=1.0),
        INVALID_RUN,
    ),
    full=_plan(quick=False),
    quick=_plan(quick=True),
    measure=_measure,
    ready=ready,
    alone=True,
    labels=labels(_plan(quick=False), load={_LOAD: "twice"}),
)  # fmt: skip
