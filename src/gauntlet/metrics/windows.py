"""A flow over time: what happened in each window of its observation (1 s unless told)."""

import numpy as np
import numpy.typing as npt

from gauntlet.metrics.flow import NS_PER_S, FlowData
from gauntlet.metrics.steps import Floats

WINDOW_S = 1.0
"""Window length in seconds: the sampling interval of throughput in D3.4 section 5."""


def windows(flow: FlowData, window_s: float = WINDOW_S) -> dict[str, npt.NDArray[np.generic]] | None:
    """One row a window; None without messages, but for a flow that was never established: of it nothing
    arrived in any window.

    The windows touch, so their `received_bytes` add up to what arrived within the observation. The last one
    may be shorter (`duration_s`). Columns: `window`, `start_s`, `duration_s`, `received_bytes`,
    `throughput_bps`, `capacity_bps` (mean; NaN when unlimited), `sent_messages` and `lost_messages` (of those
    handed over in the window), `delay_mean_s` and `delay_max_s` (of those that arrived in it; NaN when none
    did), and of the socket samples in it the mean of `cwnd_bytes` and `srtt_s` and the increase of
    `retransmitted_packets` (NaN without).
    """
    edges_s = flow.edges_s(window_s)
    if edges_s is None or not (flow.sent_ns.size or flow.never_established):
        return None
    count = len(edges_s) - 1
    durations_s = np.diff(edges_s)
    edges_ns = np.rint(edges_s * NS_PER_S)

    arrived = flow.arrived
    received_ns = flow.received_ns[arrived]
    place, inside = _places(received_ns, edges_ns)
    received_bytes = np.bincount(place, flow.size_bytes[arrived][inside], minlength=count)
    delay_s = ((received_ns - flow.sent_ns[arrived]) / NS_PER_S)[inside]
    arrivals = np.bincount(place, minlength=count)
    delay_max_s = np.full(count, -np.inf)
    np.maximum.at(delay_max_s, place, delay_s)

    sent_place, sent_inside = _places(flow.sent_ns, edges_ns)
    lost = ~arrived[sent_inside]
    capacity = flow.capacity_bps.mean(edges_s) if flow.capacity_bps is not None else np.full(count, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        delay_mean_s = np.bincount(place, delay_s, minlength=count) / arrivals
    return {
        "window": np.arange(count, dtype=np.int32),
        "start_s": edges_s[:-1],
        "duration_s": durations_s,
        "received_bytes": received_bytes.astype(np.int64),
        "throughput_bps": 8 * received_bytes / durations_s,
        "capacity_bps": capacity,
        "sent_messages": np.bincount(sent_place, minlength=count).astype(np.int64),
        "lost_messages": np.bincount(sent_place[lost], minlength=count).astype(np.int64),
        "delay_mean_s": delay_mean_s,
        "delay_max_s": np.where(arrivals > 0, delay_max_s, np.nan),
        "cwnd_bytes": _mean_of(flow, "cwnd_bytes", edges_ns),
        "srtt_s": _mean_of(flow, "srtt_ns", edges_ns) / NS_PER_S,
        "retransmitted_packets": _increase_of(flow, "retransmitted_packets", edges_ns),
    }


def _places(
    t_ns: npt.NDArray[np.int64], edges_ns: Floats
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """The window of each instant that lies in one, and which do; an instant on an edge belongs to the later
    window, on the very last edge to the last, so that the byte that ends a transfer counts.
    """
    place = np.searchsorted(edges_ns, t_ns, side="right") - 1
    place[t_ns == edges_ns[-1]] = len(edges_ns) - 2
    inside = (place >= 0) & (place < len(edges_ns) - 1)
    return place[inside], inside


def _mean_of(flow: FlowData, column: str, edges_ns: Floats) -> Floats:
    count = len(edges_ns) - 1
    if column not in flow.sockets:
        return np.full(count, np.nan)
    place, inside = _places(flow.sockets["t_ns"].astype(np.int64), edges_ns)
    values = flow.sockets[column][inside]
    known = ~np.isnan(values)
    samples = np.bincount(place[known], minlength=count)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Floats = np.bincount(place[known], values[known], minlength=count) / samples
    return means


def _increase_of(flow: FlowData, column: str, edges_ns: Floats) -> Floats:
    """How much a counter rose in each window, read at the last sample before each edge."""
    totals = flow.sockets.get(column)
    if totals is None or not totals.size:
        return np.full(len(edges_ns) - 1, np.nan)
    last = np.searchsorted(flow.sockets["t_ns"], edges_ns, side="right") - 1
    at_edges = np.where(last >= 0, totals[np.maximum(last, 0)], 0.0)
    increase: Floats = np.diff(at_edges)
    return increase
