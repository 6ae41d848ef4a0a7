"""A figure of a report: a chart with its words, and its data as CSV for other tools."""

from dataclasses import dataclass
from typing import Any

import altair as alt

from gauntlet.figures.look import finished
from gauntlet.figures.tidy import Columns, as_csv


@dataclass(frozen=True)
class Figure:
    """One figure: `spec` is what Vega-Lite draws, `csv` the table that it was drawn from."""

    name: str
    title: str
    caption: str
    spec: dict[str, Any]
    csv: str


def figure(name: str, title: str, caption: str, chart: alt.TopLevelMixin, columns: Columns) -> Figure:
    """The figure of a chart and its table."""
    return Figure(name, title, caption, finished(chart), as_csv(columns))
