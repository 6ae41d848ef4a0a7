"""Levels of a flood: multiples of what each server itself completes at most over HTTP/2.

What a handshake costs a server that is idle says little of what it can do: in a flood one costs half of that,
and servers differ. So every server is filled first, in the same run of a bench, by the flood's own attacker
at growing rates, until it completes clearly less than what is offered, and then at rates between that one and
the one before, since a server that is overrun may complete far less than it can: the most that it completed
in a second of the window is its capacity. A level of 2 is twice that, over every protocol, with every defence
and in every variant, so that protocols are compared at the same offered load.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from statistics import fmean
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from gauntlet.attack.certificates import P_256
from gauntlet.attack.gates import OF_A_CORE, reasons
from gauntlet.attack.kinds import FLOOD, H2, KINDS
from gauntlet.attack.run import Attack, Client, Outcome, Run
from gauntlet.attack.servers.registry import SERVERS
from gauntlet.benches.attack_common import AGAIN, Condition, play, there
from gauntlet.benches.contract import Tell
from gauntlet.benches.parts import Parts
from gauntlet.errors import RunError
from gauntlet.metrics.intervals import mean
from gauntlet.metrics.kpi import Kpi

FULL_SHARE = 0.9
"""A server that completes less than this of what is offered is full."""
_AGAIN = 2
"""Later repetitions begin so many steps below the rate that filled the server in the first one."""
_TRIES = 1 + AGAIN
"""How often a rate is played at most: one that something else on the machine disturbed is played again."""
_AHEAD_S = 2.0
"""A flood is so long there before it counts: queues are then as full as they get at its rate, or nearly."""
_INTERVAL_S = 0.5
_LIMIT_S = 5.0
"""Of the few honest requests beside it, whose time is the window."""


@dataclass(frozen=True)
class Search:
    """How capacities are looked for."""

    first_per_s: float
    """The first rate; a server that it fills already has what it completed then as its capacity."""
    step: float
    """Each further rate over the one before."""
    halvings: int
    """How often the step between the rate that filled the server and the one before is halved."""
    repetitions: int
    window_s: float

    @property
    def seconds(self) -> int:
        """How long a rate is offered."""
        return math.ceil(_AHEAD_S + self.window_s)


SEARCHES = (Search(150.0, 1.4, 2, 3, 4.0), Search(400.0, 1.8, 0, 1, 2.0))
"""In full; quick."""


@dataclass(frozen=True)
class Capacity:
    """What a server completes at most in a second over HTTP/2, connections with their handshake and one
    request each: the mean over repetitions with its 95 % interval (none of one repetition).
    """

    per_s: float
    low_per_s: float | None
    high_per_s: float | None
    repetitions: int
    attacker_most_per_s: float
    """What the attacker can begin in a second of the same before it is the slower one: by what one cost it at
    the rate that filled the server, and 90 % of its core.
    """


@dataclass(frozen=True)
class Levels:
    """Capacities of the servers that are here."""

    capacities: Mapping[str, Capacity]
    table: pa.Table
    """A row for each rate that was offered: server, repetition, offered_per_s, completed_per_s and what one
    cost the attacker (attacker_cpu_s).
    """

    def offered_per_s(self, server: str, load: float) -> float:
        """What a level comes to, the same over every protocol."""
        return round(load * self.capacities[server].per_s, 1)

    def lacks(self, server: str, load: float) -> list[str]:
        """Why a level tells nothing of a server: the attacker cannot offer as much."""
        asked, most = self.offered_per_s(server, load), self.capacities[server].attacker_most_per_s
        if asked <= most:
            return []
        return [f"the attacker can begin at most {most:.0f} a second, and this level takes {asked:.0f}"]

    def columns(self, server: str) -> dict[str, float | None]:
        """What each row says of its server."""
        it = self.capacities[server]
        return {
            CAPACITY.name: it.per_s,
            "capacity_low_per_s": it.low_per_s,
            "capacity_high_per_s": it.high_per_s,
        }

    def facts(self) -> dict[str, Any]:
        """What a manifest says, and what runs at these levels have to share."""
        return {"capacities_per_s": {name: asdict(it) for name, it in self.capacities.items()}}


CAPACITY = Kpi(
    "capacity_per_s", "The server's capacity", "1/s", 1.0, True,
    "What it completes at most over HTTP/2, a level of 1: found first, by the same attacker at growing "
    "rates.",
)  # fmt: skip


def planned(search: Search) -> dict[str, Any]:
    """What a plan says of levels."""
    return {"unit": "what the server itself completes at most over HTTP/2", "search": asdict(search)}


def levels(
    conditions: Iterable[Condition], search: Search, tell: Tell, parts: Parts, same: Mapping[str, Any]
) -> Levels:
    """The capacities of all servers of these conditions that are here, each repetition a part that stays.

    Raises RunError when a server cannot be filled, with what stands in the way.
    """
    servers = [it for it in dict.fromkeys(str(it["server"]) for it in conditions) if there(it)]
    found: dict[str, Capacity] = {}
    tables = []
    for server in servers:
        tell(f"What {SERVERS[server].words} completes at most over HTTP/2: the unit of its levels.")
        rungs: list[pa.Table] = []
        for repetition in range(1, search.repetitions + 1):
            first_per_s = search.first_per_s if not rungs else _start(rungs[0], search)
            name = f"capacity-{server}-{repetition}"
            climb = partial(_climb, server, repetition, first_per_s, search)
            rungs.append(parts.take(name, {**same, "first_per_s": first_per_s}, climb))
        found[server] = _capacity(rungs)
        tell(f"{SERVERS[server].words}: {found[server].per_s:.0f} a second.")
        tables += rungs
    return Levels(MappingProxyType(found), pa.concat_tables(tables))


def _start(first: pa.Table, search: Search) -> float:
    """Where later repetitions begin: a little below what filled the server in the first one."""
    top_per_s = max(map(_offered, first.to_pylist()))
    return round(max(search.first_per_s, top_per_s / search.step**_AGAIN), 1)


def _climb(server: str, repetition: int, first_per_s: float, search: Search) -> pa.Table:
    """Offer more and more until the server is full, then what lies between."""
    rows: list[dict[str, Any]] = []

    def fills(offered_per_s: float) -> bool:
        outcome = _played(server, offered_per_s, search)
        completed_per_s = (outcome.told("completed") or 0.0) + outcome.served_per_s
        rows.append(
            {
                "server": server,
                "repetition": repetition,
                "offered_per_s": offered_per_s,
                "completed_per_s": completed_per_s,
                "attacker_cpu_s": _cost_s(outcome),
            }
        )
        return completed_per_s < FULL_SHARE * offered_per_s

    kept_up_per_s, offered_per_s = 0.0, first_per_s
    while not fills(offered_per_s):
        kept_up_per_s, offered_per_s = offered_per_s, round(offered_per_s * search.step, 1)
    # Where the first rate fills it nothing lies between.
    for _ in range(search.halvings if kept_up_per_s else 0):
        between_per_s = round(math.sqrt(kept_up_per_s * offered_per_s), 1)
        if fills(between_per_s):
            offered_per_s = between_per_s
        else:
            kept_up_per_s = between_per_s
    return pa.Table.from_pylist(rows)


def _played(server: str, offered_per_s: float, search: Search) -> Outcome:
    """A flood at one rate; it is played again where something disturbed it."""
    run = Run(
        SERVERS[server],
        H2,
        P_256,
        Client(round(search.window_s / _INTERVAL_S), _INTERVAL_S, _LIMIT_S),
        Attack(KINDS[FLOOD], offered_per_s, search.seconds),
        client_at_s=_AHEAD_S,
    )
    for _ in range(_TRIES):
        outcome = play(run)
        why = [outcome.died] if outcome.died else reasons(outcome)
        if not why:
            return outcome
    raise RunError(
        f"What {SERVERS[server].words} completes at most is not found, so levels have no unit: {_TRIES} runs "
        f"at {offered_per_s:.0f} a second tell nothing, since {'; '.join(why)}."
        + ("" if outcome.died else " Type the same command again when nothing else runs.")
    )


def _cost_s(outcome: Outcome) -> float:
    """What one beginning cost the attacker."""
    sent = outcome.told("sent") or 0.0
    return (outcome.told("cpu_ns") or 0.0) * 1e-9 / sent if sent else math.nan


def _capacity(rungs: Sequence[pa.Table]) -> Capacity:
    """Of all repetitions."""
    found = mean([max(it.column("completed_per_s").to_pylist()) for it in rungs])
    cost_s = fmean(max(it.to_pylist(), key=_offered)["attacker_cpu_s"] for it in rungs)
    most = OF_A_CORE / cost_s if cost_s else math.inf
    return Capacity(found.value, found.low, found.high, found.n, most)


def _offered(row: Mapping[str, Any]) -> float:
    return float(row["offered_per_s"])
