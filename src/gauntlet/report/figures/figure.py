"""What a figure is: a Vega-Lite specification made with Altair, and its data as CSV; the look all figures
share.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from gauntlet.report.style import Style

PAGE_WIDTH = 1130
"""Pixels between the margins of the page: what a figure may take."""

HALF_WIDTH = 375
"""A chart of at most this width leaves room for another one beside it, with their axes and legends."""

SPACING = 18
LINE_PX, REFERENCE_PX = 1.8, 5.0
"""How wide lines are: a reference stands behind what was measured, and is told from it by its width."""

ROOM_FOR_AXIS_AND_LEGEND = 200

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Arial, sans-serif"
INK, MUTED, GRID, CAPACITY = "#1b1f24", "#57606a", "#e4e7eb", "#9aa4b0"

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
        "labelOverlap": "greedy",
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
class Figure:
    """One figure: `spec` is what Vega-Lite draws, `csv` the same data for other tools."""

    name: str
    title: str
    caption: str
    spec: dict[str, Any]
    csv: str


def finished(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """The chart as a Vega-Lite specification with the common look."""
    spec: dict[str, Any] = chart.to_dict()
    spec["config"] = CONFIG
    spec["autosize"] = {"type": "pad"}
    return spec


def table(columns: Mapping[str, Sequence[Any]]) -> str:
    """Columns as CSV text; floats with six significant digits, which no plot can show."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([f"{value:.6g}" if isinstance(value, float) else value for value in row])
    return out.getvalue()


def data(text: str) -> alt.InlineData:
    """CSV text as the data of a chart: a third of the size of the same rows as JSON objects."""
    return alt.InlineData(values=text, format=alt.CsvDataFormat(type="csv"))


def facet_columns(count: int) -> int:
    """How many small multiples stand side by side: three, or two where that leaves no gap."""
    return min(count, 2 if count == 4 else 3)


def small_multiples(
    chart: alt.LayerChart | alt.FacetChart, field: str, order: Sequence[str]
) -> alt.FacetChart:
    """One small multiple of the chart a value of `field`, on shared scales."""
    columns = facet_columns(len(order))
    facet = alt.Facet(f"{field}:N", sort=list(order), header=alt.Header(title=None, labelOrient="top"))
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


class Look:
    """The encodings of the protocols of a report: colour, marker, line style and width, in one legend."""

    def __init__(
        self, styles: Sequence[Style], extra: Sequence[tuple[str, str]] = (), *, lines: bool = True
    ) -> None:
        """`extra` adds (label, colour) of reference lines to the legend; `lines` is for charts without
        markers.
        """
        self.domain = [style.label for style in styles] + [label for label, _ in extra]
        colours = [style.colour for style in styles] + [colour for _, colour in extra]
        dashes = [list(style.dash) or [1, 0] for style in styles] + [[1, 0] for _ in extra]
        markers = [style.marker for style in styles] + ["stroke" for _ in extra]
        # Symbols would get the dashes of the lines as their outline.
        legend = alt.Legend(orient="right", title=None, symbolStrokeWidth=0)
        if lines:
            # Without these the legend would show the faint fill of the bands under the lines.
            legend = alt.Legend(
                orient="right",
                title=None,
                symbolType="stroke",
                symbolOpacity=1,
                symbolFillColor="transparent",
            )
        self.colour = alt.Color(
            "protocol:N", scale=alt.Scale(domain=self.domain, range=colours), legend=legend
        )
        self.dash = alt.StrokeDash(
            "protocol:N", scale=alt.Scale(domain=self.domain, range=dashes), legend=legend
        )
        widths = [LINE_PX] * len(styles) + [REFERENCE_PX] * len(extra)
        self.width = alt.StrokeWidth(
            "protocol:N", scale=alt.Scale(type="ordinal", domain=self.domain, range=widths), legend=legend
        )
        self.shape = alt.Shape(
            "protocol:N", scale=alt.Scale(domain=self.domain, range=markers), legend=legend
        )
