"""`gauntlet geography`: networks on a map, paths through them that fail apart, and what challenges take."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gauntlet.geography.network import Network

_METHODS = ("iwpsp", "mlw", "exact", "farthest", "disjoint")
_APART_KM = 50.0


@click.group(short_help="Show networks on a map, and paths through them that fail apart.")
def geography() -> None:
    """Show networks on a map, and paths through them that fail apart.

    NETWORK is the name of a packaged network or a file (GraphML, GML, node-link JSON). Nothing is played.

    \b
    Examples:
      gauntlet geography show                                   which networks there are
      gauntlet geography show us-fibre
      gauntlet geography paths us-fibre "Oklahoma City" "Washington DC"
    """


@geography.command(short_help="Show a network, or list the packaged ones.")
@click.argument("network", required=False)
@click.option("--diversity", is_flag=True, help="Compute the total graph geodiversity (seconds).")
@click.option("--json", "json_", is_flag=True, help="Print it as JSON.")
def show(*, network: str | None, diversity: bool, json_: bool) -> None:
    """Show nodes and links of NETWORK with lengths and delays; without NETWORK, list what there is.

    A cable without a length of its own is 1.25 times as long as the great circle between its ends.

    \b
    Examples:
      gauntlet geography show
      gauntlet geography show nobel-eu --json
      gauntlet geography show os3e --diversity
    """
    from gauntlet.cli.output import console, print_json
    from gauntlet.errors import UserError
    from gauntlet.geography import diversity as total_diversity
    from gauntlet.geography import packaged, terminal

    if network is None:
        if diversity:
            raise UserError("--diversity is of one network; name it.")
        known = [(name, packaged.load(name)) for name in packaged.NAMES]
        if json_:
            print_json([{"network": name, **_head(it)} for name, it in known])
        else:
            console().print(terminal.networks(known))
        return
    loaded = packaged.load(network)
    total = total_diversity.total(loaded) if diversity else None
    if json_:
        extra: dict[str, object] = {} if total is None else {"geodiversity": total}
        print_json(_head(loaded) | _parts(loaded) | extra)
        return
    console().print(terminal.network(loaded))
    if total is not None:
        click.echo(f"\nTotal graph geodiversity: {total:.3f} (three paths, {total_diversity.SCALE_KM:g} km).")


@geography.command(short_help="Find paths that keep a distance, or share no node.")
@click.argument("network")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--count", type=click.IntRange(min=1), default=3, show_default=True, help="How many paths.")
@click.option(
    "--method",
    type=click.Choice(_METHODS),
    default="iwpsp",
    show_default=True,
    help="Two heuristics of GeoDivRP, the least sum of lengths, the farthest apart, or node-disjoint paths.",
)
@click.option("--apart-km", type=float, help=f"The least distance of two paths (default: {_APART_KM:g}).")
@click.option("--stretch-hops", type=int, help="Hops that a path may have beyond the shortest one's.")
@click.option("--skew", help="The greatest difference of delays, such as 10ms.")
@click.option(
    "--challenge",
    help="Say when each path is down: nashville, midwest, east-coast, central, cascade, or a file (.toml).",
)
@click.option(
    "--converges-after",
    metavar="TIME",
    help="Show the ways that paths take instead, so long after each change of a challenge.",
)
@click.option("--out", type=click.Path(), help="Draw them on a map: a file .svg, .png or .pdf.")
@click.option("--json", "json_", is_flag=True, help="Print it as JSON.")
def paths(
    *,
    network: str,
    source: str,
    target: str,
    count: int,
    method: str,
    apart_km: float | None,
    stretch_hops: int | None,
    skew: str | None,
    challenge: str | None,
    converges_after: str | None,
    out: str | None,
    json_: bool,
) -> None:
    """Find COUNT paths of NETWORK from one node to another one.

    \b
    Examples:
      gauntlet geography paths us-fibre "Oklahoma City" "Washington DC" --challenge nashville
      gauntlet geography paths us-fibre "Oklahoma City" "Washington DC" --method disjoint --out map.svg
      gauntlet geography paths us-fibre "Oklahoma City" "Washington DC" --challenge nashville \\
          --converges-after 5s --out map.svg
      gauntlet geography paths os3e Seattle Atlanta --count 2 --method exact --apart-km 200 --stretch-hops 4
    """
    from pathlib import Path

    from gauntlet import units
    from gauntlet.cli.output import console, print_json
    from gauntlet.errors import UserError
    from gauntlet.experiment import challenge_file
    from gauntlet.geography import methods, packaged, terminal
    from gauntlet.geography.remarks import remarks
    from gauntlet.geography.told import told
    from gauntlet.geography.wanted import Wanted

    if method == methods.DISJOINT and not (apart_km is None and stretch_hops is None and skew is None):
        raise UserError(
            "Node-disjoint paths keep no distance, stretch or skew; leave them out or take another method."
        )
    if converges_after is not None and challenge is None:
        raise UserError(
            "--converges-after says how soon routing leaves what a challenge takes; add --challenge."
        )
    converges_after_s = (
        None if converges_after is None else units.time_s(converges_after, "--converges-after")
    )
    wanted = Wanted(
        paths=count,
        apart_km=_APART_KM if apart_km is None else apart_km,
        stretch_hops=stretch_hops,
        skew_s=None if skew is None else units.time_s(skew, "--skew"),
    )
    loaded = packaged.load(network)
    asked = None if challenge is None else challenge_file.challenge(challenge, Path(), loaded)
    down = None if asked is None else asked.outages(loaded)
    found = methods.find(loaded, source, target, method, wanted)
    shown = told(loaded, [it.path for it in found], asked, converges_after_s)
    if out is not None:
        words = [loaded.name, method, *([] if asked is None else [f"challenge {asked.name}"])]
        if asked is not None and any(ring.at_largest for ring in asked.rings):
            words.append("circles that grow or shrink at their largest")
        _draw(shown, ", ".join(words), out)
    if json_:
        each = [it.to_json() for it in found]
        for said, path in zip(each, shown["paths"], strict=True):
            if down is not None:
                said["down"] = [{"from_s": start, "to_s": end} for start, end in path["down"]]
            if converges_after_s is not None:
                said["detours"] = path.get("detours", [])
        print_json({"network": loaded.name, "method": method, "wanted": count, "paths": each})
        return
    console().print(terminal.paths(found, down, [it.get("detours", []) for it in shown["paths"]]))
    if len(found) < count:
        click.echo(
            f"\nThe heuristic {method} finds {len(found)} of {count} paths; ask for fewer, for less "
            "distance, or take --method exact."
        )
    if shown["challenge"] is not None:
        for remark in remarks(shown["paths"], shown["challenge"]):
            click.echo(f"\n{remark}")


@geography.command(short_help="Hold the heuristics against the exact search.")
@click.argument("network")
@click.option("--count", type=click.IntRange(min=1), default=2, show_default=True, help="How many paths.")
@click.option("--apart-km", default=_APART_KM, show_default=True, help="The least distance of two paths.")
@click.option("--stretch-hops", default=4, show_default=True, help="Hops beyond those of the shortest path.")
@click.option("--json", "json_", is_flag=True, help="Print it as JSON.")
def compare(*, network: str, count: int, apart_km: float, stretch_hops: int, json_: bool) -> None:
    """Hold the heuristics against the exact search, between all nodes of NETWORK.

    \b
    Examples:
      gauntlet geography compare nobel-eu
      gauntlet geography compare os3e --count 3 --apart-km 50 --json
    """
    from gauntlet.cli.output import console, print_json
    from gauntlet.geography import compared, packaged, terminal
    from gauntlet.geography.wanted import Wanted

    found = compared.compare(packaged.load(network), Wanted(count, apart_km, stretch_hops))
    if json_:
        print_json([it.to_json() for it in found])
    else:
        console().print(terminal.compared(found))


def _draw(shown: "Mapping[str, Any]", title: str, target: str) -> None:
    from gauntlet.figures.look import finished
    from gauntlet.figures.map import maps
    from gauntlet.figures.save import write

    write(finished(maps(shown["network"], [(title, shown)])), target)


def _head(network: "Network") -> dict[str, object]:
    return {
        "name": network.name,
        "source": network.source,
        "licence": network.licence,
        "note": network.note,
        "node_count": len(network.nodes),
        "link_count": len(network.links),
    }


def _parts(network: "Network") -> dict[str, object]:
    from gauntlet.geography.fibre import delay_s

    return {
        "nodes": [
            {"node": name, "latitude": place.latitude, "longitude": place.longitude}
            for name, place in network.nodes.items()
        ],
        "links": [
            {"ends": list(link.ends), "length_km": link.length_km, "delay_s": delay_s(link.length_km)}
            for link in network.links
        ],
    }
