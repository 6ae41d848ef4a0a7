"""Delay of single messages that a periodic source sends, with and without the set-up of their session."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from gauntlet.metrics.flow import NS_PER_S, FlowData
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.steps import Floats


def message_delays_s(flow: FlowData, *, with_setup: bool) -> Floats:
    """Time of each message that arrived until its last byte was at the receiver; empty for flows that are not
    periodic.

    It begins with the set-up of the message's session (`with_setup`) or when data could flow over it; on a
    session that is kept, both are the hand-over.
    """
    if "interval_s" not in flow.plan.get("app_params", {}):
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


def _ready_ns(row: Mapping[str, Any]) -> int:
    """When the message could be handed over."""
    ready = [row["secured_ns"], row["connected_ns"], row["requested_ns"]]
    return next(int(instant) for instant in ready if instant is not None)


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
)
