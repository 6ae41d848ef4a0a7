"""Throughput at the receiver, and how much of the link it used."""

import numpy as np

from gauntlet.metrics.flow import NS_PER_S, FlowData
from gauntlet.metrics.kpi import Kpi


def throughput_bps(flow: FlowData) -> float | None:
    """Application bits that arrived within the observation, over its length; 0 for a flow that was never
    established.
    """
    start_s, end_s = flow.observed_from_s, flow.observed_until_s
    if start_s is None or end_s is None:
        return None
    if flow.sent_ns.size:
        within = flow.arrived & (flow.received_ns <= round(end_s * NS_PER_S))
        received_bytes = int(flow.size_bytes[within].sum())
    elif flow.record.get("received_bytes") is not None:
        received_bytes = int(flow.record["received_bytes"])
    elif flow.never_established:
        received_bytes = 0
    else:
        return None
    return 8 * received_bytes / (end_s - start_s)


def capacity_utilisation(flow: FlowData) -> float | None:
    """Throughput over the mean IP-layer rate of the path's narrowest link, over the same time."""
    achieved_bps = throughput_bps(flow)
    start_s, end_s = flow.observed_from_s, flow.observed_until_s
    if achieved_bps is None or start_s is None or end_s is None or flow.capacity_bps is None:
        return None
    capacity_bps = float(flow.capacity_bps.mean(np.array([start_s, end_s]))[0])
    return achieved_bps / capacity_bps if capacity_bps > 0 else None


KPIS = (
    Kpi(
        name="throughput_bps",
        label="Throughput",
        shown_unit="Mbit/s",
        shown_factor=1e-6,
        higher_is_better=True,
        definition="Application bits that reached the receiving application, over the time from the "
        "establishment of the connection to the end of the flow (a transfer: to its last byte). A flow "
        "that was never established has 0.",
        of_nothing=0.0,
        of_flow=throughput_bps,
    ),
    Kpi(
        name="capacity_utilisation",
        most=1.0,
        label="Capacity used",
        shown_unit="%",
        shown_factor=100.0,
        higher_is_better=True,
        definition="Throughput divided by the mean IP-layer rate of the narrowest link on the way over the "
        "same time; of several ways what they carry together. Headers of transport, network and tunnel count "
        "as unused, so 100 % cannot be reached. A flow that was never established has 0 %.",
        of_nothing=0.0,
        of_flow=capacity_utilisation,
    ),
)
