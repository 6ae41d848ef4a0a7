"""Delay of single messages that a periodic source sends, with and without the set-up of their session, and
the share of them that never came.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from gauntlet.metrics.flow import NS_PER_S, FlowData
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.steps import Floats
from gauntlet.metrics.tails import TAILS, tail_kpi

_PERIODIC = "interval_s"
"""Parameter of an application that only sources of single messages have."""


def message_delays_s(flow: FlowData, *, with_setup: bool) -> Floats:
    """Time of each message that arrived until its last byte was at the receiver; empty for flows that are not
    periodic.

    It begins with the set-up of the message's session (`with_setup`) or when data could flow over it; on a
    session that is kept, both are the hand-over.
    """
    if _PERIODIC not in flow.plan.get("app_params", {}):
        return np.empty(0)
    delays_ns = [
        row["completed_ns"] - (row["requested_ns"] if with_setup else _ready_ns(row))
        for row in flow.exchanges
        if row["completed_ns"] is not None
    ]
    return np.array(delays_ns, np.float64) / NS_PER_S


def message_delay_s(flow: FlowData, *, with_setup: bool) -> float | None:
    """Their mean; None without any."""
    delays_s = message_delays_s(flow, with_setup=with_setup)
    return float(delays_s.mean()) if delays_s.size else None


def message_failure_ratio(flow: FlowData) -> float | None:
    """Share of the messages that did not come; None for flows that are not periodic, and without any."""
    if _PERIODIC not in flow.plan.get("app_params", {}) or not flow.exchanges:
        return None
    return sum(row["completed_ns"] is None for row in flow.exchanges) / len(flow.exchanges)


def _quantile(flow: FlowData, level: float, *, with_setup: bool) -> float | None:
    delays_s = message_delays_s(flow, with_setup=with_setup)
    return float(np.quantile(delays_s, level)) if delays_s.size else None


def _ready_ns(row: Mapping[str, Any]) -> int:
    """When the message could be handed over."""
    ready = [row["secured_ns"], row["connected_ns"], row["requested_ns"]]
    return next(int(instant) for instant in ready if instant is not None)


_DEFINITION = (
    "of that delay over the periodic messages that arrived. A flow that failed counts with its run's limit."
)

KPIS = (
    Kpi(
        name="message_delay_s",
        label="Message delay",
        shown_unit="ms",
        shown_factor=1e3,
        higher_is_better=False,
        definition="Mean over the periodic messages that arrived: from the moment at which data can flow "
        "over the message's session to the arrival of its last byte. A flow that failed counts with its "
        "run's limit, for the messages that it did not bring are in no mean.",
        of_arrived=True,
        of_flow=partial(message_delay_s, with_setup=False),
    ),
    Kpi(
        name="message_delay_with_setup_s",
        label="Message delay, set-up included",
        shown_unit="ms",
        shown_factor=1e3,
        higher_is_better=False,
        definition="Mean over the periodic messages that arrived: from the beginning of the set-up of the "
        "message's session to the arrival of its last byte. On a session that is kept there is no set-up. "
        "A flow that failed counts with its run's limit.",
        of_arrived=True,
        of_flow=partial(message_delay_s, with_setup=True),
    ),
    Kpi(
        name="message_failure_ratio",
        most=1.0,
        label="Messages that did not come",
        shown_unit="%",
        shown_factor=100.0,
        higher_is_better=False,
        definition="Share of the periodic messages that began and were not at the receiver when the run "
        "ended, among them those whose session could not be had. Of a flow that was never established: "
        "100 %.",
        of_nothing=1.0,
        of_flow=message_failure_ratio,
    ),
    *(
        tail_kpi(name, label, level, _DEFINITION, partial(_quantile, level=level, with_setup=with_setup))
        for name, label, with_setup in (
            ("message_delay_s", "Message delay", False),
            ("message_delay_with_setup_s", "Message delay, set-up included", True),
        )
        for level in TAILS
    ),
)
