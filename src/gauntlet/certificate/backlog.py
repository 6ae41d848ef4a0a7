"""Which packets were still queued when the run ended: the link counts how many, the capture tells which
ones they can be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from gauntlet.certificate import tolerance
from gauntlet.certificate.traffic import Traffic, delay_windows

Flags = npt.NDArray[np.bool_]


def with_backlog(traffic: Traffic, backlog_packets: int) -> Traffic:
    """Mark the inputs that make up the `backlog_packets` that the link's counters say were waiting at the
    end.

    They are among the packets that entered behind the last one to leave. In a full queue packets were dropped
    between them: for a shaped link the asked limit tells which. netem drops when a packet enters, which
    nothing shows before those that entered with it leave: the last ones are taken, and `may_wait` says that
    it may have been others.
    """
    missing = traffic.inputs.expected & (traffic.matched.copies == 0) & ~traffic.scripted
    if not backlog_packets or not missing.any():
        return traffic
    if traffic.asked.queue is not None:
        # Somebody may have dropped any of them, and a flow that waits may have been passed by others.
        chosen = np.flatnonzero(missing)[-backlog_packets:]
        may_wait = missing
    elif traffic.asked.kind == "tbf":
        left = np.flatnonzero(traffic.matched.copies)
        missing[: left[-1] if len(left) else 0] = False
        candidates = np.flatnonzero(missing)
        admitted = _admitted(traffic, candidates)
        # Admitted ones first; if they are fewer than counted, the rest shows up as a queue above its limit.
        chosen = np.concatenate((candidates[admitted], candidates[~admitted]))[:backlog_packets]
        may_wait = traffic.may_wait
    else:
        chosen = np.flatnonzero(missing)[-backlog_packets:]
        may_wait = _due_behind_the_end(traffic)
        may_wait[chosen] = True
    queued = np.zeros(len(traffic.inputs), np.bool_)
    queued[chosen] = True
    return replace(traffic, queued=queued, may_wait=may_wait)


def _due_behind_the_end(traffic: Traffic) -> Flags:
    """Which inputs may leave after the last instant that the capture shows."""
    time_ns = traffic.inputs.time_ns
    _, most = delay_windows(traffic.asked, time_ns)
    late: Flags = time_ns + most + tolerance.current().time_ns > traffic.end_ns
    return late


def _admitted(traffic: Traffic, candidates: npt.NDArray[np.int64]) -> Flags:
    """Which of the packets behind the last departure a queue with the asked limit lets in."""
    length = traffic.length_at_link
    source = traffic.matched.source[traffic.matched.source >= 0]
    left_ns = traffic.outputs.time_ns[traffic.matched.source >= 0]
    entered = np.cumsum(length * traffic.matched.copies)
    gone = np.concatenate(([0], np.cumsum(length[source])))
    times = traffic.inputs.time_ns[candidates]
    ahead = entered[candidates] - gone[np.searchsorted(left_ns, times, side="right")]
    limit = traffic.asked.most("queue_limit_bytes", times)
    admitted, waiting = np.zeros(len(candidates), np.bool_), 0
    for number, (before, size, room) in enumerate(zip(ahead, length[candidates], limit, strict=True)):
        if before + waiting + size <= room:
            admitted[number] = True
            waiting += int(size)
    return admitted
