"""What each security of a command link gives: attacks that are played on it (crate `flight-links`)."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from gauntlet.benches import grouped
from gauntlet.benches.contract import Bench, Measured, Plan, Tell
from gauntlet.benches.parts import Parts
from gauntlet.benches.space_link import (
    BEYOND,
    BOTH,
    S2N,
    SECURITIES,
    SERVER,
    certificates,
    keeping_to,
    machine,
    ready,
    values,
)
from gauntlet.experiment.runspec import Factor
from gauntlet.metrics.kpi import Kpi
from gauntlet.space.programs import BENCH as PROGRAM
from gauntlet.space.programs import rows

_TIMES = 3
"""How often each attack is played: with new keys each time, and to the same end."""


def _measure(securities: Sequence[str], quick: bool, seed: int, tell: Tell, parts: Parts) -> Measured:
    tell("Every attack on every security.")
    found = []
    for time in range(_TIMES):
        one = rows(PROGRAM, ["attacks", *keeping_to(securities)])
        found.append(one.append_column(grouped.BLOCK, pa.array([time] * one.num_rows)))
    samples = pa.concat_tables(found, promote_options="permissive")
    return Measured(table(samples), machine(), {"attacks": samples})


def table(samples: pa.Table) -> pa.Table:
    """A row for each attack, security and time it was played."""
    return grouped.rows(
        samples,
        {
            "attack": lambda row: row["attack"],
            "security": lambda row: row["security"],
            "certificates": lambda row: certificates(row["mutual"]),
            "resumption": lambda row: row["resumption"],
        },
        {"succeeds": lambda of: float(of[0]["outcome"] == "succeeds")},
    )


_EARLY = "replay 0-RTT"

KEPT = "0-rtt-kept"
"""Resumption with 0-RTT where space keeps sessions, as the study's server had its guard against replay
switched off. Only what is sent again of 0-RTT is played so too.
"""

_ATTACKS = (
    "command as a stranger",
    "answer as a stranger",
    "read",
    "change",
    "replay",
    "replay after a restart",
    _EARLY,
    "read with keys leaked later",
    "answer with ground's keys",
)


def _bench(name: str, about: str, securities: dict[Any, str], plan: Plan) -> Bench:
    return Bench(
        name=name,
        about=about,
        measures=(
            Kpi(
                "succeeds",
                "Attacks that succeed",
                "%",
                100.0,
                False,
                "1 where it does, 0 where not.",
                most=1.0,
            ),
        ),
        full=plan,
        quick=plan,
        measure=partial(_measure, list(securities)),
        ready=ready,
        labels={"security": securities, "resumption": {KEPT: "0-RTT, sessions kept"}},
    )


def _plan(securities: dict[Any, str], attacks: Sequence[str], resumption: Sequence[str]) -> Plan:
    factors: dict[str, list[Factor]] = {
        "attack": [*attacks],
        "security": values(securities),
        "certificates": [SERVER, BOTH],
        "resumption": [*resumption],
    }
    return Plan(factors, _TIMES)


BENCH = _bench(
    "space-attacks",
    "Attacks on a command link, played on every security: which succeed.",
    SECURITIES,
    _plan(SECURITIES, _ATTACKS, ["none", "0-rtt", KEPT]),
)


def _later(name: str, under: str, securities: dict[Any, str]) -> Bench:
    """The bench of what came after the registration and takes up no sessions, so that nothing is early."""
    return _bench(
        name,
        f"Attacks on a command link under {under}: which succeed.",
        securities,
        _plan(securities, [attack for attack in _ATTACKS if attack != _EARLY], ["none"]),
    )


DTLS = _later("space-attacks-dtls", "DTLS", BEYOND)

S2N_QUIC = _later("space-attacks-s2n", "QUIC by s2n-quic", S2N)
