"""What each security of a command link gives: attacks that are played on it (crate `flight-links`)."""

import pyarrow as pa

from gauntlet.benches import grouped
from gauntlet.benches.contract import Bench, Measured, Plan, Tell
from gauntlet.benches.parts import Parts
from gauntlet.benches.space_link import BOTH, SECURITIES, SERVER, certificates, machine, ready, values
from gauntlet.metrics.kpi import Kpi
from gauntlet.space.programs import BENCH as PROGRAM
from gauntlet.space.programs import rows

_TIMES = 3
"""How often each attack is played: with new keys each time, and to the same end."""


def _measure(quick: bool, seed: int, tell: Tell, parts: Parts) -> Measured:
    tell("Every attack on every security.")
    found = []
    for time in range(_TIMES):
        one = rows(PROGRAM, ["attacks"])
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


_PLANNED = Plan(
    {
        "attack": [
            "command as a stranger",
            "answer as a stranger",
            "read",
            "change",
            "replay",
            "replay after a restart",
            "replay 0-RTT",
            "read with keys leaked later",
            "answer with ground's keys",
        ],
        "security": values(SECURITIES),
        "certificates": [SERVER, BOTH],
        "resumption": ["none", "0-rtt"],
    },
    _TIMES,
)

BENCH = Bench(
    name="space-attacks",
    about="Attacks on a command link, played on every security: which succeed.",
    measures=(
        Kpi("succeeds", "Attacks that succeed", "%", 100.0, False, "1 where it does, 0 where not.", most=1.0),
    ),
    full=_PLANNED,
    quick=_PLANNED,
    measure=_measure,
    ready=ready,
    labels={"security": SECURITIES},
)
