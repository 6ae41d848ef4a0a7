"""What the raw samples of the bench say: medians by block, what a handshake is worth in messages."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gauntlet.metrics.intervals import mean

Row = dict[str, Any]
Key = tuple[Any, ...]
Columns = dict[str, npt.NDArray[Any]]
Values = npt.NDArray[np.float64]

CELL = ("security", "provider", "cipher", "payload_octets", "gap_ms", "operation")
KIND = ("security", "provider", "cipher", "group", "signature", "mutual", "resumption")

_RESAMPLES = 4000
_SEED = 20261123

UNIT_OCTETS = 1024
"""Messages in which handshakes are counted, as in the study."""

_UNITS = (
    ("sdls-gcm-aws-lc", "aws-lc"),
    ("quic-stream", "aws-lc"),
)
"""What sends these messages: the link security, and QUIC itself."""


@dataclass(frozen=True)
class Estimate:
    """The mean of the blocks' medians and the interval of it that follows from how the blocks differ."""

    value: float
    low: float | None
    high: float | None


def groups(table: pa.Table, keys: Sequence[str]) -> Iterator[tuple[Key, Columns]]:
    """The rows of a table by the values of some columns, in the order of these; the rest as arrays."""
    if not table.num_rows:
        return
    ordered = table.sort_by([(key, "ascending") for key in (*keys, "block", "order")])
    changes = np.zeros(ordered.num_rows, dtype=bool)
    changes[0] = True
    for key in keys:
        codes = ordered[key].combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False)
        changes[1:] |= codes[1:] != codes[:-1]
    columns = {
        name: ordered[name].to_numpy() for name in ordered.column_names if name not in keys
    }  # Nulls are nan.
    first = np.flatnonzero(changes)
    for begin, end in zip(first, [*first[1:], ordered.num_rows], strict=True):
        yield (
            tuple(ordered[key][int(begin)].as_py() for key in keys),
            {name: column[begin:end] for name, column in columns.items()},
        )


def block_medians(rows: Columns, column: str) -> Values:
    """The median of each block. Samples of one block share what the machine did meanwhile; blocks do not."""
    blocks = rows["block"]
    return np.array([np.median(rows[column][blocks == block]) for block in np.unique(blocks)])


def estimate(blocks: Values) -> Estimate:
    """The mean of the blocks' medians with its 95 % interval."""
    found = mean(blocks)
    return Estimate(found.value, found.low, found.high)


def us(ns: float | np.floating[Any] | None) -> float | None:
    """Microseconds with three digits behind the point; nan is none."""
    return None if ns is None or np.isnan(ns) else round(float(ns) / 1000, 3)


def messages(samples: pa.Table) -> list[Row]:
    """A row for each cell: median with interval and 99th percentile of the whole, medians of its parts."""
    summary = []
    for key, rows in groups(samples, CELL):
        total, crypto = rows["total_ns"], rows["crypto_ns"]
        middle = estimate(block_medians(rows, "total_ns"))
        summary.append(
            {
                **dict(zip(CELL, key, strict=True)),
                "n": len(total),
                "blocks": len(np.unique(rows["block"])),
                "median_us": us(middle.value),
                "median_low_us": us(middle.low),
                "median_high_us": us(middle.high),
                "p99_us": us(np.percentile(total, 99)),
                "mean_us": us(np.mean(total)),
                "crypto_median_us": us(np.median(crypto)),
                "framing_median_us": us(np.median(total - crypto)),
                "system_call_median_us": us(np.median(rows["system_ns"])),
                "upkeep_mean_us": us(np.mean(rows["upkeep_ns"])) if key[-1] == "process" else None,
                "datagram_octets": int(np.median(rows["datagram_octets"])),
            }
        )
    return summary


def with_total(samples: pa.Table) -> pa.Table:
    """Samples of handshakes with the sum of both ends."""
    total = samples["ground_cpu_ns"].to_numpy() + samples["space_cpu_ns"].to_numpy()
    return samples.append_column("total_cpu_ns", pa.array(total, pa.int64()))


def handshakes(samples: pa.Table) -> list[Row]:
    """A row for each kind: medians of both ends and of their sum with its interval, octets, round trips."""
    counted = ("ground_octets", "space_octets", "ground_datagrams", "space_datagrams")
    summary = []
    for key, rows in groups(with_total(samples), KIND):
        total = estimate(block_medians(rows, "total_cpu_ns"))
        summary.append(
            {
                **dict(zip(KIND, key, strict=True)),
                "n": len(rows["block"]),
                "blocks": len(np.unique(rows["block"])),
                "ground_median_us": us(np.median(rows["ground_cpu_ns"])),
                "space_median_us": us(np.median(rows["space_cpu_ns"])),
                "total_median_us": us(total.value),
                "total_low_us": us(total.low),
                "total_high_us": us(total.high),
                **{column: int(np.median(rows[column])) for column in counted},
                # Where messages could leave with the first flight ground waited for nothing.
                "round_trips": int(np.median(np.where(rows["early"], 0, rows["round_trips"]))),
            }
        )
    return summary


def break_even(message_samples: pa.Table, handshake_samples: pa.Table) -> list[Row]:
    """How many messages of 1,024 octets cost what one handshake costs, for each end and both together.

    Kinds with AES-256-GCM, and messages without a gap and after the longest that there is. The interval is
    that of the ratio when blocks of either kind are drawn anew (percentiles of 4,000 draws).
    """
    cells = {key: block_medians(rows, "total_ns") for key, rows in groups(message_samples, CELL)}
    gaps = sorted({key[4] for key in cells})
    units = [
        (security, provider, gap, side, operation, blocks)
        for security, provider in _UNITS
        for gap in sorted({*gaps[:1], *gaps[-1:]})
        for side, operation, blocks in _sides(cells, (security, provider, "aes-256-gcm", UNIT_OCTETS, gap))
    ]
    counts = []
    for key, rows in groups(with_total(handshake_samples), KIND):
        if key[2] != "aes-256-gcm":
            continue
        spent = {side: block_medians(rows, f"{column}_cpu_ns") for side, column in _COLUMNS.items()}
        for security, provider, gap, side, operation, blocks in units:
            low, value, high = ratio(spent[side], blocks)
            counts.append(
                {
                    **dict(zip(KIND, key, strict=True)),
                    "side": side,
                    "unit_security": security,
                    "unit_provider": provider,
                    "unit_operation": operation,
                    "unit_octets": UNIT_OCTETS,
                    "gap_ms": gap,
                    "messages": round(value, 1),
                    "messages_low": round(low, 1),
                    "messages_high": round(high, 1),
                }
            )
    return counts


_COLUMNS = {"ground": "ground", "space": "space", "both": "total"}


def _sides(cells: dict[Key, Values], cell: Key) -> list[tuple[str, str, Values]]:
    """What a message costs who sends it, either end, and both ends together."""
    applied, processed = (cells.get((*cell, operation)) for operation in ("apply", "process"))
    if applied is None or processed is None or len(applied) != len(processed):
        return []
    return [
        ("ground", "apply", applied),
        ("space", "apply", applied),
        ("both", "both", applied + processed),
    ]


def ratio(above: Values, below: Values) -> tuple[float, float, float]:
    """A ratio of means and the ends of its 95 % interval when blocks of either are drawn anew."""
    rng = np.random.default_rng(_SEED)
    drawn = rng.choice(above, (_RESAMPLES, above.size)).mean(1) / rng.choice(
        below, (_RESAMPLES, below.size)
    ).mean(1)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(low), float(above.mean() / below.mean()), float(high)
