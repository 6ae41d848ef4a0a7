"""A network on a map: its links, the paths through it each in a stroke of its own, and the circles that a
challenge draws over it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
from pydantic import Field

from gauntlet.figures.kind import Chart, Kind, Options, Source
from gauntlet.figures.look import INK, MUTED, PAGE_WIDTH, PALETTE, legend
from gauntlet.geography import methods, packaged
from gauntlet.geography.projection import Points, Projection
from gauntlet.geography.sphere import Place
from gauntlet.geography.told import told
from gauntlet.geography.wanted import Wanted

WIDTH = PAGE_WIDTH - 200
LOWEST, HIGHEST = 260, 560
"""Pixels: how high a map is at least and at most."""
MARGIN = 0.06
"""Beyond the outermost paths and circles, as a share of the larger side."""
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
_WIDTHS = (5.0, 3.5, 2.5)
"""Of paths, one after another and again: where two share a link both are seen."""


def maps(network: Mapping[str, Any], sets: Sequence[tuple[str, Mapping[str, Any]]]) -> alt.VConcatChart:
    """One map below another, for each set of paths with its title.

    `network` and the sets (`paths`, `challenge`) are as `gauntlet.geography.told` has them.
    """
    places = {it["node"]: Place(it["latitude"], it["longitude"]) for it in network["nodes"]}
    on_paths = {node for _, it in sets for path in it["paths"] for node in path["nodes"]}
    projection = Projection([places[node] for node in places if node in on_paths] or list(places.values()))
    at = dict(zip(places, projection.km(np.array([it.vector for it in places.values()])), strict=True))
    rings = [ring for _, it in sets for ring in _rings(it, projection)]
    view = _View([at[node] for node in (on_paths or places)], rings)
    names = [f"path {place}" for place in range(1, max((len(it["paths"]) for _, it in sets), default=0) + 1)]
    ground = _Ground(network["links"], at, projection, view, names)
    drawn = [_map(number, title, it, ground) for number, (title, it) in enumerate(sets, start=1)]
    meta = {"keepsShape": True}
    stacked: alt.VConcatChart = alt.vconcat(*drawn, spacing=24).properties(usermeta=meta)
    return stacked


Box = tuple[float, float, float, float]
"""Left, right, top and bottom, in pixels."""

FONT_PX, LETTER_PX = 11, 6.2
_SIDES: Mapping[str, Mapping[str, Any]] = {
    "below": {"dy": 8, "baseline": "top"},
    "above": {"dy": -8, "baseline": "bottom"},
    "right": {"dx": 8, "align": "left", "baseline": "middle"},
    "left": {"dx": -8, "align": "right", "baseline": "middle"},
}
"""Where a name may stand, in the order in which places are tried."""


class _View:
    """What of the plane is seen, and how large."""

    def __init__(self, nodes: Sequence[Points], rings: Sequence[Points]) -> None:
        corners = np.concatenate([np.array(nodes), *rings])
        low, high = corners.min(axis=0), corners.max(axis=0)
        margin = MARGIN * max(float((high - low).max()), 1.0)
        low, high = low - margin, high + margin
        wide, tall = (float(it) for it in high - low)
        self.height = round(min(max(WIDTH * tall / wide, LOWEST), HIGHEST))
        # A kilometre is as long to the north as to the east: whatever there is room for beside is seen too.
        km_a_pixel = max(wide / WIDTH, tall / self.height)
        middle = (low + high) / 2
        half = np.array([WIDTH, self.height]) * km_a_pixel / 2
        self.low, self.high = middle - half, middle + half

    def box(self, point: Points, words: str, side: str) -> Box:
        """What words take that stand beside a point; "at": over it."""
        pixels = (point - self.low) / (self.high - self.low) * np.array([WIDTH, self.height])
        x, y = float(pixels[0]), self.height - float(pixels[1])
        wide, tall, aside = LETTER_PX * len(words), FONT_PX + 2.0, 8.0
        left = {"right": x + aside, "left": x - aside - wide}.get(side, x - wide / 2)
        top = {"below": y + aside, "above": y - aside - tall}.get(side, y - tall / 2)
        return left, left + wide, top, top + tall

    def scale(self, axis: int) -> alt.Scale:
        return alt.Scale(domain=[float(self.low[axis]), float(self.high[axis])], nice=False, zero=False)

    def x(self, field: str = "x:Q") -> alt.X:
        return alt.X(field, axis=None, scale=self.scale(0))

    def y(self, field: str = "y:Q") -> alt.Y:
        return alt.Y(field, axis=None, scale=self.scale(1))


@dataclass(frozen=True)
class _Ground:
    """What all maps of a picture have."""

    links: Sequence[Sequence[str]]
    at: Mapping[str, Points]
    projection: Projection
    view: _View
    names: Sequence[str]
    """Of the first paths of each, the second ones, and so on."""


def _map(
    number: int, title: str, shown: Mapping[str, Any], ground: _Ground
) -> alt.LayerChart | alt.FacetChart:
    at, view, names = ground.at, ground.view, ground.names
    on_paths = {node for path in shown["paths"] for node in path["nodes"]}
    taken = [view.box(at[node], " ", "at") for node in on_paths]
    parts = [
        *_circles(shown, ground.projection, view, taken),
        _links(ground.links, at, view),
        _nodes(at, set(at) - on_paths, view),
        *_paths(shown, at, view, names),
        *_failed(number, shown, at, view, taken),
        *_named(number, shown, at, view, taken),
        *_ruler(view),
    ]
    said = [_path_words(name, path) for name, path in zip(names, shown["paths"], strict=False)]
    head = alt.TitleParams(
        text=title,
        subtitle=said,
        anchor="start",
        fontSize=13,
        color=INK,
        subtitleColor=MUTED,
        subtitleFontSize=12,
        subtitlePadding=4,
    )
    return alt.layer(*parts).properties(width=WIDTH, height=view.height, title=head)


def _path_words(name: str, path: Mapping[str, Any]) -> str:
    when = ", ".join(_span(*it) for it in path["down"])
    return f"{name}: down {when}" if when else f"{name}: never down"


def _span(from_s: float, to_s: float) -> str:
    first, last = (f"{round(it, 1):g}" for it in (from_s, to_s))
    return f"{first}–{last} s" if from_s < to_s else f"{first} s"


def _rings(shown: Mapping[str, Any], projection: Projection) -> list[Points]:
    return [
        projection.ring(Place(ring["latitude"], ring["longitude"]), ring["radius_km"])
        for ring in (shown["challenge"] or {}).get("rings", ())
    ]


def _circles(
    shown: Mapping[str, Any], projection: Projection, view: _View, taken: list[Box]
) -> list[alt.Chart]:
    drawn = _rings(shown, projection)
    if not drawn:
        return []
    told = shown["challenge"]["rings"]
    words = [_span(ring["from_s"], ring["to_s"]) for ring in told]
    corners = [
        {"when": when, "order": place, "x": _km(x), "y": _km(y)}
        for when, ring in zip(words, drawn, strict=True)
        for place, (x, y) in enumerate(ring)
    ]
    tops = [
        {"when": when, "x": _km(ring[0][0]), "y": _km(ring[0][1])}
        for when, ring in zip(words, drawn, strict=True)
    ]
    taken += [view.box(ring[0], f"  {when}  ", "below") for when, ring in zip(words, drawn, strict=True)]
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
        .encode(x=view.x(), y=view.y(), order="order:Q", detail="when:N", tooltip="when:N")
    )
    label = (
        alt.Chart(alt.InlineData(values=tops))
        .mark_text(dy=14, fontSize=FONT_PX, color=INK)
        .encode(x=view.x(), y=view.y(), text="when:N")
    )
    return [outline, label]


def _links(links: Sequence[Sequence[str]], at: Mapping[str, Points], view: _View) -> alt.Chart:
    rows = [
        {"x": _km(at[a][0]), "y": _km(at[a][1]), "x2": _km(at[b][0]), "y2": _km(at[b][1])} for a, b in links
    ]
    drawn: alt.Chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_rule(color=GROUND_COLOUR, opacity=1, strokeWidth=1, clip=True)
        .encode(x=view.x(), y=view.y(), x2="x2:Q", y2="y2:Q")
    )
    return drawn


def _nodes(at: Mapping[str, Points], nodes: set[str], view: _View) -> alt.Chart:
    rows = [_point(node, at) for node in at if node in nodes]
    drawn: alt.Chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_point(filled=True, size=14, opacity=1, color=GROUND_COLOUR, clip=True)
        .encode(x=view.x(), y=view.y(), tooltip="node:N")
    )
    return drawn


def _paths(
    shown: Mapping[str, Any], at: Mapping[str, Points], view: _View, names: Sequence[str]
) -> list[alt.Chart]:
    rows = [
        {"path": name, "order": order, **_point(node, at)}
        for name, path in zip(names, shown["paths"], strict=False)
        for order, node in enumerate(path["nodes"])
    ]
    if not rows:
        return []
    count = len(names)
    lines = legend(lines=True)

    def cycled(values: Sequence[Any]) -> list[Any]:
        return [values[place % len(values)] for place in range(count)]

    base = alt.Chart(alt.InlineData(values=rows)).encode(x=view.x(), y=view.y())
    colour = alt.Color("path:N", legend=lines, scale=alt.Scale(domain=names, range=cycled(PATH_COLOURS)))
    dash = alt.StrokeDash("path:N", legend=lines, scale=alt.Scale(domain=names, range=cycled(_DASHES)))
    width = alt.StrokeWidth(
        "path:N", legend=lines, scale=alt.Scale(type="ordinal", domain=names, range=cycled(_WIDTHS))
    )
    strokes = base.mark_line(opacity=1).encode(
        color=colour, strokeDash=dash, strokeWidth=width, order="order:Q", tooltip="path:N"
    )
    dots = base.mark_point(filled=True, size=46, opacity=1, color=NODE_COLOUR).encode(tooltip="node:N")
    return [strokes, dots]


def _named(
    number: int, shown: Mapping[str, Any], at: Mapping[str, Points], view: _View, taken: list[Box]
) -> list[alt.Chart]:
    """Names of the two ends, and where there is room those of the nodes between, none over another one."""
    nodes = list(dict.fromkeys(node for path in shown["paths"] for node in path["nodes"]))
    ends = {path["nodes"][place] for path in shown["paths"] for place in (0, -1)}
    sides: dict[tuple[bool, str], list[dict[str, Any]]] = {}
    for node in sorted(nodes, key=lambda it: it not in ends):
        side = next((it for it in _SIDES if not _meets(view.box(at[node], node, it), taken)), None)
        if side is None and node not in ends:
            # The name comes up at a pointer.
            continue
        side = side or next(iter(_SIDES))
        taken.append(view.box(at[node], node, side))
        sides.setdefault((node in ends, side), []).append(_point(node, at))
    found = []
    for (is_end, side), rows in sides.items():
        name = alt.Undefined if is_end else f"{WIDE}-{number}-{side}"
        base = alt.Chart(alt.InlineData(values=rows), name=name)
        words = base.mark_text(
            **_SIDES[side],
            fontSize=FONT_PX,
            fontWeight="bold" if is_end else "normal",
            color=INK,
        )
        found.append(words.encode(x=view.x(), y=view.y(), text="node:N"))
    return found


def _meets(box: Box, taken: Sequence[Box]) -> bool:
    """Whether a rectangle lies over one of these."""
    left, right, top, bottom = box
    return any(left < it[1] and it[0] < right and top < it[3] and it[2] < bottom for it in taken)


def _failed(
    number: int, shown: Mapping[str, Any], at: Mapping[str, Points], view: _View, taken: list[Box]
) -> list[alt.Chart]:
    """Nodes that fail one by one, of a challenge without circles: a cross each, with its time."""
    challenge = shown["challenge"] or {"rings": (), "nodes": ()}
    if challenge["rings"] or not challenge["nodes"]:
        return []
    rows = [
        {"when": ", ".join(_span(*span) for span in it["down"]), **_point(it["node"], at)}
        for it in challenge["nodes"]
    ]
    taken += [view.box(at[row["node"]], row["when"], "right") for row in rows]
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=view.x(), y=view.y())
    cross = base.mark_point(
        shape="cross", angle=45, size=170, filled=True, opacity=1, color=CHALLENGE_COLOUR, clip=True
    ).encode(tooltip=["node:N", "when:N"])
    words = alt.Chart(alt.InlineData(values=rows), name=f"{WIDE}-failed-{number}")
    said = words.mark_text(dx=10, align="left", fontSize=FONT_PX, color=INK, clip=True).encode(
        x=view.x(), y=view.y(), text="when:N"
    )
    return [cross, said]


def _ruler(view: _View) -> list[alt.Chart]:
    """How long a distance is, at the lower left."""
    room_km = float(view.high[0] - view.low[0])
    length = max(it for it in (50, 100, 200, 500, 1000, 2000) if it <= max(room_km / 6, 50))
    aside = 0.01 * room_km
    x, y = float(view.low[0]) + aside, float(view.low[1]) + 2 * aside
    row = {"x": _km(x), "x2": _km(x + length), "y": _km(y), "words": f"{length} km"}
    base = alt.Chart(alt.InlineData(values=[row])).encode(x=view.x(), y=view.y())
    rule = base.mark_rule(color=INK, strokeWidth=2).encode(x2="x2:Q")
    words = base.mark_text(align="left", baseline="bottom", dy=-4, fontSize=FONT_PX, color=INK).encode(
        text="words:N"
    )
    return [rule, words]


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


def _draw(options: MapOptions, _: Source) -> Chart:
    network = packaged.load(options.network)
    source, target = options.ends
    wanted = Wanted(options.count, options.apart_km)
    sets = []
    for method in options.methods:
        found = methods.find(network, source, target, method, wanted)
        sets.append((method, told(network, [it.path for it in found], options.challenge)))
    return Chart(options.caption, maps(sets[0][1]["network"], sets))


KIND = Kind("map", MapOptions, _draw)
