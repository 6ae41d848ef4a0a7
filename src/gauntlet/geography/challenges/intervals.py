"""Sets of moments as intervals: [from, to), sorted, none touching the next."""

from collections.abc import Iterable

Interval = tuple[float, float]
Intervals = tuple[Interval, ...]


def union(*sets: Iterable[Interval]) -> Intervals:
    """Moments that are in any of them; intervals without a length are left out."""
    found: list[Interval] = []
    for start, end in sorted(it for each in sets for it in each if it[0] < it[1]):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return tuple(found)


def intersection(first: Intervals, *others: Intervals) -> Intervals:
    """Moments that are in all of them."""
    found = first
    for other in others:
        found = union(
            (max(one[0], two[0]), min(one[1], two[1]))
            for one in found
            for two in other
            if max(one[0], two[0]) < min(one[1], two[1])
        )
    return found


def length_s(intervals: Intervals) -> float:
    """How long all of them last."""
    return sum(end - start for start, end in intervals)


def covers(intervals: Intervals, moment_s: float) -> bool:
    """Whether a moment is in one of them."""
    return any(start <= moment_s < end for start, end in intervals)
