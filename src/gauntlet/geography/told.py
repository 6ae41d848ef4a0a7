"""A network, paths through it and a challenge as plain data, from which a map is drawn.

`network` has `name`, `nodes` (`node`, `latitude`, `longitude`) and `links` (pairs of nodes); `paths` are
lists of nodes with `down`, when something along them is; `challenge` (None without one) has its `name`, its
`rings` and the `nodes` that are down, each with its intervals.
"""

from collections.abc import Sequence
from typing import Any

from gauntlet.geography.challenges import profiles
from gauntlet.geography.network import Network, Path


def told(network: Network, paths: Sequence[Path], challenge: str | None) -> dict[str, Any]:
    """What a map shows of them. Raises UserError where there is no such challenge."""
    down = None if challenge is None else profiles.outages(challenge, network)
    ways: list[dict[str, Any]] = []
    for path in paths:
        when = () if down is None else down.of_path(path)
        ways.append({"nodes": list(path), "down": [list(it) for it in when]})
    shown = None
    if challenge is not None and down is not None:
        shown = {
            "name": challenge,
            "rings": [ring.to_json() for ring in profiles.RINGS.get(challenge, ())],
            "nodes": [{"node": node, "down": [list(it) for it in when]} for node, when in down.nodes.items()],
        }
    return {"network": _network(network), "paths": ways, "challenge": shown}


def _network(network: Network) -> dict[str, Any]:
    return {
        "name": network.name,
        "nodes": [
            {"node": name, "latitude": place.latitude, "longitude": place.longitude}
            for name, place in network.nodes.items()
        ],
        "links": [list(link.ends) for link in network.links],
    }
