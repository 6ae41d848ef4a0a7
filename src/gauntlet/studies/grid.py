"""How the factors of an experiment become small multiples, colours and dashes of a chart."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import altair as alt

from gauntlet.report.style import styles
from gauntlet.studies.factors import factor_words
from gauntlet.studies.select import Selection, rows
from gauntlet.studies.summary import Summary

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#882255")
"""Colours of a factor's values where the colour is not the protocol: Okabe and Ito's."""

RAMP = ("#E9A227", "#D95F4C", "#B03A7A", "#742F8A", "#35206B")
"""Colours of numbers, from little to much: darker and darker, so that they can be told apart without seeing
hues, and none of them a protocol's (after matplotlib's plasma).
"""

WIDEST_PX = 240
"""How wide a legend may be: "channel delay 150 ms ± 10 ms" does not fit into Vega's 160 pixels."""
DASHES = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2])
MARKERS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
"""Markers of a factor's values where the marker is not the protocol."""


@dataclass(frozen=True)
class Look:
    """Colours, dashes and markers of a chart, each with its legend."""

    colour: alt.Color
    dash: alt.StrokeDash
    shape: alt.Shape


class Grid:
    """The small multiples, colours and dashes of a chart: values of three factors and their names."""

    def __init__(
        self,
        summary: Summary,
        experiment: str,
        of: Selection,
        *,
        colour: str,
        dash: str | None,
        facet: str | None,
    ) -> None:
        self._summary, self._experiment, self._of = summary, experiment, of
        self._names = (facet, colour, dash)
        found = rows(summary, experiment, of)
        self._values = tuple(self._present(found, name) for name in self._names)
        self._words = tuple(
            {value: self._word(name, value) for value in values}
            for name, values in zip(self._names, self._values, strict=True)
        )
        self.facets = list(self._words[0].values())

    def _present(self, found: Any, name: str | None) -> list[Any]:
        """The factor's values that the results have, in the experiment's order."""
        if name is None or name not in self._summary.factors(self._experiment):
            return [None]
        have = set(found.column(name).to_pylist())
        return [value for value in self._summary.factors(self._experiment)[name] if value in have]

    def _word(self, name: str | None, value: Any) -> str:
        if name is None or value is None:
            return ""
        return factor_words(self._summary, self._experiment, name, value)

    def cells(self) -> Iterator[tuple[tuple[Any, ...], Selection]]:
        """Every (place, selection): place is the values of facet, colour and dash."""
        for place in itertools.product(*self._values):
            named = zip(self._names, place, strict=True)
            chosen = {name: value for name, value in named if name is not None and value is not None}
            yield place, {**self._of, **chosen}

    def words(self, place: tuple[Any, ...]) -> tuple[str, str, str]:
        """A place as the columns condition, protocol and dash have it."""
        facet, colour, dash = (words[value] for words, value in zip(self._words, place, strict=True))
        return facet, colour, dash

    def facet_words(self, value: Any) -> str:
        """A facet's name; empty for None."""
        return "" if value is None else self._words[0].get(value, "not drawn")

    def colour_words(self, value: Any) -> str:
        """A colour's name; empty for None."""
        return "" if value is None else self._words[1].get(value, "")

    def colour_of(self, value: Any) -> str | None:
        """A colour itself; None for a value that has none."""
        return dict(zip(self._values[1], self._colours(), strict=True)).get(value)

    def look(self, *, lines: bool = True) -> Look:
        """Colours and dashes with legends; `lines` is for charts without markers."""
        _, names, dashes = (list(words.values()) for words in self._words)
        legend = alt.Legend(
            title=None,
            symbolType="stroke",
            symbolOpacity=1,
            symbolFillColor="transparent",
            labelLimit=WIDEST_PX,
        )
        marked = legend if lines else alt.Legend(title=None, symbolStrokeWidth=0, labelLimit=WIDEST_PX)
        broken = legend if len(dashes) > 1 else None
        colours, markers = self._colours(), self._markers()
        return Look(
            alt.Color("protocol:N", scale=alt.Scale(domain=names, range=colours), legend=marked),
            alt.StrokeDash(
                "dash:N", scale=alt.Scale(domain=dashes, range=list(DASHES[: len(dashes)])), legend=broken
            ),
            alt.Shape("protocol:N", scale=alt.Scale(domain=names, range=markers), legend=marked),
        )

    def _colours(self) -> list[str]:
        values = self._values[1]
        if self._names[1] == "protocol":
            return [styles([str(key)])[0].colour for key in values]
        if 1 < len(values) <= len(RAMP) and all(isinstance(value, int | float) for value in values):
            return [RAMP[round(place * (len(RAMP) - 1) / (len(values) - 1))] for place in range(len(values))]
        return list(itertools.islice(itertools.cycle(PALETTE), len(values)))

    def _markers(self) -> list[str]:
        if self._names[1] == "protocol":
            return [styles([str(key)])[0].marker for key in self._values[1]]
        return list(itertools.islice(itertools.cycle(MARKERS), len(self._values[1])))
