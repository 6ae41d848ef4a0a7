"""Paths of a network of one's own that turn to other ways while a run lasts: the changes of routes of a plan.

Only nodes on the new way change. Any other one sends what is still under way there as it did.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from itertools import pairwise
from typing import Any

from gauntlet.experiment.network_routes import Routes, Via


@dataclass(frozen=True)
class Reroute:
    """From `at_s` on path number `path` (from 1) leads along these nodes, both hosts included, and back."""

    at_s: float
    path: int
    nodes: tuple[str, ...]


def changes(routes: Routes, reroutes: Sequence[Reroute]) -> list[dict[str, Any]]:
    """Entries of a plan's `route_changes`, in order of time, none of which leaves a route as it is."""
    known = dict(routes.via)
    found = []
    for it in sorted(reroutes, key=lambda it: it.at_s):
        for node, net, via in _hops(routes, it):
            if known.get((node, net)) != via:
                known[node, net] = via
                found.append({"at_s": it.at_s, "node": node, "to": str(net), "via": str(via)})
    return found


def _hops(routes: Routes, it: Reroute) -> list[tuple[str, IPv4Network, Via]]:
    """Next hops along a way to its last end and back to its first; the routers beside the hosts need none."""
    addresses = routes.addresses
    number_of = {frozenset(ends): number for number, ends in enumerate(addresses.links)}
    first, last = IPv4Network(f"10.{it.path}.1.0/24"), IPv4Network(f"10.{it.path}.2.0/24")
    return [
        (node, net, addresses.towards(node, number_of[frozenset((node, neighbour))], own))
        for own, net, way in ((first, last, it.nodes), (last, first, it.nodes[::-1]))
        for node, neighbour in list(pairwise(way))[:-1]
    ]
