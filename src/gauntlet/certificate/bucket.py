"""A token bucket in closed form: when a shaper that is neither faster nor slower than asked sends each
packet.

The rules are those of tbf (tc-tbf(8)): the bucket holds `burst_bytes`, fills at the rate, and a packet leaves
as soon as it is first in the queue and the bucket holds its length. With A(t) the bytes that the rate has
earned until t, and v the value of A(t) at which the bucket would have been empty, a packet of L bytes that
arrives at t leaves when A reaches max(A(t), v + L), and then v becomes max(v, A(t) - burst) + L. Both are
maxima of sums, so a running maximum replays a whole stretch of constant rate at once.

A change of a tbf fills the bucket and lets the packet at the head of the queue wait for the timer that was
set under the old rate, or for the next packet that arrives, whichever comes first. (`tbf_change` in the
kernel's `net/sched/sch_tbf.c`: it sets the tokens and does not wake the queue.) `Kick` tells which end of
this span a replay takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


NEVER = np.iinfo(np.int64).max


class Kick(Enum):
    """When a queue wakes after a change of the shaper: at once, or as late as the kernel allows."""

    AT_ONCE = "at once"
    LATE = "late"


@dataclass(frozen=True)
class Queue:
    """What went through a shaper, in the order of its queue; one entry per packet.

    `arrival_ns` (not falling), `length` in bytes, `left_ns` the instant at which it was seen to leave
    (`NEVER`: not until the end of the run). `knock_ns`: when any packet came to the queue, even if dropped.
    """

    arrival_ns: Ints
    length: Ints
    left_ns: Ints
    knock_ns: Ints


def departures(
    queue: Queue, *, change_ns: Ints, rate_bps: Floats, burst_bytes: Floats, kick: Kick, margin_ns: int
) -> tuple[Floats, Ints]:
    """The instant at which each packet should leave, in nanoseconds, and how many left since the bucket was
    last full.

    Stretch i of the rate begins at `change_ns[i]`; rates may be infinite. Which packets were waiting when a
    stretch began is taken from what was seen, and so is a delay of up to `margin_ns` of the first one: a
    timer that fires a fraction of a microsecond late delays all packets behind it once a change filled the
    bucket. A packet that should have left in one stretch and was seen in a later one keeps the instant of
    the first. A packet longer than the burst never leaves: its instant is infinite, as is that of all packets
    behind it in this stretch.
    """
    count = len(queue.arrival_ns)
    leaves, rank = np.full(count, np.inf), np.zeros(count, np.int64)
    ends = np.append(change_ns[1:], NEVER)
    timer_of, timer_ns = 0, np.zeros(0)
    firsts = np.searchsorted(queue.left_ns, change_ns, side="left")
    seens = np.searchsorted(queue.left_ns, ends, side="left")
    lasts = np.maximum(seens, np.searchsorted(queue.arrival_ns, ends, side="left"))
    for stretch in np.flatnonzero(firsts != lasts).tolist():
        first, seen, last = int(firsts[stretch]), int(seens[stretch]), int(lasts[stretch])
        start_ns, end_ns = int(change_ns[stretch]), int(ends[stretch])
        rate, burst = float(rate_bps[stretch]), float(burst_bytes[stretch])
        old_timer_ns = timer_ns[first - timer_of] if first - timer_of < len(timer_ns) else np.inf
        wake_ns = _wake(queue.arrival_ns[first], queue.knock_ns, int(start_ns), old_timer_ns, kick)
        base_ns = max(wake_ns, int(queue.arrival_ns[first]))
        if kick is Kick.LATE and base_ns < queue.left_ns[first] <= base_ns + margin_ns:
            # The bucket stays full until the timer really fires.
            base_ns = int(queue.left_ns[first])
        ready_ns = (np.maximum(queue.arrival_ns[first:last], base_ns) - base_ns).astype(np.float64)
        out_ns, since_full = _stretch(ready_ns, queue.length[first:last], rate / 8e9, burst)
        out_ns += base_ns
        overdue = np.isfinite(leaves[first:last])
        here = ~overdue & ((np.arange(first, last) < seen) | (out_ns < end_ns))
        leaves[first:last] = np.where(here, out_ns, leaves[first:last])
        rank[first:last] = np.where(here, since_full, rank[first:last])
        if base_ns < end_ns:
            timer_of, timer_ns = first, out_ns
    return leaves, rank


def _wake(arrival_ns: int, knock_ns: Ints, start_ns: int, old_timer_ns: float, kick: Kick) -> int:
    """The first instant at which the head of the queue may leave in a stretch that begins at `start_ns`."""
    if kick is Kick.AT_ONCE or arrival_ns >= start_ns:
        return start_ns
    following = int(np.searchsorted(knock_ns, start_ns, side="left"))
    knock = float(knock_ns[following]) if following < len(knock_ns) else np.inf
    wake_ns = max(min(old_timer_ns, knock), start_ns)
    return int(wake_ns) if np.isfinite(wake_ns) else np.iinfo(np.int64).max


def _stretch(ready_ns: Floats, length: Ints, bytes_per_ns: float, burst: float) -> tuple[Floats, Ints]:
    """Departures within one stretch of constant rate that begins at 0 with a full bucket."""
    number = np.arange(len(length))
    if np.isinf(bytes_per_ns):
        return ready_ns, np.zeros(len(length), np.int64)
    earned = ready_ns * bytes_per_ns
    through = np.cumsum(length).astype(np.float64)
    before = through - length
    fills = earned - burst - before
    highest = np.maximum(np.maximum.accumulate(fills), -burst)
    out_ns = np.maximum(highest + through, earned) / bytes_per_ns
    since_full = number - np.maximum.accumulate(np.where(fills >= highest, number, 0))
    too_long = np.flatnonzero(length > burst)
    if len(too_long):
        out_ns[too_long[0] :] = np.inf
    return out_ns, since_full


def departure_windows(
    queue: Queue,
    *,
    change_ns: Ints,
    slow_bps: Floats,
    fast_bps: Floats,
    burst_bytes: Floats,
    margin_ns: int,
) -> tuple[Floats, Floats, Ints]:
    """The earliest and the latest instant at which each packet may leave, and how many left since the bucket
    was last full.

    Covers rates between `slow_bps` and `fast_bps`, both ends of `Kick`, and changes that really came up to
    `margin_ns` earlier or later than stated: whether a packet left just before a change or just after
    it decides how full the bucket is for the next one.
    """
    count = len(queue.arrival_ns)
    soonest, latest, rank = np.full(count, np.inf), np.full(count, -np.inf), np.zeros(count, np.int64)
    for shift_ns in (0,) if len(change_ns) == 1 else (-margin_ns, 0, margin_ns):
        for kick, rate_bps in ((Kick.AT_ONCE, fast_bps), (Kick.LATE, slow_bps)):
            leaves, since_full = departures(
                queue,
                change_ns=change_ns + shift_ns,
                rate_bps=rate_bps,
                burst_bytes=burst_bytes,
                kick=kick,
                margin_ns=margin_ns,
            )
            soonest, latest = np.minimum(soonest, leaves), np.maximum(latest, leaves)
            rank = np.maximum(rank, since_full)
    return soonest, latest, rank


def largest_excess(
    out_ns: Ints,
    length: Ints,
    *,
    change_ns: Ints,
    rate_bps: Floats,
    burst_bytes: Floats,
    rounding_ns: float,
    margin_ns: int,
) -> tuple[float, int]:
    """By how many bytes the worst window of departures exceeds the token bucket bound, and the packet at the
    end of that window.

    In any window at most burst + integral of the rate may leave, plus one burst for each change in it (a
    change fills the bucket; one within `margin_ns` of either end counts), plus what the rate earns
    in `rounding_ns` per packet. An excess of zero or less is within the bound. Infinite rates allow anything.
    """
    if not len(out_ns):
        return -np.inf, 0
    unlimited = np.isinf(rate_bps)
    rates = np.where(unlimited, 0.0, rate_bps) / 8e9
    boundaries = np.maximum(change_ns, out_ns[0])
    earned_at_change = np.concatenate(([0.0], np.cumsum(np.diff(boundaries) * rates[:-1])))
    stretch, before, after = (
        np.maximum(np.searchsorted(change_ns, out_ns + shift_ns, side="right") - 1, 0)
        for shift_ns in (0, -margin_ns, margin_ns)
    )
    limited_length = np.where(unlimited[before] | unlimited[after], 0, length)
    earned = earned_at_change[stretch] + (out_ns - boundaries[stretch]) * rates[stretch]
    refilled = np.cumsum(burst_bytes) - burst_bytes[0]
    rounding = np.cumsum(rounding_ns * rates[stretch])
    surplus = np.cumsum(limited_length) - earned - rounding
    floor = surplus - limited_length - refilled[before] + np.maximum(burst_bytes[before], burst_bytes[after])
    excess = surplus - refilled[after] - np.minimum.accumulate(floor)
    worst = int(np.argmax(excess))
    return float(excess[worst]), worst
