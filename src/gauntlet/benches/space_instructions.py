"""How many instructions a message and a handshake take, both ends together, by valgrind's callgrind (crate
`flight-links`). Counts do not depend on what else the machine does, nor on what rests before a message.
"""

import shutil
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from gauntlet.benches import grouped, space_link
from gauntlet.benches.contract import Bench, Measured, Plan, Tell
from gauntlet.benches.grouped import Row
from gauntlet.benches.parts import Parts
from gauntlet.benches.space_link import (
    BEYOND,
    PROVIDERS,
    QUICS,
    SECURITIES,
    UNDER_RUSTLS,
    facts,
    machine,
    ready_with_openssl,
    values,
)
from gauntlet.errors import UserError
from gauntlet.experiment.runspec import Factor
from gauntlet.metrics.kpi import Kpi
from gauntlet.space import footprint
from gauntlet.space.footprint import PAYLOADS

_TIMES = 3
"""How often it is counted: AWS-LC gathers randomness when it starts, so that counts differ a little."""

HANDSHAKE = "handshake"


def _ready(programs: Callable[[], None] = space_link.ready) -> None:
    programs()
    if shutil.which("valgrind") is None:
        raise UserError("valgrind is not installed, which counts instructions (Debian: valgrind).")


def _measure(pairs: Sequence[footprint.Pair], quick: bool, seed: int, tell: Tell, parts: Parts) -> Measured:
    same, found = facts(), []
    for time in range(_TIMES):
        tell(f"{time + 1} of {_TIMES}: instructions of each security.")
        one = parts.take(f"instructions-{time}", same, lambda: footprint.instructions(quick, tell, pairs))
        found.append(one.append_column(grouped.BLOCK, pa.array([time] * one.num_rows)))
    samples = pa.concat_tables(found, promote_options="permissive")
    return Measured(table(samples), machine(), {"instructions": samples})


def table(samples: pa.Table) -> pa.Table:
    """A row for each security, provider, kind of work and time that it was counted."""
    return grouped.rows(
        samples,
        {
            "security": lambda row: row["security"],
            "provider": lambda row: row["provider"],
            "work": _work,
        },
        {"instructions": lambda of: float(of[0]["instructions"])},
    )


def _work(row: Row) -> str:
    return HANDSHAKE if row["what"] == HANDSHAKE else f"message-{row['payload_octets']}"


def _plan(securities: list[Factor], providers: list[Factor], payloads: tuple[int, ...]) -> Plan:
    work = [*(f"message-{octets}" for octets in payloads), HANDSHAKE]
    return Plan({"security": securities, "provider": providers, "work": [*work]}, _TIMES)


_MEASURES = (Kpi("instructions", "Instructions", "", 1.0, False, "By callgrind, both ends together."),)

_WORK = {
    **{f"message-{octets}": f"message of {octets:,} bytes" for octets in PAYLOADS},
    HANDSHAKE: "handshake",
}


BENCH = Bench(
    name="space-instructions",
    about="Instructions of a message with what follows it, and of a handshake, both ends together.",
    measures=_MEASURES,
    full=_plan(values(SECURITIES), values(PROVIDERS), PAYLOADS),
    quick=_plan(values(SECURITIES), values(PROVIDERS), PAYLOADS[-1:]),
    measure=partial(_measure, footprint.SECURITIES),
    ready=_ready,
    labels={"security": SECURITIES, "provider": PROVIDERS, "work": _WORK},
)


def _later(
    name: str,
    under: str,
    names: dict[Any, str],
    pairs: Sequence[footprint.Pair],
    ready: Callable[[], None] = _ready,
) -> Bench:
    """The bench of what came after the registration."""
    providers: list[Factor] = [*dict.fromkeys(provider for _, provider in pairs)]
    return Bench(
        name=name,
        about=f"Instructions of a message and of a handshake under {under}, both ends together.",
        measures=_MEASURES,
        full=_plan(values(names), providers, PAYLOADS),
        quick=_plan(values(names), providers, PAYLOADS[-1:]),
        measure=partial(_measure, pairs),
        ready=ready,
        labels={"security": names, "provider": PROVIDERS | UNDER_RUSTLS, "work": _WORK},
    )


DTLS = _later("space-instructions-dtls", "DTLS", BEYOND, footprint.BEYOND)

S2N_QUIC = _later("space-instructions-s2n", "QUIC by s2n-quic and by quinn", QUICS, footprint.QUICS)

OPENSSL = _later(
    "space-instructions-openssl",
    "QUIC by OpenSSL, AWS-LC and ring",
    {"quic-stream": SECURITIES["quic-stream"]},
    footprint.OPENSSL[1:],
    partial(_ready, ready_with_openssl),
)
