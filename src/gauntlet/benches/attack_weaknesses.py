"""Known weaknesses of servers, attack by attack: who holds, and whether the attack works at all.

Beside an attack on Gauntlet's own server stands its positive control: the same server with the one bound
taken away that stops it. Where that bound lies inside a library, the control is a server by an old version of
another library that lacked it, beside the same by a later one. An attack that its control withstands tells
nothing of the others.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from gauntlet.attack import kinds, unattacked, verdict
from gauntlet.attack.certificates import P_256
from gauntlet.attack.measures import INVALID, kpis, row
from gauntlet.attack.programs import weak_server
from gauntlet.attack.run import Attack, Client, Outcome, Run
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

Conditions = Callable[[bool], list[Condition]]
"""What is tried, in a first look or in full."""

AS_IT_IS, WEAKENED = "as it is", "weakened"

_CLIENT = Client(35, 0.2, 5.0)
_ALONE = Client(10, 0.1, 5.0)
_SECONDS = 8
_REPETITIONS = 3
"""What comes of them hangs little on chance."""
_IN_A_LIBRARY = ("cid-exhaustion", "path-challenge", "crypto-after-handshake")
"""What quiche 0.19.0 lacks a bound against: CVE-2024-1410, CVE-2023-6193, CVE-2024-1765."""
_WEB_SERVERS = ("nginx", "caddy")
_LIBRARIES = ("s2n-quic", "aioquic")
"""Servers that stand for a QUIC library."""
_BELOW_HTTP = ("flood-initial", "handshake-stall")
"""Before there is a request HTTP/1.1 and HTTP/2 are the same; tried is HTTP/2."""

_MEASURES = ("served_share", "delay_restricted_mean_s", "process_growth_bytes", "kernel_growth_bytes")
_QUICK = ("handshake-stall", "amplification")
CLOSED = "closed_connections"
_ENDED = Kpi(
    CLOSED, "Connections closed", "", 1.0, True,
    "Of the attacker's, how many the server ended with a CONNECTION_CLOSE, where many starts go over one.",
)  # fmt: skip
"""What a bench of libraries tells besides."""


def _attacks(quick: bool) -> Iterator[tuple[kinds.Kind, str]]:
    """Each attack but the flood of whole handshakes, over each protocol that it has."""
    for kind in kinds.KINDS.values():
        if kind.key == kinds.FLOOD or (quick and kind.key not in _QUICK):
            continue
        for protocol in kind.protocols:
            if protocol != kinds.H1 or kind.key not in _BELOW_HTTP:
                yield kind, protocol


def conditions(quick: bool) -> list[Condition]:
    """Each attack over each protocol that it has on Gauntlet's own server, and its control; on the others
    over HTTP/3, which has all of them.
    """
    return [
        {"attack": it.key, "server": server, "over": protocol, "bound": bound}
        for it, protocol in _attacks(quick)
        if protocol == kinds.H3 or not quick
        for server, bound in (
            ("own", AS_IT_IS),
            *((("own", WEAKENED),) if it.weakness else ()),
            *((name, AS_IT_IS) for name in _others(it.key) if protocol == kinds.H3 and not quick),
        )
    ]


def over_tcp(quick: bool) -> list[Condition]:
    """Each attack that there is over TLS and TCP, on servers that are not Gauntlet's own."""
    return [
        {"attack": it.key, "server": server, "over": protocol, "bound": AS_IT_IS}
        for it, protocol in _attacks(quick)
        if protocol != kinds.H3
        for server in _WEB_SERVERS
    ]


def over_further_libraries(quick: bool) -> list[Condition]:
    """Each attack over HTTP/3, on servers by QUIC libraries that no other server has."""
    return [
        {"attack": it.key, "server": server, "over": protocol, "bound": AS_IT_IS}
        for it, protocol in _attacks(quick)
        if protocol == kinds.H3
        for server in _LIBRARIES
    ]


def _others(attack: str) -> tuple[str, ...]:
    """Which servers are tried beside Gauntlet's own."""
    return (*_WEB_SERVERS, *(("quiche-old", "quiche") if attack in _IN_A_LIBRARY else ()))


def _ready() -> None:
    attack_common.ready()
    weak_server()


def _measure(of_all: Conditions, quick: bool, seed: int, tell: Tell, parts: Parts) -> Measured:
    left_alone: dict[tuple[str, ...], Outcome] = {}

    def alone(run: Run) -> Outcome:
        """The same server without an attack, played once: what it needs then hangs on no attack."""
        key = (run.server.key, run.protocol, run.weakness, str(run.tight))
        if key not in left_alone:
            left_alone[key] = unattacked.play(run, _ALONE, certificates_folder())
        return left_alone[key]

    def of(condition: Condition) -> Mapping[str, Any]:
        kind, server = kinds.KINDS[str(condition["attack"])], SERVERS[str(condition["server"])]
        run = Run(
            server,
            str(condition["over"]),
            P_256,
            _CLIENT,
            Attack(kind, kind.usual, _SECONDS),
            weakness=kind.weakness if condition["bound"] == WEAKENED else "",
            tight=kind.timed and server.tightens,
            client_at_s=1.0,
        )
        attacked = play(run)
        found = verdict.judged(attacked, alone(run))
        invalid = found.verdict == verdict.INVALID
        closed = {CLOSED: _closed(attacked)} if server.key in _LIBRARIES else {}
        numbers = {**row(attacked, _MEASURES), **closed}
        return {
            "holds": None if invalid else float(found.verdict == verdict.HELD),
            **{name: None if invalid else numbers[name] for name in (*_MEASURES, *closed)},
            INVALID: float(invalid),
            "why_invalid": "; ".join(found.why) if invalid else "",
            "why": "; ".join(found.why),
        }

    return measure(
        of_all(quick), _REPETITIONS, seed, tell, parts, of=of, same=facts(), samples=_CLIENT.requests
    )


def _closed(attacked: Outcome) -> float:
    """How many connections of the attacker the server closed."""
    ended: Mapping[str, int] = (attacked.attacker or {}).get("connections_ended") or {}
    return float(sum(count for how, count in ended.items() if how.startswith("closed")))


def _plan(of_all: Conditions, quick: bool) -> Plan:
    doses = {it.key: it.usual for it in kinds.KINDS.values()}
    more = {it.key: list(it.more) for it in kinds.KINDS.values()}
    return planned(of_all(quick), _REPETITIONS, doses=doses, more=more, seconds=_SECONDS)


def _bench(
    name: str, about: str, of_all: Conditions, ready: Callable[[], None], *, more: tuple[Kpi, ...] = ()
) -> Bench:
    return Bench(
        name=name,
        about=about,
        measures=(
            Kpi(
                "holds", "Attacks withstood", "%", 100.0, True,
                "1 where the server kept what it has to (service, memory, state, amplification), 0 where it "
                "did not.",
                most=1.0,
            ),
            *more,
            *kpis(*_MEASURES),
        ),
        full=_plan(of_all, quick=False),
        quick=_plan(of_all, quick=True),
        measure=partial(_measure, of_all),
        ready=ready,
        alone=True,
        labels=labels(_plan(of_all, quick=False)),
    )  # fmt: skip


BENCH = _bench(
    "attack-weaknesses",
    "Known weaknesses of servers: which attacks each withstands, beside the same server without the bound "
    "that stops them.",
    conditions,
    _ready,
)

OVER_TCP = _bench(
    "attack-weaknesses-tcp",
    "Known weaknesses over TLS and TCP: which attacks nginx and Caddy withstand.",
    over_tcp,
    attack_common.ready,
)

LIBRARIES = _bench(
    "attack-weaknesses-libraries",
    "Known weaknesses over HTTP/3 by further QUIC libraries: which attacks servers by s2n-quic and aioquic "
    "withstand.",
    over_further_libraries,
    attack_common.ready,
    more=(_ENDED,),
)
