"""Runs over a network of one's own: the ends of their flows, and the line that stands for it in reports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gauntlet.errors import UserError
from gauntlet.experiment import map_network, network_section, own_network
from gauntlet.experiment.followed import Followed
from gauntlet.experiment.own_network import Layout, OwnNetwork
from gauntlet.experiment.runspec import LinkConditions, RunSpec, ScenarioRef
from gauntlet.experiment.schema import Condition, FlowSection

_LINK_KEYS = frozenset({"offload"})
"""Keys of [link] that mean something here: the others are of the line of a scenario."""

_OF_A_LINE = {
    "threat": "threats act beside the hosts of a scenario's line",
    "drop": "packets vanish by script on a scenario's line",
    "network": "its presets carry a scenario's line",
    **dict.fromkeys(("second_rate", "second_delay", "second_loss"), "it is of a scenario's second line"),
}
"""Keys of [link] that no link of a network can have."""


@dataclass(frozen=True)
class OwnLinks:
    """A network of one's own, and the flows over it with their ends."""

    network: OwnNetwork
    flows: tuple[FlowSection, ...]

    def rate_bps(self, ends: str) -> float:
        """What the narrowest link carries on the way between two nodes, `sender>receiver`."""
        sender, _, receiver = ends.partition(">")
        return self.network.ways[sender, receiver].rate_bps

    @property
    def followed(self) -> Followed | None:
        """What the first link on the way of the first flow follows that follows anything."""
        return None if self.network.ridden is None else self.network.ridden.follows

    @property
    def round_trip_s(self) -> float:
        """The longest of all flows, without queues."""
        ways = self.network.ways
        return max(way.delay_s + ways[ends[::-1]].delay_s for ends, way in ways.items())

    def scenario(self) -> ScenarioRef:
        """What a report shows of the line, and what times are worked out by: what `followed` has, else a
        constant line like the way of the first flow.
        """
        if self.followed is not None:
            return self.followed.ref
        way = self.network.ways[next(iter(self.network.ways))]
        params = {
            "rate": way.rate_bps,
            "delay": way.delay_s,
            "loss": way.loss,
            "queue_limit": way.queue_limit_bytes,
        }
        return ScenarioRef("constant", {key: value for key, value in params.items() if value is not None})

    def conditions(self, condition: Condition) -> LinkConditions:
        """The link of a run."""
        return LinkConditions(
            own_network.NAME, offload=condition.link.offload, own=self.network.to_json(), map=self.network.map
        )


def of(
    condition: Condition, folder: Path, varied: Mapping[str, str] = MappingProxyType({})
) -> OwnLinks | None:
    """The network of one's own that a condition has; None: it has a scenario. `varied` is as in
    `network_section.read`. Raises UserError.
    """
    if condition.network is None:
        for number, flow in enumerate(condition.flow, start=1):
            for key, end in (("from", flow.from_), ("to", flow.to)):
                if end is not None:
                    raise UserError(
                        f"flow {number}, {key}: only a [network] has nodes by name; write direction instead."
                    )
        return None
    stray = sorted(condition.link.model_fields_set - _LINK_KEYS)
    if stray and stray[0] in _OF_A_LINE:
        raise UserError(
            f"[link] {stray[0]}: {_OF_A_LINE[stray[0]]}, which a [network] does not have; leave it out, or "
            "take a [scenario] in place of [network]."
        )
    if stray:
        raise UserError(
            f"[link] {stray[0]}: the links of [network] say themselves what they do; write it there, or "
            "leave it out."
        )
    section, beside = network_section.read(condition.network, folder, varied)
    where = f"[network] {condition.network.file}" if condition.network.file else "[network]"
    try:
        asked = (
            own_network.layout(section, beside)
            if section.map is None
            else map_network.layout(section, beside)
        )
        flows = tuple(_ended(flow, number, asked) for number, flow in enumerate(condition.flow, start=1))
        pairs = [(flow.from_ or "", flow.to or "") for flow in flows]
        network = own_network.built(asked, pairs)
        return OwnLinks(network, tuple(_turned(flow, network) for flow in flows))
    except UserError as error:
        raise UserError(f"{where}: {error}") from None


def told(specs: Sequence[RunSpec]) -> dict[str, Any] | None:
    """What a report tells of the network that runs have in common: its links as they are in the first run,
    the ends of the first flow, and of its way (keys of `OwnLinks.scenario`) what is the same in all.

    None for runs without such a network, and where links join other nodes.
    """
    networks = [spec.link.own for spec in specs if spec.link.own is not None]
    joined = [[link["ends"] for link in network["links"]] for network in networks]
    if not networks or len(networks) < len(specs) or any(ends != joined[0] for ends in joined):
        return None
    (first, *_), params = specs[0].flows, [_way(spec) for spec in specs]
    way = {key: value for key, value in params[0].items() if all(it.get(key) == value for it in params)}
    tunnels = [[it["a"], it["b"]] for it in networks[0]["network"].get("tunnels", ())]
    dug = {"tunnels": tunnels} if tunnels else {}
    return {"from": first.sender, "to": first.receiver, "links": networks[0]["links"], "way": way, **dug}


def _way(spec: RunSpec) -> Mapping[str, Any]:
    """What stays as it is of the way of the first flow: nothing where it follows a scenario."""
    return {} if spec.link.own is None or "rest" in spec.link.own else spec.scenario.params


def told_maps(specs: Sequence[RunSpec]) -> dict[str, Any] | None:
    """The map that runs have in common, to draw: `network` as in `gauntlet.geography.told`, and `sets`, each
    different set of `paths` under a `challenge` with the values of axes of [network] that all its runs have.

    None where some run has no map, or another network.
    """
    maps = [spec.link.map for spec in specs]
    first = maps[0] if maps else None
    if first is None or any(it is None or it["network"] != first["network"] for it in maps):
        return None
    sets: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for spec, it in zip(specs, maps, strict=True):
        drawn = {key: value for key, value in (it or {}).items() if key != "network"}
        factors = {key: value for key, value in spec.factors.items() if key.startswith("network.")}
        known = next((its for found, its in sets if found == drawn), None)
        if known is None:
            sets.append((drawn, factors))
        else:
            for key in [key for key in known if factors.get(key) != known[key]]:
                del known[key]
    return {"network": first["network"], "sets": [{"factors": its, **drawn} for drawn, its in sets]}


def refuse_nodes(in_path: Sequence[object], threats: Sequence[object]) -> None:
    """In-path nodes stand beside hosts of a preset. Raises UserError."""
    for section, there in (("in_path", in_path), ("threat", threats)):
        if there:
            raise UserError(
                f"[[{section}]]: it acts beside the train or the trackside of a scenario's line, which a "
                "[network] does not have; leave it out, or take a [scenario] in place of [network]."
            )


def _turned(flow: FlowSection, network: OwnNetwork) -> FlowSection:
    """The flow with the direction in which it passes the link that follows the run's scenario."""
    sides = {} if network.ridden is None else network.ridden.sides
    side = sides.get((flow.from_ or "", flow.to or ""))
    return flow if side is None else flow.model_copy(update={"direction": side})


def _ended(flow: FlowSection, number: int, asked: Layout) -> FlowSection:
    """The flow with both its ends."""
    for key in ("direction", "tunnel"):
        if key in flow.model_fields_set:
            raise UserError(f"flow {number}: from and to say where it goes; leave '{key}' out.")
    given = asked.ends or (None, None)
    ends = (flow.from_ or given[0], flow.to or given[1])
    for key, end in zip(("from", "to"), ends, strict=True):
        nodes = ", ".join(asked.nodes)
        if end is None:
            raise UserError(f"flow {number}: the key '{key}' is missing; name one of the nodes {nodes}.")
        if end not in asked.nodes:
            raise UserError(f"flow {number}, {key}: there is no node '{end}'; the nodes are {nodes}.")
    if ends[0] == ends[1]:
        raise UserError(f"flow {number}: it goes from '{ends[0]}' to itself; name two nodes.")
    return flow.model_copy(update={"from_": ends[0], "to": ends[1]})
