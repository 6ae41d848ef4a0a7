"""A routing that converges, on a map with a challenge: which way each path takes while something along it is
down.

It is link-state routing (RFC 2328) with its times as one: what fails or comes back is noticed, flooded and
computed with by every router that long afterwards, and by all at once. So no router loops packets with
another one, as they may for a moment where some know and some do not (RFC 8541).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gauntlet.geography.challenges.outages import Outages
from gauntlet.geography.network import Network, Path


@dataclass(frozen=True)
class Turn:
    """From `at_s` on path number `path` (from 0) leads along `way`."""

    at_s: float
    path: int
    way: Path


def turns(network: Network, paths: Sequence[Path], down: Outages, after_s: float) -> list[Turn]:
    """Where paths turn to another way, in order of time: `after_s` after each moment at which anything fails
    or comes back, by what was up at that moment. Where no way is left a path stays where it is.
    """
    along = list(paths)
    found = []
    for moment_s in down.changes_s():
        usable = links_up(network, down, moment_s)
        for number, path in enumerate(paths):
            way = way_over(network, path, usable)
            if way is not None and way != along[number]:
                along[number] = way
                found.append(Turn(round(moment_s + after_s, 9), number, way))
    return found


def links_up(network: Network, down: Outages, moment_s: float) -> NDArray[np.bool_]:
    """Which of the network's links are up at a moment."""
    _, dead = down.at(moment_s)
    return np.array([link.ends not in dead for link in network.links], dtype=np.bool_)


def way_over(network: Network, path: Path, usable: NDArray[np.bool_]) -> Path | None:
    """The path itself if its links are all usable, else the way of the least delay between its ends over
    those that are; None: there is none.
    """
    if all(usable[number] for number in network.links_of(path)):
        return path
    return network.shortest(path[0], path[-1], usable=usable)
