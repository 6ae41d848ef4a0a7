"""The slowest messages: the quantiles of delays that are told beside the middle, and the KPIs of them."""

from collections.abc import Callable

from gauntlet.metrics.flow import FlowData
from gauntlet.metrics.kpi import Kpi

TAILS = (0.95, 0.99, 0.999, 1.0)
"""Levels that are told of every delay; the last is the worst message."""

_WORDS = {
    0.95: "95th percentile",
    0.99: "99th percentile",
    0.999: "99.9th percentile",
    1.0: "worst",
}


OF_DUE = (
    "Of all messages that were due: one that never came is later than all that did, and a flow that failed "
    "has none."
)
"""What a quantile is of where what never came counts, in place of a KPI's own definition."""


def short(level: float) -> str:
    """A level as people write it: p99, p99.9; the worst."""
    return "worst" if level == 1 else f"p{100 * level:g}"


def key(level: float) -> str:
    """The same as part of a column's name: p99, p99_9, max."""
    return "max" if level == 1 else short(level).replace(".", "_")


def column(delay: str, level: float) -> str:
    """The column of the table of flows that has a quantile of a delay, where `level` is one of `TAILS`:
    message_delay_p99_s.
    """
    return f"{delay.removesuffix('_s')}_{key(level)}_s"


def tail_kpi(
    delay: str,
    label: str,
    level: float,
    definition: str,
    compute: Callable[[FlowData], float | None],
) -> Kpi:
    """The KPI of a quantile of a delay; `definition` goes on where its words end."""
    words = _WORDS[level]
    return Kpi(
        name=column(delay, level),
        label=f"{label}, {words}",
        shown_unit="ms",
        shown_factor=1e3,
        higher_is_better=False,
        definition=f"{words[0].upper()}{words[1:]} {definition}",
        of_arrived=True,
        of_tail=True,
        of_flow=compute,
    )
