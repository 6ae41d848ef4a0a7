"""Numbers of a flow that only this study asks for: from the first SYN on, and what outages leave."""

from collections.abc import Callable, Mapping

import numpy as np

from gauntlet.metrics.flow import NS_PER_S, FlowData
from gauntlet.metrics.steps import Floats

OUTAGES_S = ((21.0, 31.0), (201.0, 301.0), (601.0, 651.0))
"""The outages of satellite.toml: those of section 4.4.1, one second later, since the flow starts at 1 s."""

BUSY_S = 25.0
"""Over which a rate after an outage is taken: half of the 50 s of the study's own tracker (section 4.4.1)."""


def page_time_with_setup_s(flow: FlowData) -> float | None:
    """From the start of the session's set-up to the last byte of the first page; None if it never came."""
    first = [one for one in flow.exchanges if one["object"].split(",")[0] == "page 0"]
    if flow.record.get("app") != "web" or not first or any(one["outcome"] != "ok" for one in first):
        return None
    ended_s = max(int(one["completed_ns"]) for one in first) / NS_PER_S
    return ended_s - float(flow.record["start_s"])


def rate_from_start_bps(flow: FlowData) -> float | None:
    """Application bits that arrived by the end of the flow's duration, over that duration.

    Unlike the throughput, which begins when the session stands, it contains the wait for the handshake.
    """
    duration_s = flow.plan.get("app_params", {}).get("duration_s")
    if duration_s is None:
        return None
    end_s = float(flow.record["start_s"]) + float(duration_s)
    within = flow.arrived & (flow.received_ns <= end_s * NS_PER_S)
    return 8 * float(flow.size_bytes[within].sum()) / float(duration_s)


def _arrivals_s(flow: FlowData) -> Floats:
    """When messages arrived, in order, seconds of the run."""
    arrivals: Floats = np.sort(flow.received_ns[flow.arrived]) / NS_PER_S
    return arrivals


def back_after_s(flow: FlowData) -> float | None:
    """Mean time from the end of an outage to the next arrival; None when one was not survived."""
    arrivals_s = _arrivals_s(flow)
    ends_s = np.array([end_s for _, end_s in OUTAGES_S])
    places = np.searchsorted(arrivals_s, ends_s)
    if (places == arrivals_s.size).any():
        return None
    return float((arrivals_s[places] - ends_s).mean())


def outages_survived(flow: FlowData) -> float | None:
    """After how many outages something arrived before the next one, or before the end."""
    arrivals_s = _arrivals_s(flow)
    ends_s = [begin_s for begin_s, _ in OUTAGES_S[1:]] + [np.inf]
    spans = zip((end_s for _, end_s in OUTAGES_S), ends_s, strict=True)
    return float(sum(bool(((arrivals_s > low) & (arrivals_s < high)).any()) for low, high in spans))


def rate_after_outage_bps(flow: FlowData) -> float | None:
    """Application bits that arrive in the first BUSY_S after an outage, as a rate, mean over the outages."""
    arrived = flow.arrived
    at_s, bits = flow.received_ns[arrived] / NS_PER_S, 8 * flow.size_bytes[arrived]
    rates = [float(bits[(at_s > end_s) & (at_s <= end_s + BUSY_S)].sum()) / BUSY_S for _, end_s in OUTAGES_S]
    return float(np.mean(rates))


def repeated_in_outages(flow: FlowData) -> float | None:
    """Packets that the sender sent again while the link was gone, by its own count."""
    at_s, count = flow.sockets.get("t_ns"), flow.sockets.get("retransmitted_packets")
    if at_s is None or count is None or not count.size:
        return None
    at_s = at_s / NS_PER_S
    total = 0.0
    for begin_s, end_s in OUTAGES_S:
        inside = count[(at_s >= begin_s) & (at_s <= end_s)]
        if inside.size:
            total += float(np.nanmax(inside) - np.nanmin(inside))
    return total


MEASURES: Mapping[str, Callable[[FlowData], float | None]] = {
    "page_time_with_setup_s": page_time_with_setup_s,
    "rate_from_start_bps": rate_from_start_bps,
    "back_after_s": back_after_s,
    "outages_survived": outages_survived,
    "rate_after_outage_bps": rate_after_outage_bps,
    "repeated_in_outages": repeated_in_outages,
}
"""By the name that study.toml gives."""
