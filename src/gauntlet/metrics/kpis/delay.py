"""One-way delay of messages: from hand-over by the sending application to receipt by the receiving one."""

from collections.abc import Callable
from functools import partial

import numpy as np

from gauntlet.metrics.flow import NS_PER_S, FlowData
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.steps import Floats
from gauntlet.metrics.tails import TAILS, tail_kpi

_DEFINITION = (
    "of the one-way delay of the messages that arrived, from the moment the sending application handed a "
    "message over to the moment the receiving application had all of it. It includes the time spent in the "
    "sender's buffer; messages that never arrived have no delay and are counted as lost. A flow that failed "
    "counts with its run's limit, for what it did not bring is in no delay."
)


def delays_s(flow: FlowData) -> Floats:
    """Delay of every message that arrived, in order of message number."""
    arrived = flow.arrived
    delays: Floats = (flow.received_ns[arrived] - flow.sent_ns[arrived]) / NS_PER_S
    return delays


def _mean(flow: FlowData) -> float | None:
    delays = delays_s(flow)
    return float(delays.mean()) if delays.size else None


def _median(flow: FlowData) -> float | None:
    delays = delays_s(flow)
    return float(np.median(delays)) if delays.size else None


def _quantile(flow: FlowData, level: float) -> float | None:
    delays = delays_s(flow)
    return float(np.quantile(delays, level)) if delays.size else None


def _kpi(short: str, words: str, compute: Callable[[FlowData], float | None]) -> Kpi:
    return Kpi(
        name=f"delay_{short}_s",
        label=f"One-way delay, {words}",
        shown_unit="ms",
        shown_factor=1e3,
        higher_is_better=False,
        definition=f"{words.capitalize()} {_DEFINITION}",
        of_arrived=True,
        of_flow=compute,
    )


KPIS = (
    _kpi("mean", "mean", _mean),
    _kpi("median", "median", _median),
    *(
        tail_kpi("delay_s", "One-way delay", level, _DEFINITION, partial(_quantile, level=level))
        for level in TAILS
    ),
)
