"""[network] with a map: paths through a network of geography as links, with what a challenge takes down when.

Only nodes and links of the paths are there, and of the ways to which they turn. The host `client` is at the
first end, `server` at the last.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from gauntlet.errors import UserError
from gauntlet.experiment import challenge_file, own_network
from gauntlet.experiment.network_section import NetworkSection
from gauntlet.experiment.own_network import Cable, Layout
from gauntlet.experiment.reroutes import Reroute
from gauntlet.geography import converging, fibre, methods, packaged
from gauntlet.geography.network import Network
from gauntlet.geography.network import Path as MapPath
from gauntlet.geography.told import told
from gauntlet.geography.wanted import Wanted

CLIENT, SERVER = "client", "server"
"""The hosts at the ends of the paths."""
APART_KM = 50.0
"""The least distance of two paths, where none is asked for; as `gauntlet geography` has it."""
PATHS = 3
METHOD = "iwpsp"
SMALLEST_QUEUE_BYTES = 15_000
"""Room for ten packets, where a round trip at the rate holds less."""


def layout(section: NetworkSection, folder: Path) -> Layout:
    """The section's paths as a network of one's own; a map's file is looked for in `folder`.

    Raises UserError.
    """
    named = section.map or ""
    network = packaged.load(str(folder / named) if Path(named).suffix else named)
    paths = _written(section, network) if section.paths else _found(section, network)
    challenge = None
    if section.challenge is not None:
        challenge = challenge_file.challenge(section.challenge, folder, network)
    down = None if challenge is None else challenge.outages(network)
    turns = (
        []
        if down is None or section.converges_after is None
        else converging.turns(network, paths, down, section.converges_after)
    )
    ways = [*paths, *(turn.way for turn in turns)]
    longest_s = max(network.delay_s(path) for path in paths)
    rate_bps = section.rate or 0
    queue = section.queue or max(SMALLEST_QUEUE_BYTES, round(rate_bps * 2 * longest_s / 8))
    state = own_network.planned_keys({"rate": rate_bps, "queue": queue, "loss": section.loss})
    names = _names([node for way in ways for node in way])
    cables = []
    for number in dict.fromkeys(number for way in ways for number in network.links_of(way)):
        link = network.links[number]
        own = {**state, "delay_s": round(fibre.delay_s(link.length_km), 9)}
        ends = (names[link.ends[0]], names[link.ends[1]])
        when = () if down is None else down.links.get(link.ends, ())
        cables.append(Cable(ends, own, own, down=[list(interval) for interval in when]))
    first, last = names[paths[0][0]], names[paths[0][-1]]

    def between_hosts(way: MapPath) -> tuple[str, ...]:
        return (CLIENT, *(names[node] for node in way), SERVER)

    return Layout(
        (Cable((CLIENT, first)), *cables, Cable((last, SERVER))),
        paths=tuple(map(between_hosts, paths)),
        map=told(network, paths, challenge, section.converges_after),
        reroutes=tuple(Reroute(turn.at_s, turn.path + 1, between_hosts(turn.way)) for turn in turns),
    )


def _found(section: NetworkSection, network: Network) -> list[MapPath]:
    method, count = section.method or METHOD, section.count or PATHS
    wanted = Wanted(
        paths=count,
        apart_km=APART_KM if section.apart is None else section.apart,
        stretch_hops=section.stretch,
        skew_s=section.skew,
    )
    found = methods.find(network, section.from_ or "", section.to or "", method, wanted)
    if len(found) < count:
        raise UserError(
            f"count: {method} finds {len(found)} of {count} paths; ask for fewer, for less distance, or take "
            'method = "exact".'
        )
    return [it.path for it in found]


def _written(section: NetworkSection, network: Network) -> list[MapPath]:
    ends = network.two(section.from_ or "", section.to or "")
    found = []
    for number, nodes in enumerate(section.paths, start=1):
        path = tuple(network.node(node) for node in nodes)
        if (path[:1], path[-1:]) != (ends[:1], ends[1:]):
            raise UserError(f"paths: path {number} does not lead from {ends[0]} to {ends[1]}; write both.")
        if len(set(path)) < len(path):
            raise UserError(f"paths: path {number} comes twice to one node; name each once.")
        for one, other in pairwise(path):
            if not network.graph.has_edge(one, other):
                near = ", ".join(sorted(network.graph[one]))
                raise UserError(
                    f"paths: path {number}: {network.name} has no link from {one} to {other}; there "
                    f"are links to {near}."
                )
        found.append(path)
    return found


def _names(nodes: Sequence[str]) -> dict[str, str]:
    """Nodes of the map as a plan can name them: washington-dc."""
    found: dict[str, str] = {}
    for node in dict.fromkeys(nodes):
        name = re.sub(r"[^a-z0-9]+", "-", node.lower()).strip("-")
        other = next((it for it, its in found.items() if its == name), None)
        if other is not None or name in ("", CLIENT, SERVER):
            raise UserError(
                f"map: the node '{node}' cannot be told from '{other or name}'; rename one in the file."
            )
        found[node] = name
    return found
