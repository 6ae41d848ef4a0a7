"""Networks and paths for a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gauntlet.geography.challenges.intervals import Interval
from gauntlet.geography.challenges.outages import Outages
from gauntlet.geography.compared import Compared
from gauntlet.geography.fibre import delay_s
from gauntlet.geography.methods import Described
from gauntlet.geography.network import Network


def networks(known: Sequence[tuple[str, Network]]) -> RenderableType:
    """The packaged networks."""
    table = _table("name", "network", "nodes", "links", "source")
    for name, network in known:
        table.add_row(name, network.name, str(len(network.nodes)), str(len(network.links)), network.source)
    return table


def network(shown: Network) -> RenderableType:
    """One network with its links."""
    table = _table("link", "cable km", "ms one way")
    for link in sorted(shown.links, key=lambda it: sorted(it.ends)):
        ends = " – ".join(sorted(link.ends))
        table.add_row(ends, f"{link.length_km:.0f}", f"{1e3 * delay_s(link.length_km):.2f}")
    said = [it for it in (shown.source, shown.licence, shown.note) if it]
    return Group(
        Text(f"{shown.name}: {len(shown.nodes)} nodes, {len(shown.links)} links", style="bold"),
        *(Text(it, style="dim") for it in said),
        Text(),
        table,
    )


def paths(
    found: Sequence[Described], down: Outages | None, detours: Sequence[Sequence[Mapping[str, Any]]] = ()
) -> RenderableType:
    """Paths with their numbers, and when each is down under a challenge; under each the ways that it takes
    instead, as `told` has them.
    """
    extra = [] if down is None else ["down"]
    table = _table("path", "hops", "km", "ms one way", "km apart", *extra)
    for number, it in enumerate(found, start=1):
        apart = "–" if it.apart_km is None else f"{it.apart_km:.0f}"
        when = [] if down is None else [_when(down.of_path(it.path))]
        table.add_row(
            str(number), str(it.hops), f"{it.length_km:.0f}", f"{1e3 * it.delay_s:.2f}", apart, *when
        )
    return Group(table, Text(), *_ways(found, detours))


def compared(found: Sequence[Compared]) -> RenderableType:
    """Heuristics beside the exact search."""
    table = _table("method", "pairs", "there", "found", "longer")
    for it in found:
        longer = "–" if it.longer is None else f"{100 * it.longer:.1f} %"
        table.add_row(it.method, str(it.pairs), str(it.there), str(it.found), longer)
    words = "there: pairs of nodes that have such paths; longer: than the least sum, on average."
    return Group(table, Text(), Text(words, style="dim"))


def _ways(
    found: Sequence[Described], detours: Sequence[Sequence[Mapping[str, Any]]]
) -> Iterator[RenderableType]:
    for number, it in enumerate(found, start=1):
        yield Text(f"{number}  {' – '.join(it.path)}")
        for way in detours[number - 1] if detours else ():
            yield Text(f"   {_when([(way['from_s'], way['to_s'])])}: {' – '.join(way['nodes'])}", style="dim")


def _when(intervals: Sequence[Interval]) -> str:
    return ", ".join(f"{start:.1f}–{end:.1f} s" for start, end in intervals) or "never"


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(heading)
    return table
