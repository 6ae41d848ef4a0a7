"""Networks of one's own: from nodes, links, addresses and routes to a plan's network and its timeline.

A link direction of a plan has either a rate or a delay. So a link with both is cut in two by a switch, which
has no address and passes on what comes: the rate stands before it, the delay behind. A link of a host is cut
once more beside the host, so that a tap sees what enters it (docs/formats/own-network.md). What a link that
follows a scenario does at each moment is a matter of the run (followed.py); here it is what is typical of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from gauntlet.errors import UserError
from gauntlet.experiment import followed, queues, reroutes
from gauntlet.experiment.followed import OF_RATE, Followed
from gauntlet.experiment.network_addresses import MOST_PATHS, Addresses, Written, addressed
from gauntlet.experiment.network_routes import Hop, Routes, Tunnel, Via, WrittenRoute, routes
from gauntlet.experiment.network_section import NetworkLink, NetworkSection
from gauntlet.experiment.queues import QueueSection
from gauntlet.experiment.reroutes import Reroute

NAME = "own"
"""What `LinkConditions.network` calls a network that is no preset."""
DEFAULT_QUEUE_BYTES = 512_000
"""Before a rate, as in a plan (D3.4 section 4.6)."""

TUNNEL_MTU_BYTES = 1476
"""What headers of IPv4 and GRE leave of 1500 bytes (RFC 2784)."""
_OF_TUNNELS = "10.127.{}.{}/30"
"""Addresses within tunnels, by the number of the tunnel; those of paths and links lie elsewhere."""
MOST_TUNNELS = 100

State = dict[str, Any]


@dataclass(frozen=True)
class Cable:
    """A link between two nodes: what it does to packets towards its second end and to those towards its
    first, by keys of a plan's timeline, and from when to when it is down.
    """

    ends: tuple[str, str]
    onwards: Mapping[str, Any] = field(default_factory=dict)
    backwards: Mapping[str, Any] = field(default_factory=dict)
    mtu_bytes: int | None = None
    down: Sequence[Sequence[float]] = ()
    follows: Followed | None = None
    """The scenario that says the rest."""

    def towards(self, end: str) -> Mapping[str, Any]:
        """What it does to packets towards one of its ends."""
        return self.onwards if end == self.ends[1] else self.backwards

    def typically(self, end: str) -> Mapping[str, Any]:
        """The same with what is typical of the scenario that it follows."""
        if self.follows is None:
            return self.towards(end)
        typical = dict(self.follows.up if end == self.ends[1] else self.follows.down)
        if "queue" in self.towards(end):
            del typical["queue_limit_bytes"]
        return {**typical, **self.towards(end)}


@dataclass(frozen=True)
class LaidTunnel:
    """A tunnel as a file has it."""

    name: str
    ends: tuple[str, str]
    mtu_bytes: int


@dataclass(frozen=True)
class Layout:
    """What a network consists of, wherever that was written."""

    cables: tuple[Cable, ...]
    addresses: tuple[Written, ...] = ()
    routes: tuple[WrittenRoute, ...] = ()
    paths: tuple[tuple[str, ...], ...] = ()
    """Ways between the same two hosts, each with addresses of its own."""
    tunnels: tuple[LaidTunnel, ...] = ()
    map: Mapping[str, Any] | None = None
    """Where it was taken from, to draw (`gauntlet.geography.told`)."""
    reroutes: tuple[Reroute, ...] = ()
    """Other ways that paths take from an instant on."""

    @property
    def nodes(self) -> list[str]:
        """In the order in which links name them."""
        return list(dict.fromkeys(end for cable in self.cables for end in cable.ends))

    @property
    def ends(self) -> tuple[str, str] | None:
        """The hosts between which its paths lead."""
        return (self.paths[0][0], self.paths[0][-1]) if self.paths else None


@dataclass(frozen=True)
class Way:
    """What a packet meets on its way from host to host, without queues."""

    rate_bps: float
    queue_limit_bytes: int | None
    """Before the narrowest link; None: what queues there does not count bytes."""
    delay_s: float
    loss: float


@dataclass(frozen=True)
class Ridden:
    """A link that follows a scenario on the way of the first flow: it stands for the line in reports."""

    follows: Followed
    rest: Mapping[str, State]
    """What that way does to packets besides, by the direction of the link (up, down)."""
    sides: Mapping[Hop, str]
    """By sender and receiver of each flow the direction in which it passes the link, up or down; without
    those that do not pass it.
    """


@dataclass(frozen=True)
class OwnNetwork:
    """A network as a plan has it, and the ways of its flows."""

    network: Mapping[str, Any]
    timeline: Sequence[State]
    ways: Mapping[Hop, Way]
    """By sender and receiver of each flow, and back."""
    links: Sequence[State]
    """Its links before they were cut."""
    followed: Sequence[State]
    """Those that follow a scenario: which one, and the link directions that do."""
    ridden: Ridden | None
    """Of these the first one on the way of the first flow."""
    map: Mapping[str, Any] | None = None
    """The map from which it was taken."""
    route_changes: Sequence[State] = ()
    """As a plan has them."""

    def to_json(self) -> dict[str, Any]:
        """What runs keep of it."""
        found = {"network": self.network, "timeline": self.timeline, "links": self.links}
        if self.followed:
            found["followed"] = self.followed
        if self.ridden is not None:
            found["rest"] = self.ridden.rest
        if self.route_changes:
            found["route_changes"] = self.route_changes
        return found


def layout(read: NetworkSection, folder: Path) -> Layout:
    """Of links that are written in a section or in its file (`network_section.read`); files of scenarios are
    looked for in `folder`. Raises UserError.
    """
    cables = tuple(
        Cable(
            (link.between[0], link.between[1]),
            planned_keys(link.onwards),
            planned_keys(link.backwards),
            link.mtu,
            link.down,
            _followed(link, folder),
        )
        for link in read.link
    )
    found = Layout(
        cables,
        tuple(Written(it.node, it.link, it.address) for it in read.address),
        tuple(WrittenRoute(it.node, it.to, it.via) for it in read.route),
        tuple(map(tuple, read.paths)),
        tuple(
            LaidTunnel(it.name, (it.between[0], it.between[1]), it.mtu or TUNNEL_MTU_BYTES)
            for it in read.tunnel
        ),
    )
    _check(found, read.nodes)
    return found


def _followed(link: NetworkLink, folder: Path) -> Followed | None:
    if link.scenario is None:
        return None
    try:
        return followed.of(link.scenario, folder)
    except UserError as error:
        raise UserError(f"the link {link.called}: {error}") from None


def built(asked: Layout, pairs: Iterable[Hop]) -> OwnNetwork:
    """The network for flows between these pairs of hosts (sender, receiver). Raises UserError."""
    pairs = list(dict.fromkeys(pairs))
    hosts = list(dict.fromkeys(host for pair in pairs for host in pair))
    links = [cable.ends for cable in asked.cables]
    addresses = addressed(links, asked.paths, asked.addresses)
    delays_s = {
        (sender, receiver): float(cable.typically(receiver).get("delay_s", 0.0))
        for cable in asked.cables
        for sender, receiver in (cable.ends, cable.ends[::-1])
    }
    tunnels = {tunnel.name: tunnel.ends for tunnel in asked.tunnels}
    found = routes(addresses, delays_s, hosts, paths=asked.paths, written=asked.routes, tunnels=tunnels)
    both = [hop for pair in pairs for hop in (pair, pair[::-1])]
    hops_of = {hop: found.way(*hop) for hop in both}
    delay_s = {hop: _way(asked.cables, hops).delay_s for hop, hops in hops_of.items()}
    round_trip_s = max(delay_s[hop] + delay_s[hop[::-1]] for hop in both)
    cables = [_queued(cable, round_trip_s) for cable in asked.cables]
    ways = {hop: _way(cables, hops) for hop, hops in hops_of.items()}
    for sender, receiver in pairs:
        if ways[sender, receiver].rate_bps == float("inf"):
            raise UserError(
                f"no link on the way from '{sender}' to '{receiver}' has a rate, so that sending takes no "
                "time; give one of them a rate."
            )
    chains = [_chain(cable, hosts) for cable in cables]
    changes = [
        change for cable, chain in zip(cables, chains, strict=True) for change in _changes(cable, chain)
    ]
    network = _network(asked, chains, addresses, found)
    timeline = sorted(changes, key=lambda change: change["at_s"])
    follow = [
        _directions(cable, cable.follows, chain)
        for cable, chain in zip(cables, chains, strict=True)
        if cable.follows is not None
    ]
    ridden = _ridden(cables, pairs, hops_of)
    shown = [_link(cable) for cable in cables]
    changed = reroutes.changes(found, asked.reroutes)
    return OwnNetwork(network, timeline, ways, shown, follow, ridden, asked.map, changed)


def _link(cable: Cable) -> State:
    """A link for people who read of the network."""
    both = {"onwards": dict(cable.onwards), "backwards": dict(cable.backwards)}
    own = {} if cable.follows is None else {"follows": cable.follows.words}
    return {"ends": list(cable.ends), **both, "down": [list(span) for span in cable.down], **own}


def _check(asked: Layout, nodes: Sequence[str]) -> None:
    known = nodes or asked.nodes
    for cable in asked.cables:
        for end in cable.ends:
            _refuse_stranger(end, known, f"the link {'-'.join(cable.ends)}")
    pairs = [frozenset(cable.ends) for cable in asked.cables]
    twice = next((cable for cable in asked.cables if pairs.count(frozenset(cable.ends)) > 1), None)
    if twice is not None:
        raise UserError(
            f"two links join '{twice.ends[0]}' and '{twice.ends[1]}'; at most one can, so put a node into "
            "the other."
        )
    alone = next((node for node in nodes if node not in asked.nodes), None)
    if alone is not None:
        raise UserError(f"no link leads to '{alone}'; add one, or take the node out.")
    for it in asked.addresses:
        for node in (it.node, it.neighbour):
            _refuse_stranger(node, known, f"the address {it.address!r}")
    for route in asked.routes:
        _refuse_stranger(route.node, known, f"the route to {route.to!r}")
    _check_tunnels(asked, known)
    check_paths(asked)


def _check_tunnels(asked: Layout, known: Sequence[str]) -> None:
    names = [tunnel.name for tunnel in asked.tunnels]
    if len(names) > MOST_TUNNELS:
        raise UserError(f"{len(names)} tunnels are more than have addresses; write {MOST_TUNNELS} at most.")
    for tunnel in asked.tunnels:
        if names.count(tunnel.name) > 1:
            raise UserError(f"two tunnels are called '{tunnel.name}'; give each its own name.")
        if tunnel.name in asked.nodes:
            raise UserError(f"the tunnel '{tunnel.name}' is called like a node; give it another name.")
        for end in tunnel.ends:
            _refuse_stranger(end, known, f"the tunnel '{tunnel.name}'")


def _refuse_stranger(node: str, known: Sequence[str], what: str) -> None:
    if node not in known:
        raise UserError(f"{what} is of '{node}', which is no node; the nodes are {', '.join(known)}.")


def check_paths(asked: Layout) -> None:
    """Refuse paths that are none. Raises UserError."""
    joined = {frozenset(cable.ends) for cable in asked.cables}
    if len(asked.paths) > MOST_PATHS:
        raise UserError(f"{len(asked.paths)} paths are more than have addresses; write {MOST_PATHS} at most.")
    for number, path in enumerate(asked.paths, start=1):
        if len(path) < 3 or len(set(path)) < len(path):
            raise UserError(
                f"path {number} is no way between two hosts; name both and what is between them, each once."
            )
        if (path[0], path[-1]) != asked.ends:
            raise UserError(
                f"path {number} has other ends than the first one; let all lead between two hosts."
            )
        for first, second in pairwise(path):
            if frozenset((first, second)) not in joined:
                raise UserError(
                    f"path {number}: no link joins '{first}' and '{second}'; add it, or go round."
                )


_KEYS = {
    "rate": "rate_bps",
    "queue": "queue_limit_bytes",
    "delay": "delay_s",
    "jitter": "jitter_s",
    "burst_loss": "gilbert_elliott",
}
"""Keys of a link that have another name in a plan."""


def planned_keys(way: Mapping[str, Any]) -> State:
    """Keys of a link direction as a plan's timeline has them; a queue of another kind than bytes is as the
    experiment has it (`QueueSection.settled`) until the ways are known (`_queued`).
    """
    state = {_KEYS.get(key, key): value for key, value in way.items() if value is not None}
    if isinstance(state.get("queue_limit_bytes"), QueueSection):
        state["queue"] = state.pop("queue_limit_bytes").settled()
    if "gilbert_elliott" in state:
        state["gilbert_elliott"] = state["gilbert_elliott"].model_dump()
        state.pop("loss", None)
    return state


def _queued(cable: Cable, round_trip_s: float) -> Cable:
    """The cable with its queues as a plan has them. Raises UserError where less than a packet fits."""

    def planned(end: str) -> Mapping[str, Any]:
        state = cable.towards(end)
        if "queue" not in state:
            return state
        own = {key: value for key, value in state.items() if key != "queue"}
        try:
            rate_bps = cable.typically(end)["rate_bps"]
            return {**own, **queues.planned(state["queue"], rate_bps, round_trip_s)}
        except UserError as error:
            raise UserError(f"the link {'-'.join(cable.ends)}: {error}") from None

    return replace(cable, onwards=planned(cable.ends[1]), backwards=planned(cable.ends[0]))


def _way(cables: Sequence[Cable], hops: Sequence[Hop]) -> Way:
    cable_of = {frozenset(cable.ends): cable for cable in cables}
    return _together(cable_of[frozenset(hop)].typically(hop[1]) for hop in hops)


def _together(met: Iterable[Mapping[str, Any]]) -> Way:
    """What links do one after the other."""
    states = list(met)
    rates = [(state.get("rate_bps", float("inf")), state) for state in states]
    rate_bps, narrowest = min(rates, key=lambda it: it[0], default=(float("inf"), {}))
    arrives = 1.0
    for state in states:
        arrives *= 1.0 - state.get("loss", 0.0)
    return Way(
        float(rate_bps),
        None if "queue" in narrowest else narrowest.get("queue_limit_bytes", DEFAULT_QUEUE_BYTES),
        round(sum(state.get("delay_s", 0.0) for state in states), 9),
        round(1.0 - arrives, 12),
    )


@dataclass(frozen=True)
class _Chain:
    """The nodes into which a cable is cut, and where its rate and its delay stand, by the end to which they
    lead.
    """

    nodes: tuple[str, ...]
    rate: Mapping[str, str]
    channel: Mapping[str, str]


def _chain(cable: Cable, hosts: Sequence[str]) -> _Chain:
    first, second = cable.ends
    states = (cable.onwards, cable.backwards)
    follows = cable.follows is not None
    rated = follows or any(key in OF_RATE for state in states for key in state)
    delayed = follows or bool(cable.down) or any(key not in OF_RATE for state in states for key in state)
    if not rated and not delayed:
        return _Chain(cable.ends, {}, {})
    # No node that a file names has a dot.
    name = f"{first}.{second}"
    near = f"{name}.{first}" if first in hosts else first
    far = f"{name}.{second}" if second in hosts else second
    middle = [name] if rated and delayed else []
    nodes = tuple(dict.fromkeys((first, near, *middle, far, second)))
    rate = {second: f"{near}>{(*middle, far)[0]}", first: f"{far}>{(*middle, near)[0]}"}
    channel = {second: f"{(*middle, near)[0]}>{far}", first: f"{(*middle, far)[0]}>{near}"}
    return _Chain(nodes, rate if rated else {}, channel if delayed else {})


def _changes(cable: Cable, chain: _Chain) -> Iterable[State]:
    for end in cable.ends[::-1]:
        state = cable.towards(end) if cable.follows is None else {}
        for link, keys in ((chain.rate, True), (chain.channel, False)):
            own = {key: value for key, value in state.items() if (key in OF_RATE) == keys}
            if own:
                yield {"at_s": 0.0, "link": link[end], **own}
        for begin_s, end_s in cable.down:
            yield {"at_s": begin_s, "link": chain.channel[end], "up": False}
            yield {"at_s": end_s, "link": chain.channel[end], "up": True}


def _directions(cable: Cable, follows: Followed, chain: _Chain) -> State:
    """What a link follows, and where its directions stand."""
    ways = {
        side: {"rate": chain.rate[end], "channel": chain.channel[end], "state": dict(cable.towards(end))}
        for side, end in (("up", cable.ends[1]), ("down", cable.ends[0]))
    }
    return {**follows.to_json(), **ways}


def _ridden(
    cables: Sequence[Cable], pairs: Sequence[Hop], hops_of: Mapping[Hop, Sequence[Hop]]
) -> Ridden | None:
    """The link that is ridden by flows between these pairs, on ways of these hops; None: none of them is."""
    cable_of = {frozenset(cable.ends): cable for cable in cables}
    onwards, back = hops_of[pairs[0]], hops_of[pairs[0][::-1]]
    first = next((cable_of[frozenset(hop)] for hop in onwards if cable_of[frozenset(hop)].follows), None)
    if first is None or first.follows is None:
        return None
    rest = {}
    for side, through in (("up", first.ends), ("down", first.ends[::-1])):
        hops = onwards if through in onwards else back
        others = [cable_of[frozenset(hop)] for hop in hops]
        way = _together(
            cable.typically(hop[1]) for cable, hop in zip(others, hops, strict=True) if cable is not first
        )
        rate_bps = None if way.rate_bps == float("inf") else way.rate_bps
        rest[side] = {"rate_bps": rate_bps, "delay_s": way.delay_s, "loss": way.loss}
    sides = {
        pair: "up" if hop == first.ends else "down"
        for pair in pairs
        for hop in hops_of[pair]
        if hop in (first.ends, first.ends[::-1])
    }
    return Ridden(first.follows, rest, sides)


def _network(asked: Layout, chains: Sequence[_Chain], addresses: Addresses, found: Routes) -> State:
    """As a plan has it."""
    mtu = [{} if cable.mtu_bytes is None else {"mtu_bytes": cable.mtu_bytes} for cable in asked.cables]
    inner = [node for chain in chains for node in chain.nodes[1:-1]]

    def neighbour(node: str, link: int) -> str:
        nodes = chains[link].nodes
        return nodes[1] if node == nodes[0] else nodes[-2]

    return {
        "nodes": [{"name": node} for node in asked.nodes] + [{"name": it, "switch": True} for it in inner],
        "links": [
            {"a": a, "b": b, **own}
            for chain, own in zip(chains, mtu, strict=True)
            for a, b in pairwise(chain.nodes)
        ],
        "addresses": [
            {"node": it.node, "link": neighbour(it.node, it.link), "address": str(it.interface)}
            for it in addresses.all
        ],
        "routes": [
            {"node": node, "to": "default" if net.prefixlen == 0 else str(net), **_hop(via)}
            for (node, net), via in found.via.items()
        ],
        **({"tunnels": _tunnels(asked, found)} if asked.tunnels else {}),
    }


def _hop(via: Via) -> State:
    return {"tunnel": via.name} if isinstance(via, Tunnel) else {"via": str(via)}


def _tunnels(asked: Layout, found: Routes) -> list[State]:
    return [
        {
            "name": tunnel.name,
            "a": tunnel.ends[0],
            "b": tunnel.ends[1],
            "a_outer": str(tunnel.outer[0]),
            "b_outer": str(tunnel.outer[1]),
            "a_inner": _OF_TUNNELS.format(number, 1),
            "b_inner": _OF_TUNNELS.format(number, 2),
            "mtu_bytes": laid.mtu_bytes,
        }
        for number, (laid, tunnel) in enumerate(zip(asked.tunnels, found.tunnels, strict=True))
    ]
