"""How evenly flows that share a link divide it."""

from collections.abc import Sequence

import numpy as np

from gauntlet.metrics.flow import FlowData
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.kpis.throughput import throughput_bps


def jain_index(flows: Sequence[FlowData]) -> float | None:
    """Jain's fairness index of the flows' throughputs: 1 when equal, 1/n when one flow has all.

    Jain, Chiu, Hawe: A Quantitative Measure of Fairness and Discrimination, DEC-TR-301, 1984, equation (2).
    A flow that was never established has a throughput of 0. None for fewer than two flows, when a flow has no
    throughput to compare, and when nobody got anything.
    """
    shares = [throughput_bps(flow) for flow in flows]
    if len(shares) < 2 or any(share is None for share in shares):
        return None
    values = np.array(shares, dtype=float)
    squares = float((values**2).sum())
    return float(values.sum()) ** 2 / (len(values) * squares) if squares > 0 else None


KPIS = (
    Kpi(
        name="jain_index",
        most=1.0,
        label="Jain's fairness index",
        shown_unit="",
        shown_factor=1.0,
        higher_is_better=True,
        definition="Jain's index of the throughputs of the flows of a run: 1 when all are equal, 1/n when "
        "one of n flows has everything. A flow that was never established has nothing.",
        of_flows=jain_index,
    ),
)
