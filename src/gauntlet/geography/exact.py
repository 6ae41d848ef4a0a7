"""The best set of paths there is, by looking at all of them: what the heuristics are held against.

Finding it is NP-hard, so this is for few paths and small networks: all paths within the stretch are listed,
and sets of them searched by branch and bound. Which links may not be together in two paths is known before
(`separation`), so that a path is two numbers: the bits of its links, and those of all links too close to it.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gauntlet.errors import UserError
from gauntlet.geography.network import Network, Path
from gauntlet.geography.separation import Separation
from gauntlet.geography.wanted import Wanted

MOST_PATHS = 200_000
"""Candidates beyond which the search is refused: seconds to list, minutes to combine."""


def paths(network: Network, source: str, target: str, wanted: Wanted) -> list[Path]:
    """The wanted paths whose lengths have the least sum, the shortest first; none where there is no such set.

    Raises UserError where there are too many paths to look at.
    """
    candidates = _candidates(network, source, target, wanted)
    return _best(network, candidates, Separation(network, source, target).between_links_km(), wanted)


def farthest_apart(network: Network, source: str, target: str, wanted: Wanted) -> tuple[float, list[Path]]:
    """The greatest distance that the wanted number of paths can keep within stretch and skew, and the paths
    of the least sum that keep it; `wanted.apart_km` is the least that counts. Infinite for a single
    path; 0 and none where there is no such set.
    """
    candidates = _candidates(network, source, target, wanted)
    between_km = Separation(network, source, target).between_links_km()
    # The distance of two paths is one of these.
    steps = [km for km in np.unique(between_km) if km >= wanted.apart_km]
    if wanted.paths == 1:
        return math.inf, candidates[:1]
    best: tuple[float, list[Path]] = (0.0, [])
    low, high = 0, len(steps)
    while low < high:
        middle = (low + high) // 2
        apart_km = float(steps[middle])
        found = _best(network, candidates, between_km, replace(wanted, apart_km=apart_km))
        if found:
            best, low = (apart_km, found), middle + 1
        else:
            high = middle
    return best


def _candidates(network: Network, source: str, target: str, wanted: Wanted) -> list[Path]:
    """All paths that may be in the set, the shortest first."""
    shortest = network.shortest(source, target)
    if shortest is None:
        return []
    hops = wanted.hops(shortest)
    found: list[Path] = []
    for path in _simple(network, source, target, len(network.nodes) - 1 if hops is None else hops):
        found.append(path)
        if len(found) > MOST_PATHS:
            raise UserError(
                f"More than {MOST_PATHS:,} paths lead from {source} to {target}; bound their stretch to "
                "fewer additional hops (--stretch-hops, in an experiment 'stretch'), or take a heuristic."
            )
    return sorted(found, key=lambda path: (network.length_km(path), path))


def _simple(network: Network, source: str, target: str, hops: int) -> Iterator[Path]:
    """Paths of at most so many links, depth first; a step is taken only if the target is near enough."""
    to_target = _hops_to(network, target)
    if to_target.get(source, math.inf) > hops:
        return
    way, seen = [source], {source}
    onward = [iter(network.graph[source])]
    while onward:
        node = next(onward[-1], None)
        if node is None:
            onward.pop()
            seen.remove(way.pop())
        elif node == target:
            yield (*way, target)
        elif node not in seen and len(way) + to_target[node] <= hops:
            way.append(node)
            seen.add(node)
            onward.append(iter(network.graph[node]))


def _hops_to(network: Network, target: str) -> dict[str, int]:
    found = {target: 0}
    for node in (queue := [target]):
        for other in network.graph[node]:
            if other not in found:
                found[other] = found[node] + 1
                queue.append(other)
    return found


def _best(
    network: Network, candidates: list[Path], between_km: NDArray[np.float64], wanted: Wanted
) -> list[Path]:
    """Branch and bound; `candidates` rise in length, and so do the paths of a set."""
    too_close = [
        sum(1 << int(other) for other in np.flatnonzero(row < wanted.apart_km)) for row in between_km
    ]
    links = [network.links_of(path) for path in candidates]
    own = [sum(1 << number for number in numbers) for numbers in links]
    refused = [_union(too_close[number] for number in numbers) for numbers in links]
    lengths = [network.length_km(path) for path in candidates]
    delays = [network.delay_s(path) for path in candidates]
    best: tuple[float, list[int]] = (math.inf, [])

    def extend(chosen: list[int], length_km: float, left: list[int]) -> None:
        nonlocal best
        missing = wanted.paths - len(chosen)
        if missing == 0:
            best = (length_km, chosen)
            return
        for place, it in enumerate(left):
            if length_km + missing * lengths[it] >= best[0]:
                return
            first = chosen[0] if chosen else it
            last_s = math.inf if wanted.skew_s is None else delays[first] + wanted.skew_s
            if delays[it] > last_s:
                return
            further = [
                other
                for other in left[place + 1 :]
                if not own[other] & refused[it] and delays[other] <= last_s
            ]
            if len(further) >= missing - 1:
                extend([*chosen, it], length_km + lengths[it], further)

    extend([], 0.0, list(range(len(candidates))))
    return [candidates[it] for it in best[1]]


def _union(masks: Iterator[int]) -> int:
    found = 0
    for mask in masks:
        found |= mask
    return found
