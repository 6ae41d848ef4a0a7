"""Numbers of a flow that only this study asks for: from the first SYN on, and what outages leave."""

import numpy as np

from gauntlet.metrics.flow import NS_PER_S, FlowData
from gauntlet.metrics.kpi import Kpi
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


PAGE_TIME = Kpi(
    name="page_time_with_setup_s",
    label="Page load time, set-up included",
    shown_unit="s",
    shown_factor=1.0,
    higher_is_better=False,
    definition="From the moment at which the browser begins to open its session to the last byte of the "
    "last object of the first page. A page that did not come counts with its run's limit.",
    censored=True,
    of_flow=page_time_with_setup_s,
)

RATE_FROM_START = Kpi(
    name="rate_from_start_bps",
    label="Throughput, handshake included",
    shown_unit="Mbit/s",
    shown_factor=1e-6,
    higher_is_better=True,
    definition="Application bits that arrive while the sender sends, over the time from the start of its "
    "session's set-up to the end of its duration.",
    of_flow=rate_from_start_bps,
)

BACK_AFTER = Kpi(
    name="back_after_s",
    label="Time to the first arrival after an outage",
    shown_unit="s",
    shown_factor=1.0,
    higher_is_better=False,
    definition="From the end of an outage to the next arrival at the receiving application, mean over the "
    "outages of the run. A flow that an outage ended counts with its run's limit.",
    censored=True,
    of_flow=back_after_s,
)

OUTAGES_SURVIVED = Kpi(
    name="outages_survived",
    label="Outages survived",
    shown_unit="",
    shown_factor=1.0,
    higher_is_better=True,
    definition="After how many of the three outages something arrived before the next.",
    most=float(len(OUTAGES_S)),
    of_flow=outages_survived,
)

RATE_AFTER_OUTAGE = Kpi(
    name="rate_after_outage_bps",
    label="Throughput in the 25 s after an outage",
    shown_unit="Mbit/s",
    shown_factor=1e-6,
    higher_is_better=True,
    definition="Application bits that arrive in the 25 s after an outage over that time, mean over the "
    "outages of the run.",
    of_flow=rate_after_outage_bps,
)

REPEATED_IN_OUTAGES = Kpi(
    name="repeated_in_outages",
    label="Packets sent again during outages",
    shown_unit="",
    shown_factor=1.0,
    higher_is_better=False,
    definition="Packets that the sender's transport sent again while the link was gone: probes, and the "
    "repetitions of expired timers.",
    of_flow=repeated_in_outages,
)

OUTAGE_MEASURES = (BACK_AFTER, OUTAGES_SURVIVED, RATE_AFTER_OUTAGE, REPEATED_IN_OUTAGES)
