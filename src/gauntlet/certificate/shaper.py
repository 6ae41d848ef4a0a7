"""Is a shaped link as fast as it was asked to be, neither faster nor slower?"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gauntlet.certificate import tolerance
from gauntlet.certificate.answers import Findings, plural, seconds, span
from gauntlet.certificate.asked import AskedLink
from gauntlet.certificate.bucket import NEVER, Queue, departure_windows, largest_excess
from gauntlet.certificate.capture import TapPackets
from gauntlet.certificate.traffic import Traffic

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def check_rate(asked: AskedLink, tap: TapPackets, findings: Findings) -> None:
    """In no window does more leave than the bucket holds and the rate earns; needs only what left."""
    (_, fastest), bursts = _whole_rates(asked), asked.column("burst_bytes")
    excess, worst = largest_excess(
        tap.time_ns,
        tap.length,
        change_ns=asked.starts_ns,
        rate_bps=fastest,
        burst_bytes=bursts,
        rounding_ns=tolerance.SHAPER_ROUNDING_NS,
        margin_ns=tolerance.current().time_ns,
    )
    finite = fastest[np.isfinite(fastest)]
    allowance = 2 * tolerance.current().time_ns * float(finite.max(initial=0.0)) / 8e9
    failure = None
    if excess > allowance:
        failure = (
            f"{asked.link} was faster than asked: in a window that ends at {seconds(tap.time_ns[worst])} "
            f"it let through "
            f"{excess:,.0f} bytes more than the rate asked for and a burst of {int(bursts.max()):,} bytes "
            f"allow."
        )
    findings.add(
        "rate",
        asked.link,
        failure,
        f"In no window did more than the asked rate and one burst pass {asked.link} "
        f"({plural(len(tap), 'packet')}).",
        measured={"excess_bytes": None if np.isinf(excess) else round(excess, 3), "packets": len(tap)},
        expected={
            "excess_bytes": round(allowance, 3),
            "highest_rate_bps": float(finite.max()) if len(finite) else None,
        },
    )


def _whole_rates(asked: AskedLink) -> tuple[Floats, Floats]:
    """The asked rates rounded down and up to whole bytes per second, the only rates that tbf knows."""
    rates = asked.column("rate_bps")
    return np.floor(rates / 8) * 8, np.ceil(rates / 8) * 8


def check_pace(traffic: Traffic, hidden_bytes: int, findings: Findings) -> None:
    """Each packet leaves a shaped link at the instant at which an exact token bucket sends it: the link is
    work-conserving.

    `hidden_bytes`: what the link carried beside the captured packets (ARP); it may delay others.
    """
    asked, link, inputs = traffic.asked, traffic.link, traffic.inputs
    queue = _queue_in_order(traffic)
    left_ns = queue.left_ns
    (slowest, fastest), bursts = _whole_rates(asked), asked.column("burst_bytes")
    soonest_ns, latest_ns, rank = departure_windows(
        queue,
        change_ns=asked.starts_ns,
        slow_bps=slowest,
        fast_bps=fastest,
        burst_bytes=bursts,
        margin_ns=tolerance.current().time_ns,
    )
    slowest_bps = float(slowest.min(initial=np.inf))
    hidden_ns = hidden_bytes * 8e9 / slowest_bps if slowest_bps > 0 else 0.0

    early_ns = soonest_ns - tolerance.SHAPER_ROUNDING_NS * (rank + 1) - left_ns
    still_waiting = left_ns == NEVER
    late_ns = np.where(still_waiting, traffic.end_ns, left_ns) - latest_ns - hidden_ns
    early = (early_ns > tolerance.current().time_ns) & ~still_waiting
    late = late_ns > tolerance.current().late_ns
    failures = []
    if early.any():
        k = int(np.argmax(np.where(early, early_ns, -np.inf)))
        failures.append(
            f"{plural(int(early.sum()), 'packet')} left {link} before the rate asked for had earned them: "
            f"the worst left at "
            f"{seconds(left_ns[k])}, {span(early_ns[k])} too early."
        )
    if late.any():
        k = int(np.argmax(late_ns))
        what = (
            "was still waiting at the end of the run"
            if still_waiting[k]
            else f"left at {seconds(left_ns[k])}"
        )
        failures.append(
            f"{link} was slower than asked: {plural(int(late.sum()), 'packet')} left later than a shaper "
            f"of the asked rate sends "
            f"them; the worst {what}, {span(late_ns[k])} too late.{tolerance.current().why_late}"
        )
    waited = int((~still_waiting & (left_ns - queue.arrival_ns > tolerance.current().time_ns)).sum())
    gone = ~still_waiting
    findings.add(
        "pace",
        link,
        " ".join(failures) or None,
        f"All {plural(int(gone.sum()), 'packet')} left {link} when a shaper of the asked rate sends them "
        f"({waited:,} had to wait).",
        measured={
            "packets": int(gone.sum()),
            "waited_packets": waited,
            "earliest_before_due_s": _finite(early_ns[gone].max(initial=-np.inf)),
            "latest_after_due_s": _finite(late_ns.max(initial=-np.inf)),
        },
        expected={**tolerance.current().expected, "inputs": len(inputs)},
    )


def _finite(time_ns: float) -> float | None:
    return time_ns / 1e9 if np.isfinite(time_ns) else None


def _queue_in_order(traffic: Traffic) -> Queue:
    """All packets of the queue in the order in which it serves them.

    Departures first, as the tap saw them, then what is still queued. A packet of unknown arrival (a router's
    own words, or one of several identical ones) is taken to arrive when it leaves, which binds neither itself
    nor the packets behind it. Where flows pass each other, the k-th to leave could have been any that had
    come: a work-conserving link sends as soon as k of those that leave are there. Of what is still queued in
    a discipline nothing tells who goes first; it is left out.
    """
    outputs = traffic.outputs
    arrival = outputs.time_ns.copy()
    arrival[traffic.known] = traffic.inputs.time_ns[traffic.known_source]
    if traffic.asked.queue is not None:
        ready_ns = np.sort(arrival) if traffic.asked.keeps_flows_apart else np.maximum.accumulate(arrival)
        return Queue(ready_ns, outputs.length, outputs.time_ns, traffic.inputs.time_ns)
    waiting = np.flatnonzero(traffic.queued & ~traffic.matched.unclear_in)
    left = np.concatenate((outputs.time_ns, np.full(len(waiting), NEVER)))
    arrival = np.concatenate((arrival, traffic.inputs.time_ns[waiting]))
    length = np.concatenate((outputs.length, traffic.length_at_link[waiting]))
    return Queue(np.maximum.accumulate(arrival), length, left, traffic.inputs.time_ns)
