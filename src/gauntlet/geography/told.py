"""A network, paths through it and a challenge as plain data, from which a map is drawn.

`network` has `name`, `nodes` (`node`, `latitude`, `longitude`) and `links` (pairs of nodes); `paths` are
lists of nodes with `down`, when something along them is, and with `detours` where routing converges: the ways
(`nodes`) that they take instead, each from `from_s` until `to_s`; `challenge` (None without one) has its
`name`, its `rings` and the `nodes` that are down, each with its intervals.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from gauntlet.geography import converging
from gauntlet.geography.challenges.challenge import Challenge
from gauntlet.geography.converging import Turn
from gauntlet.geography.network import Network, Path


def told(
    network: Network,
    paths: Sequence[Path],
    challenge: Challenge | None,
    converges_after_s: float | None = None,
) -> dict[str, Any]:
    """What a map shows of them. Raises UserError where the challenge reaches nothing of the network."""
    down = None if challenge is None else challenge.outages(network)
    turns: Sequence[Turn] = ()
    if down is not None and converges_after_s is not None:
        turns = converging.turns(network, paths, down, converges_after_s)
    ways: list[dict[str, Any]] = []
    for number, path in enumerate(paths):
        when = () if down is None else down.of_path(path)
        way: dict[str, Any] = {"nodes": list(path), "down": [list(it) for it in when]}
        if found := _detours(path, [turn for turn in turns if turn.path == number]):
            way["detours"] = found
        ways.append(way)
    shown = None
    if challenge is not None and down is not None:
        shown = {
            "name": challenge.name,
            "rings": [ring.to_json() for ring in challenge.rings],
            "nodes": [{"node": node, "down": [list(it) for it in when]} for node, when in down.nodes.items()],
        }
    return {"network": _network(network), "paths": ways, "challenge": shown}


def _detours(path: Path, turns: Sequence[Turn]) -> list[dict[str, Any]]:
    # Whatever fails comes back, so the last turn leads to the path itself.
    return [
        {"nodes": list(turn.way), "from_s": turn.at_s, "to_s": following.at_s}
        for turn, following in pairwise(turns)
        if turn.way != path
    ]


def _network(network: Network) -> dict[str, Any]:
    return {
        "name": network.name,
        "nodes": [
            {"node": name, "latitude": place.latitude, "longitude": place.longitude}
            for name, place in network.nodes.items()
        ],
        "links": [list(link.ends) for link in network.links],
    }
