"""What a handshake costs server and client: computing time, bytes, and instructions by valgrind's callgrind,
by the server's certificate, Retry, tickets and 0-RTT (crate `web`).

Instructions do not depend on what else the machine does; computing time does, and on its clock.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from statistics import median
from typing import Any

from gauntlet.attack import arena, functions
from gauntlet.attack.certificates import KEYS, P_256
from gauntlet.attack.gates import reasons
from gauntlet.attack.measures import INVALID, INVALID_RUN, NUMBERS, invalid, valid
from gauntlet.attack.run import Client, Outcome, Run
from gauntlet.attack.servers.contract import OFF, RETRY
from gauntlet.attack.servers.registry import SERVERS
from gauntlet.benches import attack_common
from gauntlet.benches.attack_common import (
    Condition,
    certificates_folder,
    facts,
    labels,
    measure,
    planned,
    play,
)
from gauntlet.benches.contract import Bench, Measured, Plan, Tell
from gauntlet.benches.parts import Parts
from gauntlet.metrics.kpi import Kpi

NONE, TICKET, EARLY = "none", "ticket", "0-rtt"
_RESUMED = {NONE: (), TICKET: ("--resume",), EARLY: ("--resume", "--early-data")}
_SERVED = {NONE: (), TICKET: (), EARLY: ("--early-data",)}

_CLIENT = (Client(250, 0.01, 5.0), Client(100, 0.01, 5.0))
_COUNTED = (2, 12)
"""Requests of two runs under callgrind, whose difference is that of ten handshakes. With tickets the first of
either is a full one.
"""
_REPETITIONS = (3, 3)
"""Few: what is counted hardly differs between repetitions."""


def conditions(quick: bool) -> list[Condition]:
    """What is measured: not every combination."""
    plain = [
        _condition(protocol, certificate)
        for certificate in ((P_256,) if quick else KEYS)
        for protocol in ("h2", "h3")
    ]
    return [
        *plain,
        _condition("h3", P_256, defence=RETRY),
        *(
            _condition(protocol, P_256, resumption=resumption)
            for resumption in ((EARLY,) if quick else (TICKET, EARLY))
            for protocol in ("h2", "h3")
        ),
    ]


def _condition(protocol: str, certificate: str, defence: str = OFF, resumption: str = NONE) -> Condition:
    return {"over": protocol, "certificate": certificate, "defence": defence, "resumption": resumption}


def _ready() -> None:
    attack_common.ready()
    arena.ready_to_count()


def _measure(quick: bool, seed: int, tell: Tell, parts: Parts) -> Measured:
    client = _CLIENT[quick]

    def of(condition: Condition) -> Mapping[str, Any]:
        resumption = str(condition["resumption"])
        run = Run(
            SERVERS["own"],
            str(condition["over"]),
            str(condition["certificate"]),
            replace(client, more=_RESUMED[resumption]),
            None,
            defence=str(condition["defence"]),
            of_a_core=None,
            more=_SERVED[resumption],
        )
        found = row(play(run), resumption)
        # Runs under callgrind take long: a first look, which has ten minutes, has none.
        if quick or found[INVALID]:
            return {**found, **_NOT_COUNTED}
        return {**found, **_instructions(run, *_COUNTED)}

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


def row(outcome: Outcome, resumption: str) -> dict[str, Any]:
    """What a handshake cost, of a run in which nothing else happened. A run whose client was to resume and
    did not is invalid: what is told of a ticket or of 0-RTT shall be one that was used.
    """
    why = reasons(outcome)
    served = sum(it.took_s is not None for it in outcome.requests)
    resumed = float(outcome.counted.get("tickets_redeemed", 0))
    early = float(outcome.counted.get("early_data", 0))
    if resumption != NONE and resumed < 0.9 * len(outcome.requests):
        why.append(f"{resumed:.0f} of {len(outcome.requests)} handshakes were resumed")
    if resumption == EARLY and early < 0.9 * len(outcome.requests):
        why.append(f"{early:.0f} of {len(outcome.requests)} requests came as early data")
    if why or not served or outcome.client_cpu_s is None:
        return invalid(_OF_A_RUN, why)
    server_s = outcome.samples[-1].cpu_s - outcome.samples[0].cpu_s
    came, left = (float(outcome.counted.get(name, 0)) for name in ("bytes_in", "bytes_out"))
    return valid(
        {
            "server_cpu_a_handshake_s": server_s / served,
            "client_cpu_a_handshake_s": outcome.client_cpu_s / served,
            "bytes_to_server_a_handshake": came / served,
            "bytes_to_client_a_handshake": left / served,
            "bytes_a_handshake": (came + left) / served,
            "handshake_median_s": _median(it.connected_s for it in outcome.requests),
            "request_median_s": _median(
                it.took_s - it.connected_s
                for it in outcome.requests
                if it.took_s is not None and it.connected_s is not None
            ),
        }
    )


def _median(found: Iterable[float | None]) -> float | None:
    """The median of what is known; none of nothing."""
    known = [it for it in found if it is not None]
    return median(known) if known else None


def _instructions(run: Run, few: int, many: int) -> Mapping[str, float | None]:
    """Those of a handshake: what the run with many requests took more than that with few; none where one was
    not served.
    """
    both = functions.counted(run, few, many, certificates_folder())
    if both is None:
        return _NOT_COUNTED
    less, more = both
    return {
        f"{who}_instructions": (more.instructions[who] - less.instructions[who]) / (many - few)
        for who in ("server", "client")
    }


_OF_A_RUN = (
    "server_cpu_a_handshake_s",
    "client_cpu_a_handshake_s",
    "bytes_to_server_a_handshake",
    "bytes_to_client_a_handshake",
    "bytes_a_handshake",
    "handshake_median_s",
    "request_median_s",
)
_NOT_COUNTED: Mapping[str, None] = dict.fromkeys(("server_instructions", "client_instructions"))


def _plan(quick: bool) -> Plan:
    return planned(
        conditions(quick),
        _REPETITIONS[quick],
        requests=_CLIENT[quick].requests,
        counted=[] if quick else list(_COUNTED),
    )


def _kpi(name: str, label: str, unit: str, factor: float, definition: str) -> Kpi:
    return Kpi(name, label, unit, factor, False, definition)


_WITH = "with a request for 1,000 bytes."

BENCH = Bench(
    name="attack-cost",
    about="What a handshake with one request costs server and client, by certificate, Retry, tickets and "
    "0-RTT.",
    measures=(
        NUMBERS["server_cpu_a_handshake_s"][0],
        _kpi("client_cpu_a_handshake_s", "Client, a handshake", "ms", 1e3, f"Its computing time, {_WITH}"),
        _kpi("bytes_to_server_a_handshake", "Bytes to the server", "B", 1.0, f"Of a handshake {_WITH}"),
        _kpi("bytes_to_client_a_handshake", "Bytes to the client", "B", 1.0, f"Of a handshake {_WITH}"),
        _kpi("bytes_a_handshake", "Bytes, a handshake", "B", 1.0, f"Both ways, {_WITH}"),
        _kpi("handshake_median_s", "To the handshake's end", "ms", 1e3, "Of the client, median of a run."),
        _kpi(
            "request_median_s",
            "Request",
            "ms",
            1e3,
            "From there to the last byte of its answer, median of a run.",
        ),
        _kpi(
            "server_instructions", "Server, instructions", "", 1.0, f"Of a handshake, by callgrind, {_WITH}"
        ),
        _kpi(
            "client_instructions", "Client, instructions", "", 1.0, f"Of a handshake, by callgrind, {_WITH}"
        ),
        INVALID_RUN,
    ),
    full=_plan(quick=False),
    quick=_plan(quick=True),
    measure=_measure,
    ready=_ready,
    alone=True,
    labels=labels(_plan(quick=False), resumption={NONE: "none", TICKET: "ticket", EARLY: "ticket and 0-RTT"}),
)
