"""What the C library under a command link's security takes on other processors: code, data, instructions."""

from collections.abc import Callable
from functools import partial

import pyarrow as pa

from gauntlet.benches import grouped, space_sizes
from gauntlet.benches.contract import Bench, Measured, Plan, Tell
from gauntlet.benches.parts import Parts
from gauntlet.experiment.runspec import Factor
from gauntlet.metrics.kpi import Kpi
from gauntlet.space.elsewhere import ARCHITECTURES, Architecture, built, instructions, library, ready, size
from gauntlet.space.machine import description

_TIMES = 3
"""How often instructions are counted: keys are others each time, and so is the way to some of them."""

_WORK: dict[str, tuple[list[str], int]] = {
    "message-64": (["message", "64"], 50),
    "message-1024": (["message", "1024"], 50),
    "handshake": (["handshake"], 2),
}
"""What the program is told, and how many more the second of two runs has than the first, which has one."""


def _machine() -> dict[str, object]:
    return {**description(), "libraries": [f"aws-lc-sys {library()[1]}"]}


def _sizes(quick: bool, seed: int, tell: Tell, parts: Parts) -> Measured:
    found = []
    for it in ARCHITECTURES:
        tell(f"Code and data for {it.name}.")
        found.append({"architecture": it.name, grouped.BLOCK: 0, **size(it, built(it, tell))})
    samples = pa.Table.from_pylist(found)
    return Measured(space_sizes.table(samples, "architecture"), _machine(), {"sizes": samples})


def _instructions(quick: bool, seed: int, tell: Tell, parts: Parts) -> Measured:
    found = []
    for it in ARCHITECTURES:
        program = built(it, tell)
        for time in range(_TIMES):
            tell(f"Instructions for {it.name}, {time + 1} of {_TIMES}.")
            found += [
                {"architecture": it.name, "work": work, grouped.BLOCK: time, "instructions": each}
                for work, each in counted(partial(instructions, it, program)).items()
            ]
    samples = pa.Table.from_pylist(found)
    return Measured(table_of_instructions(samples), _machine(), {"instructions": samples})


def counted(count: Callable[[list[str]], int]) -> dict[str, int]:
    """Instructions of each kind of work: of more of it less those of once, so that the start is in none."""
    return {
        work: (count([*words, str(1 + more)]) - count([*words, "1"])) // more
        for work, (words, more) in _WORK.items()
    }


def table_of_instructions(samples: pa.Table) -> pa.Table:
    """A row for each architecture, kind of work and time that it was counted."""
    return grouped.rows(
        samples,
        {"architecture": lambda row: row["architecture"], "work": lambda row: row["work"]},
        {"instructions": lambda of: float(of[0]["instructions"])},
    )


def _named(words: Callable[[Architecture], str]) -> dict[Factor, str]:
    return {it.name: words(it) for it in ARCHITECTURES}


_NAMES: list[Factor] = [it.name for it in ARCHITECTURES]

_SIZES = Plan({"architecture": _NAMES}, 1)
"""Once: symbols are the same each time."""

_COUNTS = Plan({"architecture": _NAMES, "work": [*_WORK]}, _TIMES)

SIZES = Bench(
    name="space-sizes-elsewhere",
    about="Code and data of AWS-LC that AES-256-GCM, X25519 and Ed25519 need, compiled for other processors.",
    measures=(
        Kpi("code_bytes", "Code", "kB", 1e-3, False, "Of the symbols that are linked in."),
        Kpi("data_bytes", "Data", "kB", 1e-3, False, "Of the symbols that are linked in."),
    ),
    full=_SIZES,
    quick=_SIZES,
    measure=_sizes,
    ready=ready,
    labels={"architecture": _named(lambda it: it.name)},
)

INSTRUCTIONS = Bench(
    name="space-instructions-elsewhere",
    about="Instructions that AWS-LC takes for a message and for a handshake on other processors, both ends "
    "together, without the protocol around them.",
    measures=(Kpi("instructions", "Instructions", "", 1.0, False, "Step by step under qemu, both ends."),),
    full=_COUNTS,
    quick=_COUNTS,
    measure=_instructions,
    ready=ready,
    labels={
        "architecture": _named(lambda it: f"{it.name} ({it.cpu})"),
        "work": {
            "message-64": "message of 64 bytes",
            "message-1024": "message of 1,024 bytes",
            "handshake": "handshake",
        },
    },
)
