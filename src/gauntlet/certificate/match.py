"""Which packet that left a stage is which packet that entered it.

Packets are told apart by their key. A key that entered once stands for one packet, and every packet with it
that leaves is this packet or a copy of it. Keys that entered several times (a retransmission identical to the
last bit) are matched in order of occurrence if as many left as entered. Otherwise the delay window decides;
what it cannot decide is marked *ambiguous*: counted, but not timed.

Where bits are flipped, one packet may become another to the last bit (acknowledgements that differ in one
bit of a timestamp): see `without_lookalikes`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]

NO_INPUT = -1


@dataclass(frozen=True)
class Match:
    """`source[k]`: the input that output k is a copy of, or NO_INPUT. `copies[i]`: how many times input i
    left.

    `unclear_out[k]` and `unclear_in[i]` mark identical packets of which it cannot be said which one is which.
    """

    source: Ints
    copies: Ints
    unclear_out: npt.NDArray[np.bool_]
    unclear_in: npt.NDArray[np.bool_]


def match(in_key: Keys, out_key: Keys, out_time_ns: Ints, earliest_ns: Ints, latest_ns: Ints) -> Match:
    """Pair outputs with inputs; input i may leave between `earliest_ns[i]` and `latest_ns[i]`."""
    order = np.argsort(in_key)
    first, entered = _found(in_key[order], out_key)
    source = np.full(len(out_key), NO_INPUT, np.int64)
    once = entered == 1
    source[once] = order[first[once]]
    unclear_out = np.zeros(len(out_key), np.bool_)
    unclear_in = np.zeros(len(in_key), np.bool_)
    outputs_of: dict[int, list[int]] = {}
    for output in np.flatnonzero(entered > 1):
        outputs_of.setdefault(int(first[output]), []).append(int(output))
    for start, outputs in outputs_of.items():
        inputs = np.sort(order[start : start + entered[outputs[0]]])  # as they arrived
        if len(inputs) == len(outputs):
            source[outputs] = inputs
            continue
        chosen, clear = _by_time(out_time_ns[outputs], earliest_ns[inputs], latest_ns[inputs])
        source[outputs] = inputs[chosen]
        if not clear:
            unclear_out[outputs] = True
            unclear_in[inputs] = True
    copies = np.bincount(source[source != NO_INPUT], minlength=len(in_key)).astype(np.int64)
    return Match(source, copies, unclear_out, unclear_in)


def _found(sorted_keys: Keys, wanted: Keys) -> tuple[Ints, Ints]:
    """Of each wanted key, the first place where it stands among the sorted ones, and how often."""
    count = len(sorted_keys)
    if not count:
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.int64)
    begins = np.flatnonzero(np.concatenate(([True], sorted_keys[1:] != sorted_keys[:-1])))
    times = np.zeros(count, np.int64)
    times[begins] = np.diff(begins, append=count)
    # Looked up in their order, for then each search begins where the last one ended.
    order = np.argsort(wanted)
    in_order = wanted[order]
    place = np.searchsorted(sorted_keys, in_order, side="left")
    inside = np.minimum(place, count - 1)
    there = np.where(sorted_keys[inside] == in_order, times[inside], 0)
    first, found = np.empty_like(place), np.empty_like(there)
    first[order], found[order] = place, there
    return first, found


def without_lookalikes(matched: Match, out_time_ns: Ints, earliest_ns: Ints, latest_ns: Ints) -> Match:
    """The same without copies that left outside of the window in which another copy of their input left.

    For links whose packets may have been damaged: such an output is another packet that was made to look like
    this one, and which one it was is not known.
    """
    source = matched.source.copy()
    found = source != NO_INPUT
    inside = found & (out_time_ns >= earliest_ns[source]) & (out_time_ns <= latest_ns[source])
    in_time = np.zeros(len(matched.copies), np.bool_)
    in_time[source[inside]] = True
    source[found & ~inside & in_time[source]] = NO_INPUT
    copies = np.bincount(source[source != NO_INPUT], minlength=len(in_time)).astype(np.int64)
    return replace(matched, source=source, copies=copies)


def _by_time(out_ns: Ints, earliest_ns: Ints, latest_ns: Ints) -> tuple[Ints, bool]:
    """Assign identical outputs to inputs by their windows, first come first served; also whether there was no
    other way.

    An output that fits no window is given to the last input before it: the check of delays then reports it.
    """
    first_fit = np.searchsorted(np.maximum.accumulate(latest_ns), out_ns, side="left")
    monotone_earliest = np.minimum.accumulate(earliest_ns[::-1])[::-1]
    end_fit = np.searchsorted(monotone_earliest, out_ns, side="right")
    clear = bool(np.all(end_fit - first_fit == 1))
    chosen, next_free = np.zeros(len(out_ns), np.int64), 0
    for number, (first, end) in enumerate(zip(first_fit.tolist(), end_fit.tolist(), strict=True)):
        free = max(first, next_free)
        chosen[number] = free if free < end else max(end - 1, 0)
        next_free = max(next_free, int(chosen[number]) + 1)
    return chosen, clear
