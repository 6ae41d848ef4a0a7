"""Does the queue of a link stay below its limit, and is a packet dropped only when the queue is full?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gauntlet.certificate import tolerance
from gauntlet.certificate.answers import Findings, plural, seconds
from gauntlet.certificate.traffic import Traffic

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Occupancy:
    """What was queued when each input arrived, without it: at least and at most, in `unit`s, and the limit
    then (at least, at most)."""

    unit: str
    size: Ints
    at_least: Ints
    at_most: Ints
    limit_low: npt.NDArray[np.float64]
    limit_high: npt.NDArray[np.float64]

    @property
    def may_be_full(self) -> Flags:
        """Which inputs may have found no room."""
        return self.at_most + self.size > self.limit_low

    @property
    def must_be_full(self) -> Flags:
        """Which inputs cannot have found room."""
        return self.at_least + self.size > self.limit_high


def occupancy(traffic: Traffic) -> Occupancy:
    """Replay the queue of a stage: bytes for a tbf's own, packets for a netem, else what its limit counts.

    Departures and arrivals at the same instant (within the tolerance) may have happened in either order; this
    is the difference between `at_least` and `at_most`.
    """
    inputs = traffic.inputs
    packets = np.ones(len(inputs), np.int64)
    if traffic.asked.queue is not None:
        unit = "packet" if "limit_packets" in traffic.asked.queue else "byte"
        limit, size = "", packets if unit == "packet" else traffic.length_at_link
    elif traffic.asked.kind == "tbf":
        unit, limit, size = "byte", "queue_limit_bytes", traffic.length_at_link
    else:
        unit, limit, size = "packet", "limit_packets", packets
    copies = np.where(traffic.queued, 1, traffic.matched.copies)
    held = size * copies
    through = np.cumsum(held)
    matched = np.flatnonzero(traffic.matched.source >= 0)
    left_ns = traffic.outputs.time_ns[matched]
    gone = np.concatenate(([0], np.cumsum(size[traffic.matched.source[matched]])))
    gone_most = gone[np.searchsorted(left_ns, inputs.time_ns + tolerance.current().time_ns, side="right")]
    gone_least = gone[np.searchsorted(left_ns, inputs.time_ns - tolerance.current().time_ns, side="left")]
    own = np.flatnonzero(traffic.own_words)
    own_size = int(traffic.outputs.length[own].sum()) if unit == "byte" else len(own)
    return Occupancy(
        unit=unit,
        size=size,
        at_least=np.maximum(through - held - gone_most, 0),
        at_most=through - held - gone_least + own_size,
        limit_low=traffic.asked.least(limit, inputs.time_ns) if limit else _fewest(traffic),
        limit_high=traffic.asked.most(limit, inputs.time_ns) if limit else _most(traffic),
    )


SFQ_FLOW_PACKETS = 127
"""The most packets of one flow in an SFQ (`SFQ_MAX_DEPTH` in the kernel's `net/sched/sch_sfq.c`)."""


def _most(traffic: Traffic) -> npt.NDArray[np.float64]:
    """The limit of a queue that is not a tbf's own; infinite where it has none."""
    asked = traffic.asked.queue or {}
    limit = asked.get("limit_packets", asked.get("limit_bytes", asked.get("memory_bytes", np.inf)))
    return np.full(len(traffic.inputs), float(limit))


def _fewest(traffic: Traffic) -> npt.NDArray[np.float64]:
    """From how much on it may drop because it is full: CAKE counts the kernel's memory, and SFQ each flow."""
    asked = traffic.asked.queue or {}
    if asked["kind"] == "cake":
        return np.zeros(len(traffic.inputs)) if "memory_bytes" in asked else _most(traffic)
    if asked["kind"] == "sfq":
        return np.minimum(_most(traffic), SFQ_FLOW_PACKETS)
    return _most(traffic)


def check_limit(traffic: Traffic, queue: Occupancy, findings: Findings) -> None:
    """No packet was let into a queue that had no room for it."""
    link, unit = traffic.link, queue.unit
    entered = (traffic.matched.copies > 0) | traffic.queued
    filled = (queue.at_least + queue.size)[entered]
    above = (filled - queue.limit_high[entered]).max(initial=-np.inf)
    failure = None
    if above > 0:
        k = np.flatnonzero(entered)[int(np.argmax(filled - queue.limit_high[entered]))]
        failure = (
            f"The queue of {link} was above its limit: at {seconds(traffic.inputs.time_ns[k])} it held at "
            f"least "
            f"{plural(int(queue.at_least[k] + queue.size[k]), unit)} where {int(queue.limit_high[k]):,} "
            f"are allowed."
        )
    findings.add(
        "queue",
        link,
        failure,
        f"The queue of {link} never held more than its limit; the most it held was about "
        f"{plural(int(filled.max(initial=0)), unit)}.",
        measured={f"most_{unit}s": int(filled.max(initial=0))},
        expected={f"limit_{unit}s": int(queue.limit_high.max(initial=0)) if len(queue.limit_high) else None},
    )


def check_tail_drops(traffic: Traffic, queue: Occupancy, findings: Findings) -> None:
    """A shaped link drops a packet only when its queue has no room for it."""
    link = traffic.link
    judged = traffic.lost & ~traffic.matched.unclear_in
    wrong = np.flatnonzero(judged & ~queue.may_be_full)
    failure = None
    if len(wrong) > traffic.damaged_at_most:
        k = int(wrong[0])
        failure = (
            f"{plural(len(wrong), 'packet')} got lost on {link} although the queue had room and no loss "
            f"was asked for: the first entered at "
            f"{seconds(traffic.inputs.time_ns[k])} with at most {plural(int(queue.at_most[k]), 'byte')} of "
            f"{int(queue.limit_low[k]):,} queued."
        )
    dropped = int(traffic.lost.sum())
    findings.add(
        "drops",
        link,
        failure,
        f"{link} dropped {plural(dropped, 'packet')}, each because its queue was full."
        if dropped
        else f"{link} dropped no packet.",
        measured={"dropped_packets": dropped, "dropped_with_room_packets": len(wrong)},
        expected={"dropped_with_room_packets": 0},
    )
