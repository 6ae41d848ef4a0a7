"""Routes through a network of one's own: those that are written, along its paths, else the shortest ways.

A tunnel is a way like a link: it is as long as the links below it, and of ways that are equally long the one
of fewer links is taken, so what can go through a tunnel from end to end does.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
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
    """As a file has it: `to` a node, a prefix or default, `via` a neighbour, its address or a tunnel."""

    node: str
    to: str
    via: str


@dataclass(frozen=True)
class Tunnel:
    """Its name, its ends, and the addresses of these between which its packets go."""

    name: str
    ends: Hop
    outer: tuple[IPv4Address, IPv4Address]

    def beyond(self, node: str) -> tuple[str, IPv4Address]:
        """The other end, and its address."""
        return (self.ends[1], self.outer[1]) if node == self.ends[0] else (self.ends[0], self.outer[0])


Via = IPv4Address | Tunnel


@dataclass(frozen=True)
class Routes:
    """Next hops by node and prefix: addresses, or tunnels."""

    addresses: Addresses
    via: Mapping[tuple[str, IPv4Network], Via]
    tunnels: Sequence[Tunnel] = ()

    def way(self, sender: str, receiver: str) -> list[Hop]:
        """The links that a packet to the first address of `receiver` takes. Raises UserError: it never gets
        there.
        """
        way, node = list[Hop](), sender
        # Where packets go: in a tunnel first to its other end.
        goals = [self.addresses.of(receiver)[0].interface.ip]
        while goals:
            if self.addresses.owner(goals[-1]) == node:
                goals.pop()
                continue
            if len(way) + len(goals) > MOST_HOPS:
                raise UserError(
                    f"routes lead round in a circle on the way from '{sender}' to '{receiver}', past "
                    f"'{node}'; look at its routes."
                )
            further = self._next(node, goals[-1])
            if further is None:
                raise UserError(
                    f"no way leads from '{sender}' to '{receiver}': '{node}' has no route to {goals[-1]}; "
                    "add a link or a route."
                )
            if isinstance(further, Tunnel):
                goals.append(further.beyond(node)[1])
                continue
            way.append((node, further))
            node = further
        return way

    def _next(self, node: str, to: IPv4Address) -> str | Tunnel | None:
        """The longest prefix decides, as in the kernel: that of a route or of the node's own network."""
        own = [it.interface.network for it in self.addresses.of(node)]
        known: list[tuple[int, Via]] = [(net.prefixlen, to) for net in own if to in net]
        known += [(net.prefixlen, via) for (at, net), via in self.via.items() if at == node and to in net]
        if not known:
            return None
        _, via = max(known, key=lambda it: it[0])
        return via if isinstance(via, Tunnel) else self.addresses.owner(via)


@dataclass
class _Leading:
    """Routes in the making: who comes first stays."""

    addresses: Addresses
    dug: Mapping[Hop, Tunnel]
    """Tunnels by their ends, both ways round; where a link joins these it is taken."""
    found: dict[tuple[str, IPv4Network], Via] = field(default_factory=dict)

    @cached_property
    def number_of(self) -> dict[frozenset[str], int]:
        """Links by their ends."""
        return {frozenset(ends): number for number, ends in enumerate(self.addresses.links)}

    def write(self, route: WrittenRoute) -> None:
        """A route as the file has it. Raises UserError."""
        for net in _prefixes(route, self.addresses):
            if (route.node, net) in self.found:
                raise UserError(f"'{route.node}' has two routes to {route.to}; keep one of them.")
            self.found[route.node, net] = self._via(route)

    def lead(self, node: str, net: IPv4Network, neighbour: str, within: IPv4Network | None = None) -> None:
        """To a network by a neighbour, where the node knows no way yet."""
        connected = any(it.interface.network == net for it in self.addresses.of(node))
        if connected or (node, net) in self.found:
            return
        link = self.number_of.get(frozenset((node, neighbour)))
        self.found[node, net] = (
            self.dug[node, neighbour] if link is None else self.addresses.towards(node, link, within)
        )

    def _via(self, route: WrittenRoute) -> Via:
        for (near, _), tunnel in self.dug.items():
            if tunnel.name == route.via and near == route.node:
                return tunnel
        link = self.number_of.get(frozenset((route.node, route.via)))
        if link is not None:
            return self.addresses.towards(route.node, link)
        for it in self.addresses.of(route.node):
            for other in self.addresses.all:
                there = other.link == it.link and other.node != route.node
                same = other.interface.ip in it.interface.network
                if there and same and str(other.interface.ip) == route.via:
                    return other.interface.ip
        raise UserError(
            f"the route of '{route.node}' to {route.to} goes by {route.via!r}, which is no neighbour of it; "
            "write one, its address, or a tunnel that ends there."
        )


def routes(
    addresses: Addresses,
    delays_s: Mapping[Hop, float],
    hosts: Iterable[str],
    *,
    paths: Sequence[Sequence[str]],
    written: Sequence[WrittenRoute],
    tunnels: Mapping[str, Hop],
) -> Routes:
    """Routes to every address of the hosts. What is written comes before paths, and these before the way of
    the least delay (of equal ones that of fewer links, then by name). Raises UserError for what cannot be.
    """
    laid = [_laid(name, ends, addresses, delays_s) for name, ends in tunnels.items()]
    dug = {ends: it.tunnel for it in laid for ends in (it.tunnel.ends, it.tunnel.ends[::-1])}
    leading = _Leading(addresses, dug)
    for route in written:
        leading.write(route)
    for it in laid:
        it.lead(leading)
    for i, path in enumerate(paths, start=1):
        first, last = IPv4Network(f"10.{i}.1.0/24"), IPv4Network(f"10.{i}.2.0/24")
        for own, net, way in ((first, last, path), (last, first, path[::-1])):
            for node, neighbour in pairwise(way):
                # A host takes its own address of the path for what it sends along it.
                leading.lead(node, net, neighbour, own)
    through = {hop: delay_s for it in laid for hop, delay_s in it.delays_s(delays_s).items()}
    for host in dict.fromkeys(hosts):
        for link in dict.fromkeys(it.link for it in addresses.of(host)):
            router = next(end for end in addresses.links[link] if end != host)
            nets = dict.fromkeys(it.interface.network for it in addresses.of(host) if it.link == link)
            for node, neighbour in _nearer(router, {**through, **delays_s}).items():
                for net in nets:
                    leading.lead(node, net, neighbour)
    return Routes(addresses, leading.found, [it.tunnel for it in laid])


@dataclass(frozen=True)
class _Laid:
    """A tunnel and the links below it, from its first end on."""

    tunnel: Tunnel
    below: Sequence[Hop]

    @property
    def ways(self) -> Iterator[tuple[Hop, IPv4Address, list[Hop]]]:
        """Both ways round: the ends, where packets go, and by which links."""
        (near, far), (at_near, at_far) = self.tunnel.ends, self.tunnel.outer
        yield (near, far), at_far, list(self.below)
        yield (far, near), at_near, [hop[::-1] for hop in self.below[::-1]]

    def lead(self, leading: _Leading) -> None:
        """Routes for the packets of the tunnel itself."""
        for _, to, way in self.ways:
            for node, neighbour in way:
                leading.lead(node, leading.addresses.network(to), neighbour)

    def delays_s(self, of_links: Mapping[Hop, float]) -> dict[Hop, float]:
        """How long it is, both ways round."""
        return {ends: sum(of_links[hop] for hop in way) for ends, _, way in self.ways}


def _laid(name: str, ends: Hop, addresses: Addresses, delays_s: Mapping[Hop, float]) -> _Laid:
    """A tunnel along the shortest way between its ends. Raises UserError where there is none."""
    nearer, below, node = _nearer(ends[1], delays_s), list[Hop](), ends[0]
    while node != ends[1]:
        if node not in nearer:
            raise UserError(f"the tunnel '{name}': no way leads from '{ends[0]}' to '{ends[1]}'; add a link.")
        below.append((node, nearer[node]))
        node = nearer[node]
    near, far = (
        next(it.interface.ip for it in addresses.of(end) if set(addresses.links[it.link]) == set(hop))
        for end, hop in zip(ends, (below[0], below[-1]), strict=True)
    )
    return _Laid(Tunnel(name, ends, (near, far)), below)


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
