"""What the raw samples say: medians by block, the study's method beside them, break-even counts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from gauntlet.metrics.intervals import mean
from gauntlet.space.published import (
    HANDSHAKES,
    MESSAGES,
    METHOD_GAP_MS,
    METHOD_HANDSHAKES,
    METHOD_SAMPLES,
)

Row = dict[str, Any]

_CELL = ("security", "provider", "cipher", "payload_octets", "gap_ms", "operation")
_KIND = ("security", "provider", "cipher", "group", "signature", "mutual", "resumption")
_RESAMPLES = 4000
_SEED = 20261123


@dataclass(frozen=True)
class Estimate:
    """A median over blocks and the interval of it that follows from how the blocks differ."""

    value: float
    low: float | None
    high: float | None


def _groups(table: pa.Table, keys: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in table.to_pylist():
        found.setdefault(tuple(row[key] for key in keys), []).append(row)
    return found


def block_medians(rows: Iterable[Row], column: str) -> list[float]:
    """The median of each block. Samples of one block share what the machine did meanwhile; blocks do not."""
    blocks: dict[int, list[float]] = {}
    for row in rows:
        blocks.setdefault(row["block"], []).append(row[column])
    return [float(np.median(values)) for _, values in sorted(blocks.items())]


def estimate(rows: Iterable[Row], column: str) -> Estimate:
    """The mean of the blocks' medians with its 95 % interval."""
    found = mean(block_medians(rows, column))
    return Estimate(found.value, found.low, found.high)


def _us(ns: float | None) -> float | None:
    return None if ns is None else round(ns / 1000, 3)


def messages(samples: pa.Table) -> list[Row]:
    """A row for each cell: median with interval and 99th percentile of the whole, medians of its parts."""
    summary = []
    for key, rows in sorted(_groups(samples, _CELL).items(), key=lambda item: str(item[0])):
        total = estimate(rows, "total_ns")
        crypto = [row["crypto_ns"] for row in rows if row["crypto_ns"] is not None]
        framing = [row["total_ns"] - row["crypto_ns"] for row in rows if row["crypto_ns"] is not None]
        summary.append(
            {
                **dict(zip(_CELL, key, strict=True)),
                "n": len(rows),
                "median_us": _us(total.value),
                "median_low_us": _us(total.low),
                "median_high_us": _us(total.high),
                "p99_us": _us(float(np.percentile([row["total_ns"] for row in rows], 99))),
                "crypto_median_us": _us(float(np.median(crypto))) if crypto else None,
                "framing_median_us": _us(float(np.median(framing))) if framing else None,
                "system_call_median_us": _us(float(np.median([row["system_ns"] for row in rows]))),
                "upkeep_mean_us": _us(float(np.mean([row["upkeep_ns"] for row in rows]))),
                "datagram_octets": int(np.median([row["datagram_octets"] for row in rows])),
            }
        )
    return summary


def handshakes(samples: pa.Table) -> list[Row]:
    """A row for each kind: medians of both ends and of their sum with its interval, octets, round trips."""
    summary = []
    for key, rows in sorted(_groups(_with_total(samples), _KIND).items(), key=lambda item: str(item[0])):
        total = estimate(rows, "total_cpu_ns")
        summary.append(
            {
                **dict(zip(_KIND, key, strict=True)),
                "n": len(rows),
                "ground_median_us": _us(float(np.median([row["ground_cpu_ns"] for row in rows]))),
                "space_median_us": _us(float(np.median([row["space_cpu_ns"] for row in rows]))),
                "total_median_us": _us(total.value),
                "total_low_us": _us(total.low),
                "total_high_us": _us(total.high),
                **{
                    column: int(np.median([row[column] for row in rows]))
                    for column in (
                        "ground_octets",
                        "space_octets",
                        "ground_datagrams",
                        "space_datagrams",
                        "round_trips",
                    )
                },
            }
        )
    return summary


def _with_total(samples: pa.Table) -> pa.Table:
    total = [row["ground_cpu_ns"] + row["space_cpu_ns"] for row in samples.to_pylist()]
    return samples.append_column("total_cpu_ns", pa.array(total, pa.int64()))


def three_columns(message_samples: pa.Table, handshake_samples: pa.Table) -> list[Row]:
    """Published, its method again (a mean of few, cold), corrected (a median with interval, warm).

    For handshakes the method is a mean of ten with a certificate of space alone; corrected, both ends prove
    who they are, as under SDLS. What was not measured is none.
    """
    cells = _groups(message_samples, _CELL)
    table = []
    for printed in MESSAGES:
        name = (printed.security, printed.provider, "aes-256-gcm", printed.payload_octets)
        cold = cells.get((*name, METHOD_GAP_MS, printed.operation), [])
        warm = cells.get((*name, 0, printed.operation), [])
        again = sorted(cold, key=lambda row: row["order"])[:METHOD_SAMPLES]
        table.append(
            _three(
                f"{printed.security} ({printed.provider}) {printed.operation}, "
                f"{printed.payload_octets} octets",
                printed.where,
                printed.microseconds,
                [row["total_ns"] for row in again],
                estimate(warm, "total_ns") if warm else None,
            )
        )
    kinds = _groups(_with_total(handshake_samples), _KIND)
    for group in HANDSHAKES:
        kind = ("quic-stream", "aws-lc", "aes-256-gcm", group.group, "ed25519")
        again = sorted(_kind(kinds, (*kind, False, "none")), key=lambda row: row["order"])[:METHOD_HANDSHAKES]
        mutual = _kind(kinds, (*kind, True, "none"))
        table.append(
            _three(
                f"QUIC handshake, {group.group}, both ends together",
                "Table 4.3",
                group.total,
                [row["total_cpu_ns"] for row in again],
                estimate(mutual, "total_cpu_ns") if mutual else None,
            )
        )
    return table


def _kind(kinds: dict[tuple[Any, ...], list[Row]], wanted: tuple[Any, ...]) -> list[Row]:
    return kinds.get(wanted, [])


def _three(
    what: str, where: str, published_us: float, again_ns: list[float], corrected: Estimate | None
) -> Row:
    return {
        "what": what,
        "where": where,
        "published_us": published_us,
        "method_again_us": _us(float(np.mean(again_ns))) if again_ns else None,
        "method_again_n": len(again_ns),
        "corrected_us": _us(corrected.value) if corrected else None,
        "corrected_low_us": _us(corrected.low) if corrected else None,
        "corrected_high_us": _us(corrected.high) if corrected else None,
    }


def break_even(message_samples: pa.Table, handshake_samples: pa.Table) -> list[Row]:
    """How many messages of 1,024 octets under SDLS cost what one handshake costs, both ends together.

    The interval is that of the ratio when blocks of either kind are drawn anew (percentiles of 4,000 draws).
    """
    cells = _groups(message_samples, _CELL)
    counts = []
    kinds = _groups(_with_total(handshake_samples), _KIND)
    sdls = ("sdls-gcm-aws-lc", "aws-lc", "aes-256-gcm", 1024)
    for gap in sorted({key[4] for key in cells}):
        applied, processed = (
            block_medians(cells.get((*sdls, gap, operation), []), "total_ns")
            for operation in ("apply", "process")
        )
        if not applied or len(applied) != len(processed):
            continue
        message = np.array(applied) + np.array(processed)
        for key, rows in sorted(kinds.items(), key=lambda item: str(item[0])):
            low, value, high = _ratio(np.array(block_medians(rows, "total_cpu_ns")), message)
            counts.append(
                {
                    **dict(zip(_KIND, key, strict=True)),
                    "sdls_gap_ms": gap,
                    "messages": round(value, 1),
                    "messages_low": round(low, 1),
                    "messages_high": round(high, 1),
                }
            )
    return counts


def _ratio(above: np.ndarray, below: np.ndarray) -> tuple[float, float, float]:
    rng = np.random.default_rng(_SEED)
    drawn = rng.choice(above, (_RESAMPLES, above.size)).mean(1) / rng.choice(
        below, (_RESAMPLES, below.size)
    ).mean(1)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(low), float(above.mean() / below.mean()), float(high)
