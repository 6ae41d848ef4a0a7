"""The ways to find several paths, by name, and what is to be known of the paths that they find."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from gauntlet.errors import UserError
from gauntlet.geography import disjoint, exact
from gauntlet.geography.compared import HEURISTICS, Method
from gauntlet.geography.network import Network, Path
from gauntlet.geography.separation import Separation
from gauntlet.geography.wanted import Wanted


def _farthest(network: Network, source: str, target: str, wanted: Wanted) -> list[Path]:
    return exact.farthest_apart(network, source, target, wanted)[1]


GEODIVERSE: Mapping[str, Method] = MappingProxyType(
    {**HEURISTICS, "exact": exact.paths, "farthest": _farthest}
)
"""Those that keep a distance: two heuristics, the least sum of lengths that there is, and the paths that are
farthest apart.
"""
DISJOINT = "disjoint"
"""Node-disjoint paths of the least sum of lengths, wherever they lie."""
METHODS = (*GEODIVERSE, DISJOINT)
_APART_KM = 1e-6
"""Less than any two nodes are apart: paths that share none."""


@dataclass(frozen=True)
class Described:
    """A path of several, with its numbers."""

    path: Path
    length_km: float
    delay_s: float
    apart_km: float | None
    """From the closest of the others; None: it is alone."""

    @property
    def hops(self) -> int:
        """Links along it."""
        return len(self.path) - 1

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "nodes": list(self.path),
            "hops": self.hops,
            "length_km": self.length_km,
            "delay_s": self.delay_s,
            "apart_km": self.apart_km,
        }


def find(network: Network, source: str, target: str, method: str, wanted: Wanted) -> list[Described]:
    """Paths between two nodes by a method, described; a heuristic may find fewer than were wanted.

    Raises UserError where no path leads, and where there is no set as wanted.
    """
    first, last = network.two(source, target)
    if network.shortest(first, last) is None:
        raise UserError(f"{network.name}: no path leads from {first} to {last}.")
    if method == DISJOINT:
        return described(network, disjoint.paths(network, first, last, wanted.paths))
    found = GEODIVERSE[method](network, first, last, wanted)
    if not found:
        raise UserError(
            f"{network.name} has no {wanted.paths} paths from {first} to {last} that keep "
            f"{wanted.apart_km:g} km{_bounds(wanted)}; {_what_there_is(network, first, last, wanted)}."
        )
    return described(network, found)


def _bounds(wanted: Wanted) -> str:
    return "" if wanted.stretch_hops is None and wanted.skew_s is None else " and the bounds"


def _what_there_is(network: Network, source: str, target: str, wanted: Wanted) -> str:
    """Which of the bounds is too tight, where an exact search found nothing."""
    kept_km, apart = exact.farthest_apart(network, source, target, replace(wanted, apart_km=_APART_KM))
    if apart:
        within = " within them" if _bounds(wanted) else ""
        # Rounded down, so that this is there when it is asked for.
        return f"the farthest{within} are {math.floor(10 * kept_km) / 10:.1f} km apart, so ask for no more"
    bounds = {"stretch": wanted.stretch_hops, "skew": wanted.skew_s}
    loosened = " or loosen ".join(["", *(name for name, bound in bounds.items() if bound is not None)])
    return f"there are none without a common node, so ask for fewer{loosened}"


def described(network: Network, paths: list[Path]) -> list[Described]:
    """Paths between the same two ends, with their numbers."""
    separation = Separation(network, paths[0][0], paths[0][-1])
    return [
        Described(
            path,
            network.length_km(path),
            network.delay_s(path),
            min((separation.km(path, other) for other in paths if other != path), default=None),
        )
        for path in paths
    ]
