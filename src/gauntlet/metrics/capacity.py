"""What the ways of a flow carry over time, by the changes of links and of routes that were really made."""

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import linprog

from gauntlet.metrics.steps import Floats, Steps

FIRST_SETTINGS_S = 1e-3
"""Changes up to here are the settings that a link starts with: the plan's entries at 0 are applied before any
flow starts, but a moment after the run's zero (docs/formats/record.md).
"""

_UNLIMITED = Steps.of([(0.0, np.inf)])

Way = Sequence[str]
"""Link directions in the order in which packets pass them."""


def path_capacity(record: Mapping[str, Any], flow_id: str) -> Steps | None:
    """The rate of the narrowest limited link on a flow's forward path over time (bits per second, IP layer).

    It is taken from the changes that were really made (`timeline` and `hops` of the record); a link that is
    down counts as rate 0. A flow with several ways has what they carry together, whatever they share. None
    when no link on the path is ever limited or no path was recorded.
    """
    turns = _ways_over_time(record, flow_id)
    found = [(from_s, _together(record, ways)) for from_s, ways in turns if ways]
    parts = [(from_s, capacity) for from_s, capacity in found if capacity is not None]
    if not parts or len(parts) < len(turns):
        return None
    capacity = parts[0][1] if len(parts) == 1 else _one_after_another(parts)
    return None if np.isinf(capacity.values).any() else capacity


def _ways_over_time(record: Mapping[str, Any], flow_id: str) -> list[tuple[float, list[Way]]]:
    """Instants, and the ways of the flow from each of them on; one instant where no route of it changes."""
    paths = [path for path in record.get("paths", []) if path["flow"] == flow_id]
    hops = [_hops_of(record, path) for path in paths]
    edges_s = {
        edge for its in hops for hop in its for span in hop["during_s"] for edge in span if edge is not None
    }
    if not edges_s - {0.0}:
        return [(0.0, [path["forward"] for path in paths])]
    return [
        (at_s, [_way(path["forward"][0], its, at_s) for path, its in zip(paths, hops, strict=True)])
        for at_s in sorted({0.0, *edges_s})
    ]


def _hops_of(record: Mapping[str, Any], path: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Which tap follows which for what is sent along this path; nothing where no route of the run changes."""
    if not record.get("hops"):
        return []
    (flow,) = (flow for flow in record["flows"] if flow["id"] == path["flow"])
    ends = path.get("addresses") or [
        str(flow[end]).rpartition(":")[0].strip("[]") for end in ("source", "destination")
    ]
    return [hop for hop in record["hops"] if [hop["source"], hop["destination"]] == list(ends)]


def _way(first: str, hops: Sequence[Mapping[str, Any]], at_s: float) -> Way:
    """From a link on, hop by hop, by the routes of one instant."""
    following = {
        hop["tap"]: hop["next"]
        for hop in hops
        if not hop["during_s"]
        or any(from_s <= at_s and (to_s is None or at_s < to_s) for from_s, to_s in hop["during_s"])
    }
    way = [first]
    while (link := following.get(way[-1])) is not None and link not in way:
        way.append(link)
    return way


def _one_after_another(parts: Sequence[tuple[float, Steps]]) -> Steps:
    """Of each quantity what it is from its instant to the next one's."""
    times_s: list[Floats] = []
    values: list[Floats] = []
    for (from_s, steps), (to_s, _) in pairwise([*parts, (np.inf, _UNLIMITED)]):
        within = steps.times_s[(steps.times_s > from_s) & (steps.times_s < to_s)]
        times_s.append(np.concatenate(([from_s], within)))
        values.append(steps.at(times_s[-1]))
    return Steps(np.concatenate(times_s), np.concatenate(values))


def _together(record: Mapping[str, Any], ways: Sequence[Way]) -> Steps | None:
    """What these ways carry together: at most what each link does that several of them share; None without
    links.
    """
    shared = [link for link in ways[0] if all(link in way for way in ways)]
    alone = [[link for link in way if link not in shared] for way in ways]
    capacity = _narrowest(record, shared)
    if len(ways) > 1:
        by_some = len({link for way in alone for link in way}) < sum(len(way) for way in alone)
        together = _split(record, alone) if by_some else _sum(record, alone)
        capacity = together if capacity is None else capacity.minimum(together)
    return capacity


def _sum(record: Mapping[str, Any], ways: Sequence[Way]) -> Steps:
    """What ways carry that share no link."""
    return reduce(Steps.plus, [_narrowest(record, way) or _UNLIMITED for way in ways])


def _split(record: Mapping[str, Any], ways: Sequence[Way]) -> Steps:
    """What ways carry some of which share links: the most that a split over them brings, at each moment."""
    links = sorted({link for way in ways for link in way})
    rates = [_rate(record, link) for link in links]
    uses = np.array([[link in way for way in ways] for link in links], dtype=float)
    times_s = reduce(np.union1d, [rate.times_s for rate in rates])
    at = np.array([rate.at(times_s) for rate in rates])
    moments, of = np.unique(at, axis=1, return_inverse=True)
    most = np.array([_most(uses, moment) for moment in moments.T])
    return Steps(times_s, most[of.reshape(-1)])


def _most(uses: Floats, rates_bps: Floats) -> float:
    """The greatest sum of what ways carry where each link (a row of `uses`) carries no more than its rate."""
    limited = np.isfinite(rates_bps)
    if not (uses[limited].sum(axis=0) > 0).all():
        return np.inf
    found = linprog(-np.ones(uses.shape[1]), A_ub=uses[limited], b_ub=rates_bps[limited])
    return float(np.round(-found.fun))


def _narrowest(record: Mapping[str, Any], links: Way) -> Steps | None:
    """The smallest rate of these links over time; None without links."""
    return reduce(Steps.minimum, [_rate(record, link) for link in links]) if links else None


def _rate(record: Mapping[str, Any], link: str) -> Steps:
    """The rate of a link over time."""
    rate_bps, up = np.inf, True
    changes: list[tuple[float, float]] = []
    for change in record.get("timeline", []):
        if change["link"] != link:
            continue
        if "rate_bps" in change:
            rate_bps = np.inf if change["rate_bps"] is None else float(change["rate_bps"])
        up = bool(change.get("up", up))
        changes.append((float(change["at_s"]), rate_bps if up else 0.0))
    if not changes or changes[0][0] > FIRST_SETTINGS_S:
        changes.insert(0, (0.0, np.inf))
    return Steps.of(changes)
