"""What a held connection takes of memory: in the server's process, and in the kernel for its sockets.

The study (key ATTACK) read the resident set of a server, in which TCP's state is not: that lies in the
kernel. Here both are the slope over the number of connections that are held, each number with a fresh server.
"""

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any

import numpy as np

from gauntlet.attack import kinds
from gauntlet.attack.certificates import P_256
from gauntlet.attack.gates import reasons
from gauntlet.attack.kinds import BUILT_UP_S
from gauntlet.attack.measures import INVALID_RUN, invalid, valid
from gauntlet.attack.run import Attack, Client, Outcome, Run
from gauntlet.attack.servers.registry import SERVERS
from gauntlet.benches.attack_common import Condition, facts, labels, measure, planned, play, ready
from gauntlet.benches.contract import Bench, Measured, Plan, Tell
from gauntlet.benches.parts import Parts
from gauntlet.metrics.kpi import Kpi

WAYS = ("handshake-stall", "header-drip")
"""Connections whose handshake is not over, and established ones; keys of `gauntlet.attack.kinds`."""

_HELD = ((100, 400, 800), (100, 500))
_CLIENT = Client(5, 0.2, 5.0)
_REPETITIONS = (3, 3)
"""Few: memory hangs on how many are held, and hardly on chance."""


def conditions(quick: bool) -> list[Condition]:
    """What is measured: of nginx what the study compares."""
    if quick:
        return [_condition("own", protocol, "header-drip") for protocol in ("h2", "h3")]
    own = [_condition("own", protocol, way) for way in WAYS for protocol in kinds.PROTOCOLS]
    return [*own, *(_condition("nginx", protocol, "header-drip") for protocol in ("h1", "h3"))]


def _condition(server: str, protocol: str, way: str) -> Condition:
    return {"server": server, "over": protocol, "way": way}


def _measure(quick: bool, seed: int, tell: Tell, parts: Parts) -> Measured:
    def of(condition: Condition) -> Mapping[str, Any]:
        kind = kinds.KINDS[str(condition["way"])]
        runs = [
            Run(
                SERVERS[str(condition["server"])],
                str(condition["over"]),
                P_256,
                _CLIENT,
                Attack(kind, held, BUILT_UP_S + 2),
                client_at_s=BUILT_UP_S + 1.0,
            )
            for held in _HELD[quick]
        ]
        return row([play(run) for run in runs])

    return measure(
        conditions(quick),
        _REPETITIONS[quick],
        seed,
        tell,
        parts,
        of=of,
        same=facts(),
        samples=len(_HELD[quick]),
    )


def row(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The slopes over how many were held; none where one of the runs is invalid."""
    why = [it for outcome in outcomes for it in reasons(outcome)]
    held = [outcome.held for outcome in outcomes]
    if not why and len(set(held)) < 2:
        why.append(f"{held[0]} connections were held in each run")
    if why:
        return invalid(_SLOPES, dict.fromkeys(why))
    return valid(
        {
            name: float(np.polyfit(held, [of(outcome) for outcome in outcomes], 1)[0])
            for name, of in _SLOPES.items()
        }
    )


_SLOPES: Mapping[str, Callable[[Outcome], int]] = {
    "process_bytes_a_connection": lambda outcome: outcome.process_growth_bytes,
    "kernel_bytes_a_connection": lambda outcome: outcome.kernel_growth_bytes,
    "bytes_a_connection": lambda outcome: outcome.process_growth_bytes + outcome.kernel_growth_bytes,
}


def _plan(quick: bool) -> Plan:
    return planned(conditions(quick), _REPETITIONS[quick], held=list(_HELD[quick]))


def _kpi(name: str, label: str, definition: str) -> Kpi:
    return Kpi(name, label, "kB", 1e-3, False, definition, least=-inf)


BENCH = Bench(
    name="attack-memory",
    about="What a connection that is held takes of memory, in the server's process and in the kernel.",
    measures=(
        _kpi("process_bytes_a_connection", "Process, a connection", "Slope of the proportional set."),
        _kpi(
            "kernel_bytes_a_connection",
            "Sockets, a connection",
            "Slope of the kernel's memory for the server's sockets: the objects and what is queued in them.",
        ),
        _kpi("bytes_a_connection", "Both, a connection", "The two together."),
        INVALID_RUN,
    ),
    full=_plan(quick=False),
    quick=_plan(quick=True),
    measure=_measure,
    ready=ready,
    alone=True,
    labels=labels(
        _plan(quick=False),
        way={"handshake-stall": "handshakes that stall", "header-drip": "established, headers in drops"},
    ),
)
