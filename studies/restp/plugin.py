"""Numbers of a flow that only this study asks for: from the first SYN, of outages, of a call's start."""

from collections.abc import Callable, Mapping

import numpy as np

from gauntlet.metrics.flow import NS_PER_S, FlowData
from gauntlet.metrics.steps import Floats

OUTAGES_S = ((21.0, 31.0), (201.0, 301.0), (601.0, 651.0))
"""The outages of satellite.toml: those of section 4.4.1, one second later, since the flow starts at 1 s."""

SHORT, LONG = OUTAGES_S[0], OUTAGES_S[1]
"""The outages of 10 and of 100 s."""

RESUMED_S = 10.0
"""Over which rates before and after an outage are compared: half of the 20 s that come before the first."""

LATE_S = 0.01
"""A packet of a call that takes so much longer than the quickest one was delayed: half of their interval."""

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


def rate_while_receiving_bps(flow: FlowData) -> float | None:
    """Application bits over the time from the first to the last arrival, as section A.3.3 defines throughput;
    None where that time is none, as with a single packet.
    """
    arrivals_s = _arrivals_s(flow)
    if arrivals_s.size < 2 or arrivals_s[-1] == arrivals_s[0]:
        return None
    return 8 * float(flow.size_bytes[flow.arrived].sum()) / float(arrivals_s[-1] - arrivals_s[0])


def packets_received(flow: FlowData) -> float | None:
    """How many packets of the application arrived."""
    return float(flow.arrived.sum())


def first_arrival_s(flow: FlowData) -> float | None:
    """From the start of the session's set-up to the first arrival; None without any."""
    arrivals_s = _arrivals_s(flow)
    return float(arrivals_s[0]) - float(flow.record["start_s"]) if arrivals_s.size else None


def _waits_s(flow: FlowData) -> Floats | None:
    """How long each packet of a periodic source took from when it was due, in order; infinity: lost."""
    interval_s = flow.plan.get("app_params", {}).get("interval_s")
    if interval_s is None or not flow.exchanges:
        return None
    rows = sorted(flow.exchanges, key=lambda row: int(row["seq"]))
    due_s = float(flow.record["start_s"]) + float(interval_s) * np.array([row["seq"] for row in rows], float)
    done = [np.inf if row["completed_ns"] is None else row["completed_ns"] / NS_PER_S for row in rows]
    return np.array(done, float) - due_s


def delayed_packets(flow: FlowData) -> float | None:
    """How many packets came LATE_S and more later than the quickest did, counted from when they were due."""
    waits_s = _waits_s(flow)
    return None if waits_s is None else float((waits_s > waits_s.min() + LATE_S).sum())


def last_delayed_s(flow: FlowData) -> float | None:
    """When the last delayed packet was due, after the start; 0 where none was delayed."""
    waits_s = _waits_s(flow)
    if waits_s is None:
        return None
    delayed = np.flatnonzero(waits_s > waits_s.min() + LATE_S)
    return float(delayed[-1]) * float(flow.plan["app_params"]["interval_s"]) if delayed.size else 0.0


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


def _bits(flow: FlowData, begin_s: float, end_s: float) -> float:
    """Application bits that arrive after one instant and up to another."""
    arrived = flow.arrived
    at_s = flow.received_ns[arrived] / NS_PER_S
    return 8 * float(flow.size_bytes[arrived][(at_s > begin_s) & (at_s <= end_s)].sum())


def resumed_share(flow: FlowData) -> float | None:
    """What arrives in the RESUMED_S from the first arrival after an outage, over what arrived in as long
    before it, mean over the outages; 0 for one that was not survived, and None where nothing came before.
    """
    arrivals_s = _arrivals_s(flow)
    shares = []
    for begin_s, end_s in OUTAGES_S:
        before = _bits(flow, begin_s - RESUMED_S, begin_s)
        back = arrivals_s[arrivals_s > end_s]
        if before == 0:
            return None
        # The first arrival itself counts.
        after = _bits(flow, back[0] - 1e-9, back[0] + RESUMED_S) if back.size else 0.0
        shares.append(after / before)
    return float(np.mean(shares))


def rate_with_short_outage_bps(flow: FlowData) -> float | None:
    """Application bits that arrive until the second outage begins, over that time: the short one is in it."""
    start_s, end_s = float(flow.record["start_s"]), LONG[0]
    return _bits(flow, start_s, end_s) / (end_s - start_s)


def _repeated_in(flow: FlowData, begin_s: float, end_s: float) -> float | None:
    """Packets that the sender sent again between two instants, by its own count; None without a sample."""
    at_s, count = flow.sockets.get("t_ns"), flow.sockets.get("retransmitted_packets")
    if at_s is None or count is None:
        return None
    at_s = at_s / NS_PER_S
    inside = count[(at_s >= begin_s) & (at_s <= end_s)]
    return float(np.nanmax(inside) - np.nanmin(inside)) if inside.size else None


def repeated_in_outages(flow: FlowData) -> float | None:
    """Packets that the sender sent again while the link was gone, by its own count."""
    if not flow.sockets.get("t_ns", np.empty(0)).size:
        return None
    return sum(_repeated_in(flow, *outage) or 0.0 for outage in OUTAGES_S)


def repeated_in_short_outage(flow: FlowData) -> float | None:
    """The same in the outage of 10 s."""
    return _repeated_in(flow, *SHORT)


def repeated_in_long_outage(flow: FlowData) -> float | None:
    """The same in the outage of 100 s."""
    return _repeated_in(flow, *LONG)


MEASURES: Mapping[str, Callable[[FlowData], float | None]] = {
    "page_time_with_setup_s": page_time_with_setup_s,
    "rate_from_start_bps": rate_from_start_bps,
    "back_after_s": back_after_s,
    "outages_survived": outages_survived,
    "rate_after_outage_bps": rate_after_outage_bps,
    "repeated_in_outages": repeated_in_outages,
    "repeated_in_short_outage": repeated_in_short_outage,
    "repeated_in_long_outage": repeated_in_long_outage,
    "resumed_share": resumed_share,
    "rate_with_short_outage_bps": rate_with_short_outage_bps,
    "rate_while_receiving_bps": rate_while_receiving_bps,
    "packets_received": packets_received,
    "first_arrival_s": first_arrival_s,
    "delayed_packets": delayed_packets,
    "last_delayed_s": last_delayed_s,
}
"""By the name that study.toml gives."""
