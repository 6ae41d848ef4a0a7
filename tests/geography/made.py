"""Networks made for tests: small random ones, and everything between two nodes of them by brute force."""

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from random import Random

from gauntlet.geography import fibre, sphere
from gauntlet.geography.network import Link, Network, Path
from gauntlet.geography.separation import Separation
from gauntlet.geography.sphere import Place
from gauntlet.geography.wanted import Wanted


def network(places: dict[str, tuple[float, float]], links: list[tuple[str, str]]) -> Network:
    """From latitudes and longitudes, and pairs of names."""
    nodes = {name: Place(*at) for name, at in places.items()}
    return Network(
        "made",
        nodes,
        tuple(
            Link(pair, fibre.cable_km(sphere.distance_km(nodes[pair[0]], nodes[pair[1]]))) for pair in links
        ),
    )


def drawn(seed: int, nodes: int = 8, share: float = 0.5) -> Network:
    """Nodes anywhere in a piece of the Earth, a ring through all of them and a share of the other links."""
    random = Random(seed)
    places = {f"n{it}": (random.uniform(30, 45), random.uniform(-110, -75)) for it in range(nodes)}
    names = list(places)
    ring = [(one, other) for one, other in pairwise([*names, names[0]])]
    others = [
        pair
        for pair in combinations(names, 2)
        if pair not in ring and pair[::-1] not in ring and random.random() < share
    ]
    return network(places, ring + others)


def all_paths(of: Network, source: str, target: str) -> Iterator[Path]:
    """Every path between two nodes, by trying."""

    def on(way: Path) -> Iterator[Path]:
        if way[-1] == target:
            yield way
            return
        for link in of.links:
            for one, other in (link.ends, link.ends[::-1]):
                if one == way[-1] and other not in way:
                    yield from on((*way, other))

    yield from on((source,))


def keeps(of: Network, wanted: Wanted, paths: list[Path]) -> bool:
    """Whether paths between the same ends are what was wanted, by its definition alone."""
    source, target = paths[0][0], paths[0][-1]
    separation = Separation(of, source, target)
    return (
        len(paths) == wanted.paths
        and len(set(paths)) == len(paths)
        and all(len(set(path)) == len(path) for path in paths)
        and within(of, wanted, paths, min(all_paths(of, source, target), key=of.length_km))
        and all(separation.km(*pair) >= wanted.apart_km for pair in combinations(paths, 2))
    )


def within(of: Network, wanted: Wanted, paths: Sequence[Path], shortest: Path) -> bool:
    """Whether paths keep stretch and skew."""
    delays = [of.delay_s(path) for path in paths]
    return (wanted.stretch_hops is None or max(map(len, paths)) <= len(shortest) + wanted.stretch_hops) and (
        wanted.skew_s is None or max(delays) - min(delays) <= wanted.skew_s
    )


def best(of: Network, source: str, target: str, wanted: Wanted) -> float | None:
    """The least sum of lengths of the wanted paths, by trying all sets; None: there is no such set."""
    paths = list(all_paths(of, source, target))
    shortest = min(paths, key=of.length_km)
    separation = Separation(of, source, target)
    apart = {pair for pair in combinations(paths, 2) if separation.km(*pair) >= wanted.apart_km}
    return min(
        (
            sum(map(of.length_km, several))
            for several in combinations(paths, wanted.paths)
            if apart.issuperset(combinations(several, 2)) and within(of, wanted, several, shortest)
        ),
        default=None,
    )
