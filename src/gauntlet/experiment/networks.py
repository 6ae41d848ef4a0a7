"""The networks that experiments run on: which hop of a preset carries which impairment, and where hosts are.

The railway network follows D3.4 sections 3.1 and 4.6 (Figure 14): rates on the gateways' outer interfaces,
radio latency and loss on the shared hop between radio and internet router, the rest of the channel's delay
between the internet router and each trackside gateway.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from gauntlet.errors import UserError
from gauntlet.experiment.runspec import FlowSpec


@dataclass(frozen=True)
class Direction:
    """The hops of one direction of a network, as link directions of the plan."""

    rate: tuple[str, ...]
    access: tuple[str, ...]
    internet: tuple[str, ...]
    """Empty: the access hop carries the whole delay."""


@dataclass(frozen=True)
class Network:
    """Where impairments and hosts are in a preset of the plan."""

    up: Direction
    down: Direction
    train_hosts: tuple[str, ...]
    trackside_hosts: Mapping[str, str]
    """By tunnel; the first is where programs of the user run."""
    second: frozenset[str] = frozenset()
    """Hops of a second line, which may have conditions of its own."""
    in_path: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """By the side of the hosts (train, trackside): a link that carries no impairment, in which an in-path
    node can stand; its end towards the train first. It carries what all hosts of the train send, or what goes
    to the first trackside host."""

    def host(self, side: str) -> str:
        """The host of a side (train or trackside) in which programs of the user run."""
        return self.train_hosts[0] if side == "train" else next(iter(self.trackside_hosts.values()))


_RAIL_D34 = Network(
    up=Direction(("rasa>ra",), ("ra>rabc",), ("rabc>rb", "rabc>rc")),
    down=Direction(("rbsb>rb", "rcsc>rc"), ("rabc>ra",), ("rb>rabc", "rc>rabc")),
    train_hosts=("tc1", "tc2"),
    trackside_hosts={"b": "tsb1", "c": "tsc1"},
    in_path=MappingProxyType({"train": ("sa", "rasa"), "trackside": ("rbsb", "sb")}),
)

_AT_WIRE_ENDS = MappingProxyType({"train": ("client", "west"), "trackside": ("east", "server")})
"""Of wire-dual: on the first of its lines."""

NETWORKS: Mapping[str, Network] = MappingProxyType(
    {
        "rail-d34": _RAIL_D34,
        # Its server on both tunnels is the one at the end of the first.
        "rail-d34-dual": replace(_RAIL_D34, trackside_hosts={"b": "ts", "c": "tsc1"}),
        "wire": Network(
            up=Direction(("west>mid",), ("mid>east",), ()),
            down=Direction(("east>mid",), ("mid>west",), ()),
            train_hosts=("client",),
            trackside_hosts={"b": "server"},
            in_path=_AT_WIRE_ENDS,
        ),
        "wire-dual": Network(
            up=Direction(("west>mid", "west2>mid2"), ("mid>east", "mid2>east2"), ()),
            down=Direction(("east>mid", "east2>mid2"), ("mid>west", "mid2>west2"), ()),
            train_hosts=("client",),
            trackside_hosts={"b": "server"},
            in_path=_AT_WIRE_ENDS,
            second=frozenset({"west2>mid2", "mid2>east2", "east2>mid2", "mid2>west2"}),
        ),
    }
)
"""Networks by the preset's name (docs/formats/plan.md)."""


def endpoints(network_name: str, flow: FlowSpec, index: int) -> tuple[str, str]:
    """The nodes that flow number `index` goes from and to. Raises UserError for an unknown tunnel."""
    if flow.sender is not None and flow.receiver is not None:
        return flow.sender, flow.receiver
    network = NETWORKS[network_name]
    if flow.tunnel not in network.trackside_hosts:
        raise UserError(
            f"the network '{network_name}' has no tunnel '{flow.tunnel}'; leave the key 'tunnel' out, or set "
            '[link] network = "rail-d34".'
        )
    train = network.train_hosts[index % len(network.train_hosts)]
    trackside = network.trackside_hosts[flow.tunnel]
    return (train, trackside) if flow.direction == "up" else (trackside, train)
