"""How every chart looks: colours, markers and line styles of its series, small multiples, sizes, and the
Vega-Lite configuration.
"""

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import altair as alt

from gauntlet.experiment.protocols import PROTOCOLS
from gauntlet.figures.style import Style, lightened, styles

PAGE_WIDTH = 1130
"""Pixels between the margins of the page: what a figure may take."""

HALF_WIDTH = 375
"""A chart of at most this width leaves room for another one beside it, with their axes and legends."""

SPACING = 18
LINE_PX, REFERENCE_PX = 1.8, 5.0
"""How wide lines are: a reference stands behind what was measured, and is told from it by its width."""

ROOM_FOR_AXIS_AND_LEGEND = 200
LEGEND_PX = 240
"""How wide a legend may be: "channel delay 150 ms ± 10 ms" does not fit into Vega's 160 pixels."""

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif"
INK, MUTED, GRID, CAPACITY = "#1b1f24", "#57606a", "#e4e7eb", "#9aa4b0"

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#882255")
"""Colours of a factor's values where the colour is not the protocol: Okabe and Ito's."""

RAMP = ("#E9A227", "#D95F4C", "#B03A7A", "#742F8A", "#35206B")
"""Colours of numbers, from little to much: darker and darker, so that they can be told apart without seeing
hues, and none of them a protocol's.
"""

DASHES = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2])
MARKERS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
"""Markers of a factor's values where the marker is not the protocol."""

STAR = (
    "M0,-1L0.225,-0.309L0.951,-0.309L0.363,0.118L0.588,0.809L0,0.382"
    "L-0.588,0.809L-0.363,0.118L-0.951,-0.309L-0.225,-0.309Z"
)
"""A five-pointed star as a Vega symbol, for values that a study prints: no protocol has it."""

CONFIG: dict[str, Any] = {
    "font": FONT,
    "background": None,
    "view": {"stroke": None},
    "axis": {
        "labelColor": MUTED,
        "titleColor": INK,
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 6,
        "domainColor": MUTED,
        "tickColor": MUTED,
        "gridColor": GRID,
        "labelSeparation": 6,
    },
    "header": {
        "labelColor": INK,
        "labelFontSize": 12,
        "labelFontWeight": 600,
        "labelPadding": 6,
        "titleColor": INK,
    },
    "legend": {
        "labelColor": INK,
        "labelFontSize": 12,
        "symbolSize": 90,
        "symbolStrokeWidth": 2,
        "title": None,
        "rowPadding": 6,
    },
    "text": {"color": MUTED, "fontSize": 11},
}


@dataclass(frozen=True)
class Look:
    """Colour, marker and line style of the series of a chart (the column `protocol`)."""

    names: Sequence[str]
    """The series in the order of the legend."""
    colours: Sequence[str]
    markers: Sequence[str]
    dashes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Line styles by the values of the column `dash_by`."""
    dash_by: str = "dash"
    """`protocol` where each series has a line style of its own, else `dash`."""
    widths: Sequence[float] = ()
    """Line widths of the series; none: all the same."""

    @classmethod
    def of_styles(cls, found: Sequence[Style], extra: Sequence[tuple[str, str]] = ()) -> Self:
        """Every protocol in its own colour, marker and line style; `extra` adds (label, colour) of
        reference lines.
        """
        names = [style.label for style in found] + [label for label, _ in extra]
        lines = [list(style.dash) or [1, 0] for style in found] + [[1, 0] for _ in extra]
        return cls(
            names,
            [style.colour for style in found] + [colour for _, colour in extra],
            [style.marker for style in found] + ["stroke" for _ in extra],
            dict(zip(names, lines, strict=True)),
            "protocol",
            [LINE_PX] * len(found) + [REFERENCE_PX] * len(extra),
        )

    @classmethod
    def of_values(
        cls, names: Sequence[str], values: Sequence[Any], dashes: Sequence[str] = (), *, protocols: bool
    ) -> Self:
        """Series that are values of a factor: `protocols` (keys) in their own colours and markers, numbers on
        a ramp, others from a palette; `dashes` are the values of the column `dash`.
        """
        lines = dict(zip(dashes, itertools.cycle(DASHES), strict=False))
        if protocols:
            known = [styles([str(value)])[0] for value in values]
            return cls(names, [it.colour for it in known], [it.marker for it in known], lines)
        markers = list(itertools.islice(itertools.cycle(MARKERS), len(values)))
        return cls(names, _colours(values), markers, lines)

    @classmethod
    def of_table(cls, columns: Mapping[str, Sequence[Any]]) -> Self:
        """What the columns `protocol` (keys of protocols, or any words) and `dash` have, in their order."""
        names = list(dict.fromkeys(map(str, columns["protocol"])))
        dashes = [it for it in dict.fromkeys(map(str, columns.get("dash", []))) if it != PRINTED]
        return cls.of_values(names, names, dashes, protocols=all(name in PROTOCOLS for name in names))

    def colour(self, *, lines: bool) -> alt.Color:
        """The colour with its legend; `lines` is for charts without markers."""
        scale = alt.Scale(domain=list(self.names), range=list(self.colours))
        return alt.Color("protocol:N", scale=scale, legend=legend(lines=lines))

    def dash(self, *, lines: bool) -> alt.StrokeDash | Mapping[str, object]:
        """The line style, with a legend where it says anything."""
        if not self.dashes:
            return alt.value([1, 0])
        shown = self.dash_by == "protocol" or len(self.dashes) > 1
        scale = alt.Scale(domain=list(self.dashes), range=[list(it) for it in self.dashes.values()])
        drawn = legend(lines=lines or self.dash_by == "dash")
        return alt.StrokeDash(f"{self.dash_by}:N", scale=scale, legend=drawn if shown else None)

    def width(self) -> alt.StrokeWidth | Mapping[str, object]:
        """The line's width: wider for references."""
        if not self.widths:
            return alt.value(LINE_PX)
        scale = alt.Scale(type="ordinal", domain=list(self.names), range=list(self.widths))
        return alt.StrokeWidth("protocol:N", scale=scale, legend=legend(lines=True))

    def shape(self) -> alt.Shape:
        """The marker."""
        scale = alt.Scale(domain=list(self.names), range=list(self.markers))
        return alt.Shape("protocol:N", scale=scale, legend=legend(lines=False))


PRINTED = "printed"
"""In the column `dash`: a value that a study prints, which is drawn as a star."""


def _colours(values: Sequence[Any]) -> list[str]:
    if 1 < len(values) <= len(RAMP) and all(isinstance(value, int | float) for value in values):
        return [RAMP[round(place * (len(RAMP) - 1) / (len(values) - 1))] for place in range(len(values))]
    return list(itertools.islice(itertools.cycle(PALETTE), len(values)))


def legend(*, lines: bool) -> alt.Legend:
    """A legend of lines, or of markers."""
    if lines:
        # Without these the legend would show the faint fill of the bands under the lines.
        return alt.Legend(
            title=None,
            symbolType="stroke",
            symbolOpacity=1,
            symbolFillColor="transparent",
            labelLimit=LEGEND_PX,
        )
    # Symbols would get the dashes of the lines as their outline.
    return alt.Legend(title=None, symbolStrokeWidth=0, labelLimit=LEGEND_PX)


def star(chart: alt.Chart) -> alt.Chart:
    """A chart's marks as stars."""
    marked: alt.Chart = chart.mark_point(
        shape=STAR, size=150, filled=True, opacity=1, stroke=INK, strokeWidth=0.9
    )
    return marked


def finished(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """The chart as a Vega-Lite specification with the common look."""
    spec: dict[str, Any] = chart.to_dict()
    spec["config"] = CONFIG
    spec["autosize"] = {"type": "pad"}
    return spec


PAPER_ON_DARK = "#14181d"
AREA_COLOURS = {"urban": "#8C96A3", "suburban": "#B9C2CC", "rural": "#DCE8D5"}
"""Of the ground along a line."""
ON_DARK = {
    INK: "#e6eaee",
    MUTED: "#9aa4b0",
    GRID: "#2a3138",
    "white": PAPER_ON_DARK,
    AREA_COLOURS["urban"]: "#7f8c99",
    AREA_COLOURS["suburban"]: "#566472",
    AREA_COLOURS["rural"]: "#2f3d36",
}
"""Ink, paper, grid and ground of a dark page; other colours are lightened."""
_COLOUR = re.compile(r'"(#[0-9A-Fa-f]{6}|white)"')


def on_paper(spec: Mapping[str, Any], *, dark: bool = False) -> dict[str, Any]:
    """A specification for a picture of its own: on white, or with colours for a dark page."""
    if not dark:
        return {**spec, "background": "white"}
    given = {str(colour) for colour in _COLOUR.findall(json.dumps(spec))}
    changed = ON_DARK | {colour: lightened(colour) for colour in given - ON_DARK.keys()}
    text = _COLOUR.sub(lambda found: f'"{changed[found[1]]}"', json.dumps(spec))
    return {**json.loads(text), "background": PAPER_ON_DARK}


def facet_columns(count: int) -> int:
    """How many small multiples stand side by side: three, or two where that leaves no gap."""
    return min(count, 2 if count == 4 else 3)


def small_multiples(chart: alt.LayerChart | alt.FacetChart, order: Sequence[str]) -> alt.FacetChart:
    """One small multiple of the chart a value of the column `condition`, on shared scales."""
    columns = facet_columns(len(order))
    facet = alt.Facet("condition:N", sort=list(order), header=alt.Header(title=None, labelOrient="top"))
    assert isinstance(chart, alt.LayerChart)
    faceted: alt.FacetChart = chart.facet(facet=facet, columns=columns, spacing=SPACING)
    if len(order) % columns:
        # A shared axis would also stand under the empty places of the last row.
        faceted = faceted.resolve_axis(x="independent")
    return faceted


def multiple_width(count: int) -> float:
    """Width of each of `count` small multiples; a single one leaves room for another chart beside it."""
    return HALF_WIDTH if count == 1 else facet_width(facet_columns(count))


def facet_width(columns: int) -> int:
    """Width of one small multiple of `columns` side by side, with room for the axis and the legend."""
    return (PAGE_WIDTH - ROOM_FOR_AXIS_AND_LEGEND - SPACING * (columns - 1)) // columns
