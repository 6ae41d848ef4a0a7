"""Addresses for the nodes of a network of one's own: those of its paths, those that are written, and a
network of its own for every link that has neither.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv4Network

from gauntlet.errors import UserError

Ends = tuple[str, str]

_OF_LINKS = IPv4Network("10.128.0.0/9")
"""From which links get networks of four addresses; those of paths lie below."""
MOST_PATHS = 100
"""Networks 10.1 to 10.100 are those of paths."""


@dataclass(frozen=True)
class Address:
    """An address of a node on its link number `link`."""

    node: str
    link: int
    interface: IPv4Interface


@dataclass(frozen=True)
class Written:
    """An address as a file has it; `neighbour` is the node at the link's other end."""

    node: str
    neighbour: str
    address: str


@dataclass(frozen=True)
class Addresses:
    """All addresses of a network, those of each node with the one first by which it is reached."""

    links: Sequence[Ends]
    all: tuple[Address, ...]

    def of(self, node: str) -> list[Address]:
        """Those of a node."""
        return [it for it in self.all if it.node == node]

    def owner(self, address: IPv4Address) -> str | None:
        """Whose an address is."""
        return next((it.node for it in self.all if it.interface.ip == address), None)

    def network(self, address: IPv4Address) -> IPv4Network:
        """That of one of the addresses."""
        return next(it.interface.network for it in self.all if it.interface.ip == address)

    def towards(self, node: str, link: int, within: IPv4Network | None = None) -> IPv4Address:
        """The address of the neighbour on a link, in a network that both ends have there: that one, or the
        first.
        """
        networks = {it.interface.network for it in self.of(node) if it.link == link}
        other = next(end for end in self.links[link] if end != node)
        return next(
            it.interface.ip
            for it in self.of(other)
            if it.link == link and it.interface.network in ({within} if within in networks else networks)
        )


def addressed(links: Sequence[Ends], paths: Sequence[Sequence[str]], written: Sequence[Written]) -> Addresses:
    """Addresses for every end of every link. Raises UserError for written ones that cannot be."""
    number_of = {frozenset(ends): number for number, ends in enumerate(links)}
    found = [*_of_paths(paths, number_of), *(_read(it, number_of) for it in written)]
    _refuse_twice(found, links)
    taken = [it.interface.network for it in found]
    have = {it.link for it in found}
    bare = [number for number in range(len(links)) if number not in have]
    for number, network in zip(bare, _free(taken), strict=False):
        hosts = network.hosts()
        found += [Address(end, number, _within(next(hosts), network)) for end in links[number]]
    return Addresses(links, tuple(found))


def _of_paths(paths: Sequence[Sequence[str]], number_of: Mapping[frozenset[str], int]) -> Iterator[Address]:
    """Path i has 10.i.1.0/24 at its first end and 10.i.2.0/24 at its last: the host is 1, its router 254."""
    for i, path in enumerate(paths, start=1):
        for third, (host, router) in ((1, (path[0], path[1])), (2, (path[-1], path[-2]))):
            link = number_of[frozenset((host, router))]
            for node, last in ((host, 1), (router, 254)):
                yield Address(node, link, IPv4Interface(f"10.{i}.{third}.{last}/24"))


def _read(written: Written, number_of: Mapping[frozenset[str], int]) -> Address:
    where = f"the address {written.address!r} of '{written.node}'"
    try:
        interface = IPv4Interface(written.address)
    except ValueError:
        raise UserError(f"{where} is none of IPv4; write one with its prefix, such as 10.0.0.1/24.") from None
    if "/" not in written.address or interface.network.prefixlen > 30:
        raise UserError(f"{where} leaves no room for the other end; give a prefix up to /30, such as /24.")
    if interface.ip in (interface.network.network_address, interface.network.broadcast_address):
        raise UserError(f"{where} is that of its whole network; take one between its first and its last.")
    link = number_of.get(frozenset((written.node, written.neighbour)))
    if link is None:
        raise UserError(
            f"{where}: no link joins it to '{written.neighbour}'; name the node at the other end."
        )
    return Address(written.node, link, interface)


def _refuse_twice(found: Sequence[Address], links: Sequence[Ends]) -> None:
    """Every address once, every network on one link, and both ends of a link in one network."""
    for place, it in enumerate(found):
        for other in found[:place]:
            if it.interface.ip == other.interface.ip:
                raise UserError(
                    f"the address {it.interface.ip} is that of '{other.node}' and of '{it.node}'; "
                    "give each its own."
                )
            if it.link != other.link and it.interface.network.overlaps(other.interface.network):
                one, two = ("-".join(links[number]) for number in (other.link, it.link))
                raise UserError(
                    f"the links {one} and {two} both have addresses of {it.interface.network}; give each "
                    "link a network of its own."
                )
    for number in dict.fromkeys(it.link for it in found):
        first, second = (
            {it.interface.network for it in found if it.link == number and it.node == end}
            for end in links[number]
        )
        if not first & second:
            raise UserError(
                f"the two ends of the link {'-'.join(links[number])} have no addresses in one network; give "
                "both one, or neither."
            )


def _free(taken: Sequence[IPv4Network]) -> Iterator[IPv4Network]:
    return (
        network
        for network in _OF_LINKS.subnets(new_prefix=30)
        if not any(network.overlaps(other) for other in taken)
    )


def _within(address: IPv4Address, network: IPv4Network) -> IPv4Interface:
    return IPv4Interface(f"{address}/{network.prefixlen}")
