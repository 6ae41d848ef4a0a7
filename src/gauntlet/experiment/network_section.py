"""[network]: a network of one's own, as an experiment or a file of its own has it;
docs/formats/own-network.md is the reference for users.

What it becomes in a plan is a matter of own_network.py.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from gauntlet import units
from gauntlet.errors import UserError
from gauntlet.experiment.gilbert_elliott import GilbertElliott
from gauntlet.experiment.quantities import Duration, Length, Rate, Share, Size, Time
from gauntlet.experiment.queues import Queue
from gauntlet.experiment.scenario_section import Followed
from gauntlet.experiment.strict import Strict, unknown_key
from gauntlet.experiment.tomlfile import checked, toml

_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
SMALLEST_MTU_BYTES, LARGEST_MTU_BYTES = 576, 65_535
"""What every host of IPv4 has to take (RFC 791), and what its header can say."""


def _node(name: str) -> str:
    if not _NODE.fullmatch(name):
        raise ValueError(f"{name!r} cannot be a node; write letters, digits, dashes and underscores.")
    return name


def _apart(ends: list[str]) -> list[str]:
    if len(ends) != 2 or ends[0] == ends[1]:
        raise ValueError(f"a link joins two different nodes, and {ends} are not; write two names.")
    return ends


def _lists(spans: Any) -> Any:
    if isinstance(spans, list) and spans and not any(isinstance(span, list) for span in spans):
        pairs = [spans[at : at + 2] for at in range(0, len(spans), 2)]
        raise ValueError(f"each outage is a list of its own; write {json.dumps(pairs, default=str)}.")
    return spans


def _ordered(spans: list[list[float]]) -> list[list[float]]:
    for number, span in enumerate(spans):
        if len(span) != 2:
            raise ValueError("an outage is a list of its beginning and its end, such as ['20s', '40s'].")
        if span[0] >= span[1]:
            begin, end = (units.format_time(it) for it in span)
            raise ValueError(
                f"an outage ends after it begins, and not from {begin} to {end}; write its beginning first."
            )
        if number and span[0] <= spans[number - 1][1]:
            raise ValueError("an outage begins after the end of the one before; sort them, and join some.")
    return spans


def _mtu(size_bytes: int) -> int:
    if not SMALLEST_MTU_BYTES <= size_bytes <= LARGEST_MTU_BYTES:
        raise ValueError(
            f"{size_bytes} bytes are no MTU; give {SMALLEST_MTU_BYTES}B to {LARGEST_MTU_BYTES}B."
        )
    return size_bytes


Node = Annotated[str, AfterValidator(_node), Field(json_schema_extra={"pattern": f"^{_NODE.pattern}$"})]


class NetworkDirection(Strict):
    """What a link does to packets that go one way."""

    rate: Rate | None = None
    """None: as fast as they come."""
    queue: Queue | None = None
    """What queues in front of the rate, and how much; None: 512 kB."""
    delay: Time | None = None
    jitter: Time | None = None
    """Half the width of a uniform variation of the delay, per packet."""
    reorder: bool | None = None
    """Whether jitter may change the order; None: no."""
    loss: Share | None = None
    """Of independent losses."""
    burst_loss: GilbertElliott | None = None
    duplicate: Share | None = None
    corrupt: Share | None = None


class NetworkLine(NetworkDirection):
    """What a link does to packets, whichever way they go."""

    scenario: Followed | None = None
    """Whose rate, delay and loss it has from moment to moment: towards its second end those up, towards its
    first those down. None: what is written here stays."""


class NetworkLink(NetworkLine):
    """[[network.link]]: a cable between two nodes."""

    between: Annotated[list[Node], AfterValidator(_apart)]
    """Its two ends."""
    name: Node | None = None
    """What axes and `set` call it; None: its ends with a dash between them."""
    mtu: Annotated[Size, AfterValidator(_mtu)] | None = None
    """The longest packet; None: 1500 bytes."""
    down: Annotated[list[list[Time]], BeforeValidator(_lists), AfterValidator(_ordered)] = Field(
        default_factory=list
    )
    """When it is down: beginning and end of each outage."""
    back: NetworkDirection = NetworkDirection()
    """What is otherwise for packets from the second end to the first."""

    @property
    def called(self) -> str:
        """Its name, or its ends."""
        return self.name or "-".join(self.between)

    @model_validator(mode="after")
    def _consistent(self) -> "NetworkLink":
        wrong = contradiction(self)
        if wrong is not None:
            raise ValueError(wrong)
        return self

    @property
    def onwards(self) -> dict[str, Any]:
        """What it does to packets towards its second end, by the keys of `NetworkDirection`."""
        return {key: getattr(self, key) for key in NetworkDirection.model_fields}

    @property
    def backwards(self) -> dict[str, Any]:
        """And to those towards its first end."""
        return {key: value if getattr(self.back, key) is None else getattr(self.back, key)
                for key, value in self.onwards.items()}  # fmt: skip


_OF_SCENARIO = ("rate", "delay", "loss", "burst_loss")
"""Keys of a link that a scenario has in their place."""


def contradiction(link: NetworkLink) -> str | None:
    """Keys of a link that cannot stand together, as a sentence; None: all can."""
    for where, way in (("", link.onwards), ("back: ", link.backwards)):
        stray = [key for key in _OF_SCENARIO if way[key] is not None]
        if link.scenario is not None and stray:
            return f"{where}the scenario says '{stray[0]}'; leave it out, or write it on the next link."
        if way["queue"] is not None and way["rate"] is None and link.scenario is None:
            return f"{where}a queue without a rate never fills; add rate, or leave queue out."
        if way["burst_loss"] is not None and way["loss"]:
            return f"{where}loss and burst_loss both stand here; keep one of them."
    return None


class NetworkAddress(Strict):
    """[[network.address]]: an address of a node on its link to another one."""

    node: Node
    link: Node
    """The node at the other end."""
    address: str
    """With the length of its prefix: 10.0.0.1/24."""


class NetworkRoute(Strict):
    """[[network.route]]: by which neighbour a node sends what goes somewhere."""

    node: Node
    to: str
    """A node (all of its addresses), a prefix, or default."""
    via: str
    """A neighbour, or its address; or a tunnel."""


class NetworkTunnel(Strict):
    """[[network.tunnel]]: two nodes that wrap in GRE what they send each other."""

    name: Node
    between: Annotated[list[Node], AfterValidator(_apart)]
    """Its two ends, which need no link of their own."""
    mtu: Annotated[Size, AfterValidator(_mtu)] | None = None
    """The longest packet in it; None: 1476 bytes, which an MTU of 1500 leaves."""


Method = Literal["iwpsp", "mlw", "exact", "farthest", "disjoint"]


class NetworkSection(Strict):
    """[network]: nodes and links written here, in a file, or taken from a map."""

    file: str | None = None
    """A network file, looked for beside the experiment."""
    nodes: list[Node] = Field(default_factory=list)
    """The nodes; empty: whatever links name."""
    link: list[NetworkLink] = Field(default_factory=list)
    address: list[NetworkAddress] = Field(default_factory=list)
    route: list[NetworkRoute] = Field(default_factory=list)
    tunnel: list[NetworkTunnel] = Field(default_factory=list)
    paths: list[list[str]] = Field(default_factory=list)
    """Ways between two hosts, each with addresses of its own; on a map, between its two ends."""
    set: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """By a link's name: keys that are replaced."""
    map: str | None = None
    """A network on a map: a packaged one, or a file."""
    from_: str | None = Field(default=None, alias="from")
    """On a map: where the host client is."""
    to: str | None = None
    """On a map: where the host server is."""
    method: Method | None = None
    """On a map: how paths are found; None: iwpsp."""
    count: int | None = Field(default=None, ge=1, le=100)
    """On a map: how many paths; None: 3."""
    apart: Length | None = None
    """On a map: the least distance of two paths; None: 50 km."""
    stretch: int | None = Field(default=None, ge=0)
    """On a map: hops that a path may have beyond the shortest one's; None: any."""
    skew: Duration | None = None
    """On a map: the greatest difference of delays; None: any."""
    challenge: str | None = None
    """On a map: what takes nodes and links down, and when, by name or of a file; None: nothing does."""
    converges_after: Time | None = None
    """On a map: how long after a link fails or comes back its paths turn to other ways; None: they stay."""
    rate: Rate | None = None
    """On a map: of every cable."""
    queue: Queue | None = None
    """On a map: before every cable; None: what the longest path holds at that rate in a round trip."""
    loss: Share | None = None
    """On a map: of every cable."""

    @model_validator(mode="after")
    def _one_way(self) -> "NetworkSection":
        ways = [name for name in ("file", "link", "map") if getattr(self, name)]
        if len(ways) != 1:
            found = f"{' and '.join(ways)} both stand here" if ways else "it has no links"
            raise ValueError(f"{found}; write links ([[network.link]]), file or map, one of the three.")
        stray = [self.written(name) for name in sorted(OF_MAP) if getattr(self, name) is not None]
        if self.map is None and stray:
            raise ValueError(f"'{stray[0]}' is of networks on a map; add map, or leave it out.")
        stray = [name for name in ("nodes", "address", "route", "tunnel") if getattr(self, name)]
        if not self.link and stray:
            raise ValueError(f"'{stray[0]}' stands beside '{ways[0]}'; write it where the links are.")
        if self.file is not None and self.paths:
            raise ValueError("'paths' stands beside 'file'; write it where the links are.")
        if self.map is not None:
            self._of_map()
        return self

    def _of_map(self) -> None:
        for name in ("from_", "to", "rate"):
            if getattr(self, name) is None:
                raise ValueError(f"the key '{self.written(name)}' is missing; add it.")
        bounds = [name for name in ("apart", "stretch", "skew") if getattr(self, name) is not None]
        if self.method == "disjoint" and bounds:
            raise ValueError(
                f"node-disjoint paths keep no '{bounds[0]}'; leave it out, or take another method."
            )
        searched = [name for name in ("method", "count", *bounds) if getattr(self, name) is not None]
        if self.paths and searched:
            raise ValueError(f"'{searched[0]}' finds paths, and they are written out; keep one of them.")
        if self.converges_after is not None and self.challenge is None:
            raise ValueError(
                "'converges_after' means nothing where nothing fails; add challenge, or leave it out."
            )
        if self.set:
            raise ValueError("'set' is of links by their names, and those of a map have none; leave it out.")

    @staticmethod
    def written(name: str) -> str:
        """A key as files have it."""
        return name.removesuffix("_")


OF_MAP = frozenset(
    {
        "from_",
        "to",
        "method",
        "count",
        "apart",
        "stretch",
        "skew",
        "challenge",
        "converges_after",
        "rate",
        "queue",
        "loss",
    }
)
"""Keys of networks on a map alone."""
AXES = ("file", *sorted(NetworkSection.written(name) for name in OF_MAP), "map")
"""Keys that [matrix] takes behind `network.`, besides those of links (LINK.KEY)."""
LINK_AXES = tuple(NetworkLine.model_fields)
"""Keys of a link that [matrix] takes behind its name."""


def read(
    section: NetworkSection, folder: Path, varied: Mapping[str, str] = MappingProxyType({})
) -> tuple[NetworkSection, Path]:
    """The section, or what its file has, with what `set` replaces; and the folder in which files that it
    names are looked for. `varied` says of links where it is an axis that replaces something.

    Raises UserError naming file, link and key.
    """
    where = "[network]"
    if section.file is not None:
        path = folder / section.file
        where, folder = str(path), path.parent
        own = checked(NetworkSection, toml(path, "network file"), where)
        if own.file is not None:
            raise UserError(f"{where}: file: a network file names no further one; write its links, or a map.")
        section = own.model_copy(update={"set": {**own.set, **section.set}})
    return section.model_copy(update={"link": _replaced(section.link, section.set, where, varied)}), folder


def _replaced(
    links: list[NetworkLink],
    changes: Mapping[str, Mapping[str, Any]],
    where: str,
    varied: Mapping[str, str],
) -> list[NetworkLink]:
    names = [link.called for link in links]
    for name, keys in changes.items():
        place = varied.get(name, "[network] set")
        if name not in names:
            raise UserError(f"{place}: no link of {where} is called '{name}'; they are {', '.join(names)}.")
        if names.count(name) > 1:
            raise UserError(f"{place}: two links of {where} are called '{name}'; give them names.")
        for key in keys:
            if key not in LINK_AXES:
                raise UserError(f"[network] set, {name}: {unknown_key(key, LINK_AXES)}")
    return [_with(link, changes[link.called]) if link.called in changes else link for link in links]


def _with(link: NetworkLink, keys: Mapping[str, Any]) -> NetworkLink:
    """In both directions: what stands in `back` is replaced too."""
    where = f"[network] set, {link.called}"
    given = checked(NetworkLine, dict(keys), where)
    values = {key: getattr(given, key) for key in keys}
    back = link.back.model_copy(update=dict.fromkeys(values.keys() - {"scenario"}))
    changed = link.model_copy(update={**values, "back": back})
    wrong = contradiction(changed)
    if wrong is not None:
        raise UserError(f"{where}: {wrong}")
    return changed
