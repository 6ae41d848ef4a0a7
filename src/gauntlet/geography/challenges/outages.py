"""When nodes and links of a network are down."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from gauntlet.geography.challenges.intervals import Interval, Intervals, covers, union
from gauntlet.geography.network import Network, Path

Ends = tuple[str, str]


@dataclass(frozen=True)
class Outages:
    """What is down when; what stays up all the time is not in it."""

    nodes: Mapping[str, Intervals]
    links: Mapping[Ends, Intervals]
    """By the ends as the network has them; a link is down while one of its ends is."""

    def of_path(self, path: Path) -> Intervals:
        """When something along a path is down, its two ends included."""
        ends = [self.links.get(pair) or self.links.get(pair[::-1], ()) for pair in pairwise(path)]
        return union(*ends)

    def at(self, moment_s: float) -> tuple[list[str], list[Ends]]:
        """The nodes and links that are down at a moment."""
        return (
            [name for name, when in self.nodes.items() if covers(when, moment_s)],
            [ends for ends, when in self.links.items() if covers(when, moment_s)],
        )

    def changes_s(self) -> list[float]:
        """The moments at which something goes down or comes back."""
        both = [*self.nodes.values(), *self.links.values()]
        return sorted({moment for when in both for interval in when for moment in interval})

    def to_json(self) -> dict[str, Any]:
        """For machines: lists of `from_s` and `to_s` by node and by link."""
        return {
            "nodes": [{"node": name, "down": _json(when)} for name, when in self.nodes.items()],
            "links": [{"ends": list(ends), "down": _json(when)} for ends, when in self.links.items()],
        }


def outages(
    network: Network, nodes: Mapping[str, Intervals], links: Mapping[Ends, Intervals] | None = None
) -> Outages:
    """From what is hit itself; links fail with their ends, too."""
    hit = links or {}
    all_links = {
        link.ends: union(hit.get(link.ends, ()), *(nodes.get(end, ()) for end in link.ends))
        for link in network.links
    }
    return Outages(
        {name: nodes[name] for name in network.nodes if nodes.get(name)},
        {ends: when for ends, when in all_links.items() if when},
    )


def merged(network: Network, several: list[Outages]) -> Outages:
    """Of challenges that come together or one after another."""
    nodes = {name: union(*(it.nodes.get(name, ()) for it in several)) for name in network.nodes}
    links = {link.ends: union(*(it.links.get(link.ends, ()) for it in several)) for link in network.links}
    return outages(network, nodes, links)


def _json(when: Intervals) -> list[dict[str, float]]:
    return [_interval(it) for it in when]


def _interval(given: Interval) -> dict[str, float]:
    return {"from_s": given[0], "to_s": given[1]}
