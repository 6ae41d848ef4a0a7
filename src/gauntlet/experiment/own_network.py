"""Networks of one's own: from nodes, links, addresses and routes to a plan's network and its timeline.

A link direction of a plan has either a rate or a delay. So a link with both is cut in two by a switch, which
has no address and passes on what comes: the rate stands before it, the delay behind. A link of a host is cut
once more beside the host, so that a tap sees what enters it (docs/formats/own-network.md).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from gauntlet.errors import UserError
from gauntlet.experiment import queues
from gauntlet.experiment.network_addresses import MOST_PATHS, Addresses, Written, addressed
from gauntlet.experiment.network_routes import Hop, Routes, WrittenRoute, routes
from gauntlet.experiment.network_section import NetworkSection
from gauntlet.experiment.queues import QueueSection

NAME = "own"
"""What `LinkConditions.network` calls a network that is no preset."""
DEFAULT_QUEUE_BYTES = 512_000
"""Before a rate, as in a plan (D3.4 section 4.6)."""

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

    def towards(self, end: str) -> Mapping[str, Any]:
        """What it does to packets towards one of its ends."""
        return self.onwards if end == self.ends[1] else self.backwards


@dataclass(frozen=True)
class Layout:
    """What a network consists of, wherever that was written."""

    cables: tuple[Cable, ...]
    addresses: tuple[Written, ...] = ()
    routes: tuple[WrittenRoute, ...] = ()
    paths: tuple[tuple[str, ...], ...] = ()
    """Ways between the same two hosts, each with addresses of its own."""
    map: Mapping[str, Any] | None = None
    """Where it was taken from, to draw (`gauntlet.geography.told`)."""

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
class OwnNetwork:
    """A network as a plan has it, and the ways of its flows."""

    network: Mapping[str, Any]
    timeline: Sequence[State]
    ways: Mapping[Hop, Way]
    """By sender and receiver of each flow, and back."""
    links: Sequence[State]
    """Its links before they were cut."""
    map: Mapping[str, Any] | None = None
    """The map from which it was taken."""

    def to_json(self) -> dict[str, Any]:
        """What runs keep of it."""
        return {"network": self.network, "timeline": self.timeline, "links": self.links}


def layout(read: NetworkSection) -> Layout:
    """Of links that are written in a section or in its file (`network_section.read`). Raises UserError."""
    cables = tuple(
        Cable(
            (link.between[0], link.between[1]),
            planned_keys(link.onwards),
            planned_keys(link.backwards),
            link.mtu,
            link.down,
        )
        for link in read.link
    )
    found = Layout(
        cables,
        tuple(Written(it.node, it.link, it.address) for it in read.address),
        tuple(WrittenRoute(it.node, it.to, it.via) for it in read.route),
        tuple(map(tuple, read.paths)),
    )
    _check(found, read.nodes)
    return found


def built(asked: Layout, pairs: Iterable[Hop]) -> OwnNetwork:
    """The network for flows between these pairs of hosts (sender, receiver). Raises UserError."""
    pairs = list(dict.fromkeys(pairs))
    hosts = list(dict.fromkeys(host for pair in pairs for host in pair))
    links = [cable.ends for cable in asked.cables]
    addresses = addressed(links, asked.paths, asked.addresses)
    delays_s = {
        (sender, receiver): float(cable.towards(receiver).get("delay_s", 0.0))
        for cable in asked.cables
        for sender, receiver in (cable.ends, cable.ends[::-1])
    }
    found = routes(addresses, delays_s, hosts, asked.paths, asked.routes)
    both = [hop for pair in pairs for hop in (pair, pair[::-1])]
    delay_s = {hop: _way(asked.cables, found.way(*hop)).delay_s for hop in both}
    round_trip_s = max(delay_s[hop] + delay_s[hop[::-1]] for hop in both)
    cables = [_queued(cable, round_trip_s) for cable in asked.cables]
    ways = {hop: _way(cables, found.way(*hop)) for hop in both}
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
    return OwnNetwork(network, timeline, ways, [_link(cable) for cable in cables], asked.map)


def _link(cable: Cable) -> State:
    """A link for people who read of the network."""
    both = {"onwards": dict(cable.onwards), "backwards": dict(cable.backwards)}
    return {"ends": list(cable.ends), **both, "down": [list(span) for span in cable.down]}


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
    check_paths(asked)


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
_OF_RATE = ("rate_bps", "queue_limit_bytes", "queue")


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

    def planned(state: Mapping[str, Any]) -> Mapping[str, Any]:
        if "queue" not in state:
            return state
        own = {key: value for key, value in state.items() if key != "queue"}
        try:
            return {**own, **queues.planned(state["queue"], state["rate_bps"], round_trip_s)}
        except UserError as error:
            raise UserError(f"the link {'-'.join(cable.ends)}: {error}") from None

    return replace(cable, onwards=planned(cable.onwards), backwards=planned(cable.backwards))


def _way(cables: Sequence[Cable], hops: Sequence[Hop]) -> Way:
    cable_of = {frozenset(cable.ends): cable for cable in cables}
    states = [cable_of[frozenset(hop)].towards(hop[1]) for hop in hops]
    rates = [(state.get("rate_bps", float("inf")), state) for state in states]
    rate_bps, narrowest = min(rates, key=lambda it: it[0])
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
    rated = any(key in _OF_RATE for state in states for key in state)
    delayed = bool(cable.down) or any(key not in _OF_RATE for state in states for key in state)
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
        state = cable.towards(end)
        for link, keys in ((chain.rate, True), (chain.channel, False)):
            own = {key: value for key, value in state.items() if (key in _OF_RATE) == keys}
            if own:
                yield {"at_s": 0.0, "link": link[end], **own}
        for begin_s, end_s in cable.down:
            yield {"at_s": begin_s, "link": chain.channel[end], "up": False}
            yield {"at_s": end_s, "link": chain.channel[end], "up": True}


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
            {"node": node, "to": "default" if net.prefixlen == 0 else str(net), "via": str(via)}
            for (node, net), via in found.via.items()
        ],
    }
