"""Numbers of a flow that only D3.4 asks for."""

import numpy as np

from gauntlet.metrics.flow import NS_PER_S, FlowData
from gauntlet.metrics.kpi import Kpi


def packets_before_loss(flow: FlowData) -> float | None:
    """Messages sent before the first that never arrived (Table 8's NL); None when all arrived."""
    lost = np.flatnonzero(~flow.arrived)
    return float(lost[0]) if lost.size else None


def rate_while_on_bps(flow: FlowData) -> float | None:
    """Rate at which an on-off source's messages arrive while it is on.

    An on period is a run of messages, of one size, handed over no more than one and a half message times
    apart. Its rate is the bits of its messages over the time from its first to its last arrival, with one
    message time more; the periods are averaged by their lengths. None without a peak rate or on period.
    """
    peak_bps = flow.plan.get("app_params", {}).get("peak_rate_bps")
    if peak_bps is None or flow.sent_ns.size < 2:
        return None
    message_s = 8 * float(flow.size_bytes[0]) / float(peak_bps)
    new_period = np.diff(flow.sent_ns) > 1.5 * message_s * NS_PER_S
    period = np.concatenate([[0], np.cumsum(new_period)])[flow.arrived]
    if not period.size:
        return None
    received_ns, bits = flow.received_ns[flow.arrived], 8 * flow.size_bytes[flow.arrived]
    first = np.flatnonzero(np.concatenate([[True], np.diff(period) > 0]))
    began_ns, ended_ns = (end.reduceat(received_ns, first) for end in (np.minimum, np.maximum))
    return float(bits.sum() / ((ended_ns - began_ns).sum() / NS_PER_S + first.size * message_s))


PACKETS_BEFORE_LOSS = Kpi(
    name="packets_before_loss",
    label="Packets before the first loss",
    shown_unit="",
    shown_factor=1.0,
    higher_is_better=True,
    definition="Messages that the application had handed over before the first one that never arrived.",
    of_flow=packets_before_loss,
)

RATE_WHILE_ON = Kpi(
    name="rate_while_on_bps",
    label="Throughput while on",
    shown_unit="kbit/s",
    shown_factor=1e-3,
    higher_is_better=True,
    definition="Application bits of the messages of an on period over the time from their first to their "
    "last arrival, averaged over the on periods of an on-off source.",
    of_flow=rate_while_on_bps,
)
