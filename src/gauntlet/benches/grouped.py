"""Samples put into one row for each condition and block."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from gauntlet.benches.contract import REPETITION, SAMPLES

BLOCK = "block"
"""Column of samples: the block that they are from, from 0."""

Row = Mapping[str, Any]

Number = Callable[[Sequence[Row]], float | None]
"""What the samples of a condition come to; None: it does not apply."""


def rows(
    samples: pa.Table,
    factors: Mapping[str, Callable[[Row], Any]],
    numbers: Mapping[str, Number],
) -> pa.Table:
    """One row for each condition and block: `factors` say from a sample what its condition is, `numbers` what
    the samples of a condition come to. In the order in which conditions first come.
    """
    found: dict[tuple[Any, ...], list[Row]] = {}
    for sample in samples.to_pylist():
        condition = (*(of(sample) for of in factors.values()), int(sample[BLOCK]) + 1)
        found.setdefault(condition, []).append(sample)
    names = (*factors, REPETITION)
    made: dict[str, list[Any]] = {name: [] for name in (*names, SAMPLES, *numbers)}
    for condition, of in found.items():
        for name, value in zip(names, condition, strict=True):
            made[name].append(value)
        made[SAMPLES].append(len(of))
        for name, number in numbers.items():
            made[name].append(number(of))
    columns = {
        name: pa.array(values, pa.float64() if name in numbers else None) for name, values in made.items()
    }
    return pa.table(columns)
