"""What is asked of flows: a KPI, a quantile of a distribution, or a share; and what a flow says of it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from gauntlet.errors import UserError
from gauntlet.experiment.strict import unknown_key
from gauntlet.metrics import tails
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.observation import NEVER, Observation, State, observed
from gauntlet.metrics.registry import registry
from gauntlet.metrics.steps import Floats

DISTRIBUTIONS: dict[str, tuple[str, str, Kpi]] = {
    name: (table, column, Kpi(name, label, unit, factor, higher, ""))
    for name, table, column, label, unit, factor, higher in (
        ("delay_s", "delays", "delay_s", "One-way delay", "ms", 1e3, False),
        ("each_message_delay_s", "delays", "message_delay_s", "Message delay", "ms", 1e3, False),
        (
            "each_message_delay_with_setup_s",
            "delays",
            "message_delay_with_setup_s",
            "Message delay, set-up included",
            "ms",
            1e3,
            False,
        ),
        (
            "window_throughput_bps",
            "windows",
            "throughput_bps",
            "Throughput in 1-s windows",
            "Mbit/s",
            1e-6,
            True,
        ),
        ("window_capacity_bps", "windows", "capacity_bps", "Capacity in 1-s windows", "Mbit/s", 1e-6, True),
    )
}
"""Quantities of which quantiles are kept, so that any can be asked for: (table, column, how it is shown)."""


_ROUNDING = 1e-9
"""99 of 100 messages are 99 %, whatever 1 - 0.01 is to a computer."""

MESSAGES = {
    "delay_s": "delay_s",
    "delay_p95_s": "delay_s",
    "delay_median_s": "delay_s",
    "message_delay_s": "each_message_delay_s",
    "message_delay_with_setup_s": "each_message_delay_with_setup_s",
    "each_message_delay_s": "each_message_delay_s",
    "each_message_delay_with_setup_s": "each_message_delay_with_setup_s",
}
"""What judges messages -> the distribution of their delays, of which the tail is told."""

OF_TAIL = {
    tails.column(name.removeprefix("each_"), level): (name, level)
    for name, (table, *_) in DISTRIBUTIONS.items()
    if table == "delays"
    for level in tails.TAILS
}
"""The KPI of a quantile -> the distribution and the level that it is of."""


class End(StrEnum):
    """An end of what a share can be that is read between kept quantiles."""

    LEAST = "least"
    MOST = "most"


@dataclass(frozen=True)
class Quantity:
    """What is read of a flow: a KPI, a quantile of a distribution, or a share of either."""

    kpi: str
    quantile: float | None = None
    between: tuple[float, float] | None = None
    """The share of the flow's samples between these, ends included; of a KPI 1 or 0."""
    end: End | None = None
    """Of such a share what it is at least, or at most, by the quantiles that are kept; None: what is told."""


def shown(quantity: Quantity, measures: Mapping[str, Kpi]) -> Kpi:
    """Label and unit of a quantity. Raises UserError when there is no such quantity."""
    if quantity.kpi in DISTRIBUTIONS:
        if quantity.quantile is None and quantity.between is None:
            raise UserError(f"The quantity {quantity.kpi} is a distribution; add quantile, such as 0.5.")
        return DISTRIBUTIONS[quantity.kpi][2]
    known = {**registry(), **measures}
    if quantity.kpi not in known:
        raise UserError(f"There is an {unknown_key(quantity.kpi, [*known, *DISTRIBUTIONS])}")
    if quantity.quantile is not None:
        raise UserError(
            f"{quantity.kpi} is one number a flow and has no quantiles; ask {', '.join(DISTRIBUTIONS)} for "
            "them, or leave quantile out."
        )
    return known[quantity.kpi]


def seen(
    quantity: Quantity,
    known: Kpi | None,
    value: float | None,
    *,
    told: float | None,
    done: bool,
    given_s: float | None,
) -> Observation | None:
    """What a flow says of a quantity; None where it does not apply to it.

    `known` is the KPI that the quantity names, if it is one; `value` what the flow has of the quantity,
    `told` what it has of the KPI; `done` whether it did what it was to do, and `given_s` how long it had. Of
    a quantity that is not known to have a value for flows that failed, such a flow has none; nor of the
    delays of what arrived.
    """
    of_delays = quantity.kpi in DISTRIBUTIONS and DISTRIBUTIONS[quantity.kpi][0] == "delays"
    of_arrived = of_delays or (known is not None and known.of_arrived)
    if done or not of_arrived:
        if value is not None and math.isfinite(value):
            return Observation(value)
        if done:
            return None
    if known is None:
        # What did not come took longer than any bound.
        beyond = of_delays and quantity.between is not None and math.isinf(quantity.between[1])
        return NEVER if quantity.between is None else Observation(float(beyond))
    found = observed(known, told, completed=False, given_s=given_s)
    if quantity.between is None or found is None:
        return found
    low, high = quantity.between
    if found.state == State.MEASURED:
        return Observation(float(low <= found.value <= high))
    # What did not end lies beyond its limit; within a range that reaches on for ever if it begins by then.
    return Observation(float(found.state == State.CENSORED and low <= found.value and math.isinf(high)))


class Kept(NamedTuple):
    """What results tell of the samples of one flow."""

    levels: Floats
    values: Floats
    """Ascending: the quantiles at the levels; or the samples themselves, each at its place of all."""
    whole: bool = False
    """Whether they are the samples: nothing lies between them then."""

    @classmethod
    def of_samples(cls, values: Floats) -> "Kept":
        """Of all samples, ascending."""
        return cls(np.arange(1, values.size + 1) / max(values.size, 1), values, whole=True)


def of_distribution(quantity: Quantity, levels: Floats, values: Floats, whole: bool = False) -> float:
    """A quantile, or the share of samples between two values, of a `Kept`; linear between kept levels.

    What is told of a share lies between its two ends, which are the levels of the kept quantiles next to each
    of the two values: give or take one sample, the share lies there whatever the samples are. Ends are equal
    where a value lies beyond all samples.
    """
    if quantity.between is None:
        return of_due(quantity.quantile or 0.0, Kept(levels, values, whole), arrived=1.0)
    low, high = quantity.between
    if not values.size or np.isnan(values).any():
        return math.nan
    below = _up_to(float(np.nextafter(low, -math.inf)), levels, values, whole)
    up_to = _up_to(high, levels, values, whole)
    match quantity.end:
        case None:
            share = up_to.told - below.told
        case End.LEAST:
            share = up_to.least - below.most
        case End.MOST:
            share = up_to.most - below.least
    return max(share, 0.0)


class _Share(NamedTuple):
    """A share of samples from kept quantiles."""

    least: float
    told: float
    most: float


def _up_to(value: float, levels: Floats, values: Floats, whole: bool) -> _Share:
    """The share of samples of at most so much. Of equal quantiles, which many alike samples leave, the last
    counts at their value and the nearest one on either side of it.
    """
    beyond = int(np.searchsorted(values, value, side="right"))
    if beyond in (0, values.size):
        return _Share(*[float(beyond > 0)] * 3)
    if whole:
        return _Share(*[float(levels[beyond - 1])] * 3)
    (low, high), (first, last) = values[beyond - 1 : beyond + 1], levels[beyond - 1 : beyond + 1]
    told = first + (value - low) / (high - low) * (last - first)
    return _Share(float(first), float(told), float(last))


def of_due(level: float, kept: Kept, *, arrived: float) -> float:
    """A quantile of the delays of all messages that were due, where a share `arrived` of them came: what did
    not come is later than all that did. Infinity where the quantile is one of those.

    Of samples it is the least that the share `level` does not exceed (type 1 of Hyndman and Fan, 1996): it
    keeps a bound exactly where that share does. Linear between two samples, as of kept quantiles, it could
    keep a bound that 28 of 30 messages, not 95 %, keep.
    """
    if arrived <= 0 or level > arrived + _ROUNDING:
        return math.inf
    if not kept.whole:
        return float(np.interp(level / arrived, kept.levels, kept.values))
    if not kept.values.size:
        return math.nan
    due = round(kept.values.size / arrived)
    place = max(math.ceil(level * due - _ROUNDING), 1)
    return float(kept.values[place - 1]) if place <= kept.values.size else math.inf
