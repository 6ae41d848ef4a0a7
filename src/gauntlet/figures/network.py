"""A network of nodes and links: senders on the left, receivers on the right, each link with what it does."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import altair as alt
import networkx as nx

from gauntlet.figures.look import INK, MUTED, PAGE_WIDTH
from gauntlet.figures.tidy import columns_of, data

WIDTH = PAGE_WIDTH - 120
ROW = 84
"""Pixels between nodes that stand above each other."""
LETTER, LINE, GAP, NODE = 6, 13, 5, 50
"""Pixels: the width of a letter, the height of a line, between words and their link, and of a node's name."""
HALO = 3
"""Pixels of paper around words, half of it on each side of their outline."""
MOST_WORDS = 16
"""Links with words beside them; of more the words come up at a pointer."""

HOST_COLOUR, FAILING_COLOUR = "#0072B2", "#D55E00"
COLOURS = {HOST_COLOUR, FAILING_COLOUR}
"""Of nodes and links, which a dark page lightens."""

Place = tuple[float, float]
Side = Literal["top", "bottom"]


def network(table: Any, ends: Sequence[tuple[str, str]]) -> alt.LayerChart | alt.FacetChart:
    """Draw links between nodes; `ends` are sender and receiver of each flow.

    Columns: `a` and `b` (the ends of a link), `words` (what it does, on the way back too unless `back` has
    other words), `fails` (1: it is down for some time). Raises UserError when a column is missing.
    """
    columns = columns_of(table, ("a", "b", "words", "back", "fails"))
    joined = list(zip(columns["a"], columns["b"], strict=True))
    places = placed(joined, ends)
    hosts = {host for pair in ends for host in pair}
    for end in ("a", "b"):
        columns[f"x_{end}"] = [places[node][0] for node in columns[end]]
        columns[f"y_{end}"] = [places[node][1] for node in columns[end]]
    nodes = [
        {"node": node, "x": x, "y": y, "kind": "host" if node in hosts else "router"}
        for node, (x, y) in places.items()
    ]
    width_columns, height_rows = (max(place[axis] for place in places.values()) for axis in (0, 1))
    height_px = max(height_rows + 1, 2) * ROW + 40
    along = alt.Scale(domain=[-0.35, width_columns + 0.35], nice=False)
    across = alt.Scale(domain=[-0.6, height_rows + 0.6], nice=False, reverse=True)
    links = alt.Chart(data(columns))
    lines = links.mark_rule(strokeWidth=2, opacity=1).encode(
        x=alt.X("x_a:Q", axis=None, scale=along),
        x2="x_b:Q",
        y=alt.Y("y_a:Q", axis=None, scale=across),
        y2="y_b:Q",
        color=alt.condition("datum.fails == 1", alt.value(FAILING_COLOUR), alt.value(MUTED)),
        tooltip=["a:N", "b:N", alt.Tooltip("words:N", title="link"), "back:N"],
    )
    parts: list[alt.Chart] = [lines]
    if len(joined) <= MOST_WORDS:
        letters = max(int((WIDTH / (width_columns + 0.7) - NODE) / LETTER), 12)
        row_px = height_px / (height_rows + 1.2)
        sides: tuple[tuple[str, Side], ...] = (("words", "bottom"), ("back", "top"))
        for side, baseline in sides:
            said = [
                _beside(places[a], places[b], textwrap.wrap(words, letters), baseline, row_px)
                for (a, b), words in zip(joined, columns[side], strict=True)
                if words
            ]
            beside = alt.Chart(alt.InlineData(values=said)).encode(
                x=alt.X("x:Q", scale=along), y=alt.Y("y:Q", scale=across), text="words:N"
            )
            # Paper around the letters: another link may pass behind them.
            paper = beside.mark_text(
                baseline=baseline,
                lineBreak="\n",
                lineHeight=LINE,
                color="white",
                stroke="white",
                strokeWidth=HALO,
            )
            text = beside.mark_text(baseline=baseline, lineBreak="\n", lineHeight=LINE, color=MUTED)
            parts += [paper, text]
    dots = alt.Chart(alt.InlineData(values=nodes)).encode(
        x=alt.X("x:Q", scale=along), y=alt.Y("y:Q", scale=across)
    )
    parts.append(
        dots.mark_point(filled=True, size=190, opacity=1).encode(
            shape=alt.condition("datum.kind == 'host'", alt.value("square"), alt.value("circle")),
            color=alt.condition("datum.kind == 'host'", alt.value(HOST_COLOUR), alt.value(MUTED)),
            tooltip=["node:N", "kind:N"],
        )
    )
    parts.append(dots.mark_text(dy=12, baseline="top", fontSize=12, color=INK).encode(text="node:N"))
    # Words beside links have no room on a narrow page, where the picture is pushed sideways (report.js).
    meta = {"keepsWidth": True}
    return alt.layer(*parts).properties(width=WIDTH, height=height_px, usermeta=meta)


def _beside(one: Place, other: Place, lines: Sequence[str], baseline: Side, row_px: float) -> dict[str, Any]:
    """Words above a link, or below it, at its middle."""
    # Further lines stand below the first one, wherever that stands.
    aside_px = -GAP - LINE * (len(lines) - 1) if baseline == "bottom" else GAP
    middle = ((one[0] + other[0]) / 2, (one[1] + other[1]) / 2)
    return {"x": middle[0], "y": middle[1] + aside_px / row_px, "words": "\n".join(lines)}


def placed(links: Sequence[tuple[str, str]], ends: Sequence[tuple[str, str]]) -> Mapping[str, Place]:
    """Where each node stands: its column by how much farther it is from senders than from receivers, its row
    by those of its neighbours in the column before.
    """
    graph = nx.Graph(links)
    nodes = list(dict.fromkeys(node for link in links for node in link))
    away = [_hops(graph, {pair[side] for pair in ends}) for side in (0, 1)]
    senders = {sender for sender, _ in ends}
    share = {
        node: 0.0 if node in senders else round(away[0][node] / max(away[0][node] + away[1][node], 1), 6)
        for node in nodes
    }
    columns: dict[float, list[str]] = {}
    for node in nodes:
        columns.setdefault(share[node], []).append(node)
    found: dict[str, Place] = {}
    tallest = max(map(len, columns.values()))
    for number, (_, members) in enumerate(sorted(columns.items())):
        rank = {node: _mean([found[it][1] for it in graph[node] if it in found]) for node in members}
        members.sort(key=lambda node: (rank[node], nodes.index(node)))
        first = (tallest - len(members)) / 2
        found.update({node: (float(number), first + row) for row, node in enumerate(members)})
    return found


def _hops(graph: "nx.Graph[str]", starts: set[str]) -> Mapping[str, int]:
    """From each node to the nearest of these; as many as there are nodes where no way leads."""
    near = nx.multi_source_dijkstra_path_length(graph, starts, weight=None)
    return {node: int(near.get(node, len(graph))) for node in graph}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
