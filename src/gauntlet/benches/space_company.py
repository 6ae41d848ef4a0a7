"""What company does to a message after a long rest (crate `flight-links`).

The bench `space-messages` has cells with long rests take their turns together, each in the rests of the
others, so that the core rests some 70 ms at a time and not two seconds. Here a few of them are measured both
ways in each block, so that times beside others are held against times alone under the same conditions.
"""

from functools import partial
from statistics import fmean, median

import pyarrow as pa
import pyarrow.compute as pc

from gauntlet.benches import grouped
from gauntlet.benches.contract import Bench, Measured, Plan, Tell
from gauntlet.benches.parts import Parts
from gauntlet.benches.space_link import PROVIDERS, SECURITIES, facts, machine, ready
from gauntlet.benches.space_messages import (
    APART_MS,
    MEAN,
    MEDIAN,
    Asked,
    arguments,
    check_apart,
    check_samples,
    told,
)
from gauntlet.metrics.kpi import Kpi
from gauntlet.space.programs import BENCH as PROGRAM
from gauntlet.space.programs import rows

_NS = 1e-9
_REST_MS = 2000
_OCTETS = 1024
_MEASURED = ("sdls-gcm-aws-lc", "quic-stream")

_BESIDE: Asked = ((), (128, _OCTETS), (_REST_MS,), ())
"""As many cells as have their turns together in the bench of messages, of the same kinds: 26."""

_ALONE: Asked = (_MEASURED, (_OCTETS,), (_REST_MS,), ("--cipher", "aes-256-gcm", "--alone"))

_BLOCKS = (8, 3)
_SAMPLES = (5, 1)
"""Of a cell in a block; both in full and quick."""

ALONE, BESIDE = "alone", "beside"

COMPANY = "company"


def _measure(quick: bool, seed: int, tell: Tell, parts: Parts) -> Measured:
    blocks, samples = _BLOCKS[quick], _SAMPLES[quick]
    same = facts()
    check_apart(same["libraries"])
    found = []
    for block in range(blocks):
        tell(f"Block {block + 1} of {blocks}: messages alone, and beside others.")
        ways = [(ALONE, _ALONE), (BESIDE, _BESIDE)]
        # Each way comes first as often as the other, so that a machine that warms up favours neither.
        for way, asked in ways if block % 2 == 0 else reversed(ways):
            some = ["messages", "--seed", str(seed), "--block", str(block), "--samples", str(samples)]
            one = parts.take(f"{way}-{block}", same, partial(rows, PROGRAM, [*some, *told(asked)]))
            check_samples(one, {_REST_MS: samples})
            found.append(one.append_column(COMPANY, pa.array([way] * one.num_rows)))
    everything = pa.concat_tables(found, promote_options="permissive")
    return Measured(table(everything), machine(), {"company": everything})


def table(samples: pa.Table) -> pa.Table:
    """A row for each cell that was measured both ways, way and block; what only was company is left out."""
    both = pc.and_(
        pc.is_in(samples["security"], pa.array(_MEASURED)),
        pc.and_(pc.equal(samples["cipher"], "aes-256-gcm"), pc.equal(samples["payload_octets"], _OCTETS)),
    )
    return grouped.rows(
        samples.filter(both),
        {
            "security": lambda row: row["security"],
            "provider": lambda row: row["provider"],
            "operation": lambda row: row["operation"],
            COMPANY: lambda row: row[COMPANY],
        },
        {
            "message_mean_s": lambda of: _NS * fmean(row["total_ns"] for row in of),
            "message_median_s": lambda of: _NS * median(row["total_ns"] for row in of),
            "rest_s": lambda of: _NS * median(row["rested_ns"] for row in of),
            "quiet_s": lambda of: _NS * min(row["quiet_ns"] for row in of),
        },
    )


def _plan(quick: bool) -> Plan:
    return Plan(
        {
            "security": list(_MEASURED),
            "provider": ["aws-lc", "ring"],
            "operation": ["apply", "process"],
            COMPANY: [ALONE, BESIDE],
        },
        _BLOCKS[quick],
        {
            "asked": [arguments(_ALONE), arguments(_BESIDE)],
            "samples": _SAMPLES[quick],
            "apart_ms": APART_MS,
            "cores": 1,
        },
    )


BENCH = Bench(
    name="space-company",
    about="Computing time of one message after two seconds, alone and beside others that have their turns in "
    "its rests.",
    measures=(
        MEAN,
        MEDIAN,
        Kpi("rest_s", "Rest before a message", "s", 1.0, True, "Since the same cell's work: the median."),
        Kpi("quiet_s", "Rest of the whole bench", "ms", 1e3, True, "Since work of any cell: the shortest."),
    ),
    full=_plan(quick=False),
    quick=_plan(quick=True),
    measure=_measure,
    ready=ready,
    labels={
        "security": {name: SECURITIES[name] for name in _MEASURED},
        "provider": {name: PROVIDERS[name] for name in ("aws-lc", "ring")},
        "operation": {"apply": "sender", "process": "receiver"},
        COMPANY: {ALONE: "alone", BESIDE: "beside others"},
    },
)
