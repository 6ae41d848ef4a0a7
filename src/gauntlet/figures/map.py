"""A network on a map: its links, the paths through it each in a stroke of its own, and the circles that a
challenge draws over it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np
from pydantic import Field

from gauntlet.figures.kind import Chart, Kind, Options, Source
from gauntlet.figures.look import INK, MUTED, PAGE_WIDTH, PALETTE, legend
from gauntlet.figures.map_words import FONT_PX, ON_CIRCLE, ON_DETOUR, ON_LINK, ON_PATH, SIDES, Room, View
from gauntlet.geography import methods, packaged
from gauntlet.geography.challenges import profiles
from gauntlet.geography.challenges.intervals import Interval, union
from gauntlet.geography.projection import Points, Projection
from gauntlet.geography.sphere import Place
from gauntlet.geography.told import told
from gauntlet.geography.wanted import Wanted

WIDTH = PAGE_WIDTH - 200
LOWEST, HIGHEST = 260, 560
"""Pixels: how high a map is at least and at most."""
WIDE = "wide"
"""Names of layers that begin so are left out of a narrow page (report.js): their words have no room there."""

PATH_COLOURS = (PALETTE[0], PALETTE[2], PALETTE[3], PALETTE[6], "#999933", "#332288")
"""Those of the palette that stand out from white too, and two of Tol's "muted" (palette.py)."""
CHALLENGE_COLOUR = PALETTE[1]
GROUND_COLOUR, NODE_COLOUR = "#8a939d", "#3a424b"
"""Of what no path takes, and of the nodes along paths."""
COLOURS = {*PATH_COLOURS, CHALLENGE_COLOUR, GROUND_COLOUR, NODE_COLOUR}
"""Those that a dark page lightens."""
_DASHES = ([1, 0], [10, 4], [3, 3], [12, 3, 3, 3])
LEGEND_LINE_PX = 36
_WIDTHS = (5.0, 3.5, 2.5)
"""Of paths, one after another and again: where two share a link both are seen."""
_DETOUR_PX, _BETWEEN_PX = 9.5, 7.0
"""Of a way that is taken instead: two lines, so far apart that a path between them keeps its colour."""
_TWO_LINES = "M-1,-0.23L1,-0.23M-1,0.23L1,0.23"
"""Of the legend, as a Vega symbol."""
_HALO_PX = 3
_LINE_LETTERS = 64
"""Of what is said of a path: a narrow page has room for no more, and would draw the map smaller instead."""


def maps(network: Mapping[str, Any], sets: Sequence[tuple[str, Mapping[str, Any]]]) -> alt.VConcatChart:
    """One map below another, for each set of paths with its title.

    `network` and the sets (`paths`, `challenge`) are as `gauntlet.geography.told` has them.
    """
    places = {it["node"]: Place(it["latitude"], it["longitude"]) for it in network["nodes"]}
    on_paths = {node for _, it in sets for way in _ways(it) for node in way}
    projection = Projection([places[node] for node in places if node in on_paths] or list(places.values()))
    at = dict(zip(places, projection.km(np.array([it.vector for it in places.values()])), strict=True))
    rings = [ring for _, it in sets for ring in _rings(it, projection)]
    view = View([at[node] for node in (on_paths or places)], rings, WIDTH, (LOWEST, HIGHEST))
    names = [f"path {place}" for place in range(1, max((len(it["paths"]) for _, it in sets), default=0) + 1)]
    ground = _Ground(network["links"], at, projection, view, names)
    drawn = [_map(number, title, it, ground) for number, (title, it) in enumerate(sets, start=1)]
    meta = {"keepsShape": True}
    stacked: alt.VConcatChart = alt.vconcat(*drawn, spacing=24).properties(usermeta=meta)
    return stacked


def _ways(shown: Mapping[str, Any]) -> list[Sequence[str]]:
    """The nodes of every path and of every way that one takes instead."""
    return [way["nodes"] for path in shown["paths"] for way in (path, *path.get("detours", ()))]


@dataclass(frozen=True)
class _Ground:
    """What all maps of a picture have."""

    links: Sequence[Sequence[str]]
    at: Mapping[str, Points]
    projection: Projection
    view: View
    names: Sequence[str]
    """Of the first paths of each, the second ones, and so on."""


def _map(
    number: int, title: str, shown: Mapping[str, Any], ground: _Ground
) -> alt.LayerChart | alt.FacetChart:
    at, view, names = ground.at, ground.view, ground.names
    on_paths = {node for path in shown["paths"] for node in path["nodes"]}
    on_links = {frozenset(ends) for path in shown["paths"] for ends in pairwise(path["nodes"])}
    others = [ends for ends in ground.links if frozenset(ends) not in on_links]
    room = _room(shown, ground, others)
    ruler = _ruler(view, room)
    # The two ends have to be told before anything else.
    ends = {path["nodes"][place]: "" for path in shown["paths"] for place in (0, -1)}
    ends = {node: str(room.side(at[node], node, always=True)) for node in ends}
    circles, times = _circles(shown, ground.projection, view, room)
    detours, in_legend = _detours(shown, at, view, names)
    parts = [
        *circles,
        _links(others, at, view),
        *detours,
        _nodes(at, set(at) - on_paths, view),
        *_paths(shown, at, view, names),
        *in_legend,
        *times,
        *_failed(number, shown, at, view, room),
        *_named(number, shown, at, room, ends),
        *ruler,
    ]
    said = [line for name, path in zip(names, shown["paths"], strict=False) for line in _said(name, path)]
    head = alt.TitleParams(
        text=title,
        # Without a challenge nothing is ever down.
        subtitle=said if shown["challenge"] else [],
        anchor="start",
        fontSize=13,
        color=INK,
        subtitleColor=MUTED,
        subtitleFontSize=12,
        subtitlePadding=4,
    )
    return alt.layer(*parts).properties(width=WIDTH, height=view.height, title=head)


def _room(shown: Mapping[str, Any], ground: _Ground, others: Sequence[Sequence[str]]) -> Room:
    """What words should leave free: nodes along paths, and all lines."""
    at = ground.at
    room = Room(ground.view)
    for path in shown["paths"]:
        room.line([at[node] for node in path["nodes"]], ON_PATH)
        room.taken += [ground.view.box(at[node], " ", "at") for node in path["nodes"]]
    detours = {frozenset(it) for path in shown["paths"] for it in _around(path)}
    for ends in others:
        room.line([at[end] for end in ends], ON_DETOUR if frozenset(ends) in detours else ON_LINK)
    for ring in _rings(shown, ground.projection):
        room.line(list(ring), ON_CIRCLE)
    return room


def _said(name: str, path: Mapping[str, Any]) -> list[str]:
    """When a path is down and when it takes other ways, which begins a line of its own."""
    down = [_span(*it) for it in path["down"]]
    said = _lines(f"{name}: down", down) if down else [f"{name}: never down"]
    around = _spans((it["from_s"], it["to_s"]) for it in path.get("detours", ()))
    return [*said, *_lines("– by other ways", around)] if around else said


def _lines(head: str, spans: Sequence[str]) -> list[str]:
    """Words and times after them, over as many lines as they need."""
    lines = [f"{head} {spans[0]}"]
    for span in spans[1:]:
        lines[-1] += ","
        if len(lines[-1]) + 1 + len(span) <= _LINE_LETTERS:
            lines[-1] += f" {span}"
        else:
            lines.append(span)
    return lines


def _spans(intervals: Iterable[Interval]) -> list[str]:
    """Intervals in words; those that follow upon each other are one, moments stay."""
    given = list(intervals)
    moments = {it for it in given if it[0] == it[1]}
    return [_span(*it) for it in sorted([*union(given), *moments])]


def _span(from_s: float, to_s: float) -> str:
    first, last = (f"{round(it, 1):g}" for it in (from_s, to_s))
    return f"{first}–{last} s" if first != last else f"{first} s"


def _rings(shown: Mapping[str, Any], projection: Projection) -> list[Points]:
    return [
        projection.ring(Place(ring["latitude"], ring["longitude"]), ring["radius_km"])
        for ring in (shown["challenge"] or {}).get("rings", ())
    ]


def _circles(
    shown: Mapping[str, Any], projection: Projection, view: View, room: Room
) -> tuple[list[alt.Chart], list[alt.Chart]]:
    """The circles, and their times, which stand above the lines."""
    # Stages of a circle that come as far are one circle, with its times.
    drawn: dict[tuple[float, ...], Points] = {}
    times: dict[tuple[float, ...], list[Interval]] = {}
    for shape, ring in zip(
        (shown["challenge"] or {}).get("rings", ()), _rings(shown, projection), strict=True
    ):
        same = (shape["latitude"], shape["longitude"], shape["radius_km"])
        drawn[same] = ring
        times.setdefault(same, []).append((shape["from_s"], shape["to_s"]))
    if not drawn:
        return [], []
    words = [", ".join(_spans(it)) for it in times.values()]
    corners = [
        {"ring": number, "when": when, "order": place, "x": _km(x), "y": _km(y)}
        for number, (when, ring) in enumerate(zip(words, drawn.values(), strict=True))
        for place, (x, y) in enumerate(ring)
    ]
    labels = []
    for when, ring in zip(words, drawn.values(), strict=True):
        x, y = room.inside(ring, when)
        labels.append({"when": when, "x": _km(x), "y": _km(y)})
    outline = (
        alt.Chart(alt.InlineData(values=corners))
        .mark_line(
            interpolate="linear-closed",
            filled=True,
            fill=CHALLENGE_COLOUR,
            fillOpacity=0.08,
            stroke=CHALLENGE_COLOUR,
            strokeWidth=1.5,
            clip=True,
        )
        .encode(x=view.x(), y=view.y(), order="order:Q", detail="ring:N", tooltip="when:N")
    )
    return [outline], _text(labels, "when", view, baseline="middle")


def _links(links: Sequence[Sequence[str]], at: Mapping[str, Points], view: View) -> alt.Chart:
    rows = [
        {"x": _km(at[a][0]), "y": _km(at[a][1]), "x2": _km(at[b][0]), "y2": _km(at[b][1])} for a, b in links
    ]
    drawn: alt.Chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_rule(color=GROUND_COLOUR, opacity=1, strokeWidth=1, clip=True)
        .encode(x=view.x(), y=view.y(), x2="x2:Q", y2="y2:Q")
    )
    return drawn


def _nodes(at: Mapping[str, Points], nodes: set[str], view: View) -> alt.Chart:
    rows = [_point(node, at) for node in at if node in nodes]
    drawn: alt.Chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_point(filled=True, size=14, opacity=1, color=GROUND_COLOUR, clip=True)
        .encode(x=view.x(), y=view.y(), tooltip="node:N")
    )
    return drawn


def _paths(
    shown: Mapping[str, Any], at: Mapping[str, Points], view: View, names: Sequence[str]
) -> list[alt.Chart]:
    rows = [
        {"path": name, "order": order, **_point(node, at)}
        for name, path in zip(names, shown["paths"], strict=False)
        for order, node in enumerate(path["nodes"])
    ]
    if not rows:
        return []
    count = len(names)
    # As long as two turns of the longest dashes.
    lines = alt.Legend(**{**legend(lines=True).to_dict(), "symbolSize": LEGEND_LINE_PX**2})

    def cycled(values: Sequence[Any]) -> list[Any]:
        return [values[place % len(values)] for place in range(count)]

    base = alt.Chart(alt.InlineData(values=rows)).encode(x=view.x(), y=view.y())
    colour = alt.Color("path:N", legend=lines, scale=alt.Scale(domain=names, range=cycled(PATH_COLOURS)))
    dash = alt.StrokeDash("path:N", legend=lines, scale=alt.Scale(domain=names, range=cycled(_DASHES)))
    width = alt.StrokeWidth(
        "path:N", legend=lines, scale=alt.Scale(type="ordinal", domain=names, range=cycled(_WIDTHS))
    )
    strokes = base.mark_line(opacity=1, strokeJoin="round").encode(
        color=colour, strokeDash=dash, strokeWidth=width, order="order:Q", tooltip="path:N"
    )
    dots = base.mark_point(filled=True, size=46, opacity=1, color=NODE_COLOUR).encode(tooltip="node:N")
    return [strokes, dots]


def _detours(
    shown: Mapping[str, Any], at: Mapping[str, Points], view: View, names: Sequence[str]
) -> tuple[list[alt.Chart], list[alt.Chart]]:
    """The ways that paths take instead, where they leave them, and what they have in the legend; which path
    and when comes up at a pointer.
    """
    when: dict[tuple[str, str], list[str]] = {}
    for name, path in zip(names, shown["paths"], strict=False):
        for ends, intervals in _around(path).items():
            when.setdefault(ends, []).extend(f"{name}: {span}" for span in _spans(intervals))
    rows = [
        {"x": _km(at[a][0]), "y": _km(at[a][1]), "x2": _km(at[b][0]), "y2": _km(at[b][1]), "when": words}
        for (a, b), words in ((ends, ", ".join(spans)) for ends, spans in when.items())
    ]
    if not rows:
        return [], []
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=view.x(), y=view.y(), x2="x2:Q", y2="y2:Q")
    lines = [
        base.mark_rule(color=colour, opacity=1, strokeWidth=width, strokeCap="round", clip=True).encode(
            tooltip="when:N"
        )
        for colour, width in ((NODE_COLOUR, _DETOUR_PX), ("white", _BETWEEN_PX))
    ]
    # A mark that is not seen, for the legend of what no single mark looks like.
    only = alt.Legend(
        title=None,
        symbolSize=LEGEND_LINE_PX**2,
        symbolOpacity=1,
        symbolStrokeWidth=(_DETOUR_PX - _BETWEEN_PX) / 2,
        symbolStrokeColor=NODE_COLOUR,
        symbolFillColor="transparent",
    )
    two = alt.Scale(domain=["other ways"], range=[_TWO_LINES])
    named = alt.Chart(alt.InlineData(values=[{"way": "other ways", "x": rows[0]["x"], "y": rows[0]["y"]}]))
    unseen = named.mark_point(size=0, color=NODE_COLOUR).encode(
        x=view.x(), y=view.y(), shape=alt.Shape("way:N", scale=two, legend=only)
    )
    return lines, [unseen]


def _around(path: Mapping[str, Any]) -> dict[tuple[str, str], list[Interval]]:
    """Links of the ways that a path takes instead, where they leave it, and when it takes each."""
    own = {frozenset(ends) for ends in pairwise(path["nodes"])}
    found: dict[tuple[str, str], list[Interval]] = {}
    for way in path.get("detours", ()):
        for a, b in pairwise(way["nodes"]):
            if frozenset((a, b)) not in own:
                found.setdefault((min(a, b), max(a, b)), []).append((way["from_s"], way["to_s"]))
    return found


def _named(
    number: int, shown: Mapping[str, Any], at: Mapping[str, Points], room: Room, ends: Mapping[str, str]
) -> list[alt.Chart]:
    """Names of the two ends, each on its side, and where there is room those of the nodes between."""
    view = room.view
    sides: dict[tuple[bool, str], list[dict[str, Any]]] = {}
    for node in dict.fromkeys(node for path in shown["paths"] for node in path["nodes"]):
        side = ends.get(node) or room.side(at[node], node)
        # A name that has no room comes up at a pointer.
        if side is not None:
            sides.setdefault((node in ends, side), []).append(_point(node, at))
    found = []
    for (is_end, side), rows in sides.items():
        name = None if is_end else f"{WIDE}-{number}-{side}"
        weight = "bold" if is_end else "normal"
        found += _text(rows, "node", view, name=name, **SIDES[side], fontWeight=weight)
    return found


def _failed(
    number: int, shown: Mapping[str, Any], at: Mapping[str, Points], view: View, room: Room
) -> list[alt.Chart]:
    """Nodes that fail one by one, of a challenge without circles: a cross each, with its time."""
    challenge = shown["challenge"] or {"rings": (), "nodes": ()}
    if challenge["rings"] or not challenge["nodes"]:
        return []
    rows = [
        {"when": ", ".join(_span(*span) for span in it["down"]), **_point(it["node"], at)}
        for it in challenge["nodes"]
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=view.x(), y=view.y())
    cross = base.mark_point(
        shape="cross", angle=45, size=170, filled=True, opacity=1, color=CHALLENGE_COLOUR, clip=True
    ).encode(tooltip=["node:N", "when:N"])
    seen = [row for row in rows if view.has(at[row["node"]])]
    room.taken += [view.box(at[row["node"]], "  ", "at") for row in seen]
    sides: dict[str, list[dict[str, Any]]] = {}
    for row in seen:
        sides.setdefault(str(room.side(at[row["node"]], row["when"], always=True)), []).append(row)
    said = []
    for side, beside in sides.items():
        name = f"{WIDE}-failed-{number}-{side}"
        said += _text(beside, "when", view, name=name, **SIDES[side])
    return [cross, *said]


def _ruler(view: View, room: Room) -> list[alt.Chart]:
    """How long a distance is, at the lower left or, where lines are in the way, in another corner."""
    room_km = float(view.high[0] - view.low[0])
    length = max(it for it in (50, 100, 200, 500, 1000, 2000) if it <= max(room_km / 6, 50))
    left, bottom = room.corner(WIDTH * length / room_km, FONT_PX + 8.0)
    x, y = view.km(left, bottom)
    row = {"x": _km(x), "x2": _km(x + length), "y": _km(y), "words": f"{length} km"}
    base = alt.Chart(alt.InlineData(values=[row])).encode(x=view.x(), y=view.y())
    rule = base.mark_rule(color=INK, strokeWidth=2).encode(x2="x2:Q")
    return [rule, *_text([row], "words", view, align="left", baseline="bottom", dy=-4)]


def _text(
    rows: Sequence[Mapping[str, Any]], field: str, view: View, name: str | None = None, **mark: Any
) -> list[alt.Chart]:
    """Words at their places, and below them paper around the letters: lines may pass behind them."""
    paper = {"color": "white", "stroke": "white", "strokeWidth": _HALO_PX, "strokeJoin": "round"}
    return [
        alt.Chart(alt.InlineData(values=list(rows)), name=alt.Undefined if name is None else f"{name}{layer}")
        .mark_text(**mark, fontSize=FONT_PX, **look)
        .encode(x=view.x(), y=view.y(), text=f"{field}:N")
        for layer, look in (("-paper", paper), ("", {"color": INK}))
    ]


def _point(node: str, at: Mapping[str, Points]) -> dict[str, Any]:
    return {"node": node, "x": _km(at[node][0]), "y": _km(at[node][1])}


def _km(value: float) -> float:
    """As fine as a picture can show."""
    return round(float(value), 1)


class MapOptions(Options):
    """Options in figures.toml: a network, the ends of the paths, how they are found, and a challenge."""

    network: str
    ends: list[str] = Field(min_length=2, max_length=2)
    methods: list[str] = Field(min_length=1)
    count: int = 3
    apart_km: float = 50.0
    challenge: str | None = None
    converges_after_s: float | None = Field(default=None, gt=0)


def _draw(options: MapOptions, _: Source) -> Chart:
    network = packaged.load(options.network)
    source, target = options.ends
    wanted = Wanted(options.count, options.apart_km)
    challenge = None if options.challenge is None else profiles.challenge(options.challenge)
    sets = []
    for method in options.methods:
        found = methods.find(network, source, target, method, wanted)
        shown = told(network, [it.path for it in found], challenge, options.converges_after_s)
        sets.append((method, shown))
    return Chart(options.caption, maps(sets[0][1]["network"], sets))


KIND = Kind("map", MapOptions, _draw)
