"""Routes through a network of one's own: those that are written, along its paths, else the shortest ways."""

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from itertools import pairwise

from gauntlet.errors import UserError
from gauntlet.experiment.network_addresses import Addresses

MOST_HOPS = 64
"""Nodes that a packet may pass: the time to live that Linux gives it."""
_EVERYWHERE = IPv4Network("0.0.0.0/0")

Hop = tuple[str, str]
"""A direction of a link: from which node to which."""


@dataclass(frozen=True)
class WrittenRoute:
    """A route as a file has it: `to` a node, a prefix or default, `via` a neighbour or its address."""

    node: str
    to: str
    via: str


@dataclass(frozen=True)
class Routes:
    """Next hops by node and prefix."""

    addresses: Addresses
    via: Mapping[tuple[str, IPv4Network], IPv4Address]

    def way(self, sender: str, receiver: str) -> list[Hop]:
        """The links that a packet to the first address of `receiver` takes. Raises UserError: it never gets
        there.
        """
        to = self.addresses.of(receiver)[0].interface.ip
        way, node = list[Hop](), sender
        while self.addresses.owner(to) != node:
            if len(way) == MOST_HOPS:
                raise UserError(
                    f"routes lead round in a circle on the way from '{sender}' to '{receiver}', past "
                    f"'{node}'; look at its routes."
                )
            further = self._next(node, to)
            if further is None:
                raise UserError(
                    f"no way leads from '{sender}' to '{receiver}': '{node}' has no route to {to}; add a "
                    "link or a route."
                )
            way.append((node, further))
            node = further
        return way

    def _next(self, node: str, to: IPv4Address) -> str | None:
        """The longest prefix decides, as in the kernel: that of a route or of the node's own network."""
        own = [it.interface.network for it in self.addresses.of(node)]
        known = [(net.prefixlen, to) for net in own if to in net]
        known += [(net.prefixlen, via) for (at, net), via in self.via.items() if at == node and to in net]
        return self.addresses.owner(max(known, key=lambda it: it[0])[1]) if known else None


def routes(
    addresses: Addresses,
    delays_s: Mapping[Hop, float],
    hosts: Iterable[str],
    paths: Sequence[Sequence[str]],
    written: Sequence[WrittenRoute],
) -> Routes:
    """Routes to every address of the hosts. What is written comes before paths, and these before the way of
    the least delay (of equal ones that of fewer links, then by name). Raises UserError for what cannot be.
    """
    number_of = {frozenset(ends): number for number, ends in enumerate(addresses.links)}
    found: dict[tuple[str, IPv4Network], IPv4Address] = {}
    for route in written:
        for net in _prefixes(route, addresses):
            if (route.node, net) in found:
                raise UserError(f"'{route.node}' has two routes to {route.to}; keep one of them.")
            found[route.node, net] = _via(route, addresses, number_of)

    def lead(node: str, net: IPv4Network, neighbour: str, within: IPv4Network | None = None) -> None:
        connected = any(it.interface.network == net for it in addresses.of(node))
        if not connected and (node, net) not in found:
            found[node, net] = addresses.towards(node, number_of[frozenset((node, neighbour))], within)

    for i, path in enumerate(paths, start=1):
        first, last = IPv4Network(f"10.{i}.1.0/24"), IPv4Network(f"10.{i}.2.0/24")
        for own, net, way in ((first, last, path), (last, first, path[::-1])):
            for node, neighbour in pairwise(way):
                # A host takes its own address of the path for what it sends along it.
                lead(node, net, neighbour, own)
    for host in dict.fromkeys(hosts):
        for link in dict.fromkeys(it.link for it in addresses.of(host)):
            router = next(end for end in addresses.links[link] if end != host)
            nets = dict.fromkeys(it.interface.network for it in addresses.of(host) if it.link == link)
            for node, neighbour in _nearer(router, delays_s).items():
                for net in nets:
                    lead(node, net, neighbour)
    return Routes(addresses, found)


def _nearer(target: str, delays_s: Mapping[Hop, float]) -> dict[str, str]:
    """By node: the neighbour that is next on its way to `target`."""
    into: dict[str, list[tuple[str, int]]] = {}
    for (first, second), delay_s in delays_s.items():
        into.setdefault(second, []).append((first, round(delay_s * 1e9)))
    following: dict[str, str] = {}
    waiting = [(0, 0, target, target)]
    while waiting:
        delay_ns, hops, node, neighbour = heapq.heappop(waiting)
        if node in following:
            continue
        following[node] = neighbour
        for before, more_ns in into.get(node, ()):
            if before not in following:
                heapq.heappush(waiting, (delay_ns + more_ns, hops + 1, before, node))
    del following[target]
    return following


def _prefixes(route: WrittenRoute, addresses: Addresses) -> list[IPv4Network]:
    if route.to == "default":
        return [_EVERYWHERE]
    of_node = [IPv4Network(it.interface.ip) for it in addresses.of(route.to)]
    if of_node:
        return of_node
    try:
        return [IPv4Network(route.to, strict=False)]
    except ValueError:
        raise UserError(
            f"the route of '{route.node}' leads to {route.to!r}; write a node, a prefix such as 10.0.0.0/24, "
            "or default."
        ) from None


def _via(route: WrittenRoute, addresses: Addresses, number_of: Mapping[frozenset[str], int]) -> IPv4Address:
    link = number_of.get(frozenset((route.node, route.via)))
    if link is not None:
        return addresses.towards(route.node, link)
    for it in addresses.of(route.node):
        for other in addresses.all:
            there = other.link == it.link and other.node != route.node
            if there and str(other.interface.ip) == route.via and other.interface.ip in it.interface.network:
                return other.interface.ip
    raise UserError(
        f"the route of '{route.node}' to {route.to} goes by {route.via!r}, which is no neighbour of it; "
        "write one, or its address."
    )
