"""A study's summary as the tidy tables that charts are drawn from (`gauntlet.figures.kind.Source`)."""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gauntlet.advice.tables import tables
from gauntlet.errors import NotMeasured, UserError
from gauntlet.figures.cdf import banded
from gauntlet.figures.kind import Chosen, Drawing, Measured, Prepared, names_of
from gauntlet.figures.look import PRINTED, Look
from gauntlet.figures.style import styles
from gauntlet.figures.tidy import Columns, Quantity, add
from gauntlet.metrics.ecdf import Cdf, ecdf, ecdf_of_quantiles, mixed_quantiles
from gauntlet.metrics.intervals import Mean, the_same
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.observation import partly
from gauntlet.metrics.quantity import DISTRIBUTIONS, shown
from gauntlet.metrics.quantity import Quantity as Asked
from gauntlet.metrics.ratios import ratio
from gauntlet.metrics.selected import Selected
from gauntlet.scenario import line_figure_data, load_scenario
from gauntlet.studies.advised import advised
from gauntlet.studies.factors import factor_words, summary_factor
from gauntlet.studies.joined import JOINED, joined
from gauntlet.studies.model import Study
from gauntlet.studies.select import Selection, by_repetition, rows
from gauntlet.studies.summary import Summary

POINTS = 64
"""Points of a distribution: as many as a small multiple has room for."""

ADVICE = ("advice", "needs")
"""Names of the tables of the study's advice: what serves each class, and every need behind it."""

Place = tuple[Any, Any, Any]
"""Values of the factors of small multiple, colour and line style; None where there is none."""


class SummarySource:
    """The results of a study for its figures."""

    def __init__(self, study: Study, summary: Summary) -> None:
        self._study, self._summary, self._measures = study, summary, study.measures
        self._joined: dict[str, Summary] = {}

    def means(self, asked: Drawing, x: str) -> Prepared:
        """Means over repetitions against the factor `x`."""
        grid, kpi = _Grid(*self._whole(asked), asked), self.kpi(asked.kpi)
        factor = summary_factor(grid.summary, grid.experiment, x)
        if not factor.numeric:
            raise UserError(
                f"{grid.experiment}: {x} has no numbers to stand on an axis; choose another factor for x."
            )
        names = ("condition", "protocol", "dash", "level", "value", "low", "high", "n")
        columns: dict[str, list[Any]] = {name: [] for name in names}
        for place, chosen in grid.cells():
            for value in factor.values:
                of = {**chosen, x: value}
                found = self._measured(grid.summary, grid.experiment, of, asked.kpi).mean
                if found is None:
                    continue
                ends = (found.value, found.low, found.high)
                numbers = [(found.value if it is None else it) * kpi.shown_factor for it in ends]
                add(columns, *grid.words(place), factor.shown(value), *numbers, found.n)
        if not columns["value"]:
            raise NotMeasured(f"No trusted run of {grid.experiment} has a {kpi.name}.")
        for star, facet, colour in grid.stars():
            values = star.y if isinstance(star.y, list) else [star.y]
            for value in (it for it in values if it is not None):
                said = star.label or f"{value * kpi.shown_factor:g} {kpi.shown_unit}".strip()
                at = (factor.shown(star.x), value * kpi.shown_factor)
                add(columns, facet, colour, PRINTED, *at, "", "", said)
        words = factor.words[0].upper() + factor.words[1:]
        return Prepared(columns, grid.look(), _quantity(kpi), Quantity(words, factor.unit))

    def distributions(self, asked: Drawing) -> Prepared:
        """Distributions over samples, or of a KPI over flows, with bands by repetition."""
        grid, kpi = _Grid(*self._whole(asked), asked), self.kpi(asked.kpi)
        names = ("condition", "protocol", "dash", "value", "share", "low", "high", "n")
        columns: dict[str, list[Any]] = {name: [] for name in names}
        for place, chosen in grid.cells():
            found = _cdf(grid.summary, grid.experiment, kpi, chosen)
            if found is None:
                continue
            points = zip(
                found.values * kpi.shown_factor, found.probability, found.low, found.high, strict=True
            )
            for value, share, low, high in points:
                band = (_short(low), _short(high)) if banded(found) else ("", "")
                add(columns, *grid.words(place), _short(value), _short(share), *band, found.repetitions)
        if not columns["value"]:
            raise NotMeasured(f"No trusted run of {grid.experiment} has a {kpi.name}.")
        for star, facet, colour in grid.stars():
            value = star.x * kpi.shown_factor
            shares = star.y if isinstance(star.y, list) else [star.y]
            for share in shares:
                said = star.label or f"{value:g} {kpi.shown_unit}".strip()
                add(columns, facet, colour, PRINTED, value, "" if share is None else share, "", "", said)
        return Prepared(columns, grid.look(), _quantity(kpi))

    def messages(self, experiment: str, runs: Sequence[str], most: int | None) -> dict[str, list[Any]]:
        """Messages of example runs, in the order of the runs."""
        kept: dict[str, list[Mapping[str, Any]]] = {}
        for row in self._summary.series(experiment).to_pylist():
            kept.setdefault(row["run"], []).append(row)
        missing = [run for run in runs if run not in kept]
        if (missing and most is None) or len(missing) == len(runs):
            raise NotMeasured(f"The example run {missing[0]} of {experiment} is not among these results.")
        names = ("run", "protocol", "seq", "sent_s", "received_s", "every")
        columns: dict[str, list[Any]] = {name: [] for name in names}
        for run in [run for run in runs if run in kept][:most]:
            for row in kept[run]:
                add(columns, *({**row, "protocol": _label(row["protocol"])}[name] for name in names))
        return columns

    def flow(self, experiment: str, run: str) -> Mapping[str, Any]:
        """Factors and numbers of a run's first flow."""
        found = rows(self._summary, experiment, {}).to_pylist()
        flow: Mapping[str, Any] = next(row for row in found if row["run"] == run)
        return flow

    def look(self, protocols: Sequence[str]) -> Look:
        """The look of protocols by their labels, each with a line style of its own."""
        known = styles(self._protocols())
        return Look.of_styles([style for style in known if style.label in protocols])

    def measured(self, asked: Chosen, kpi: str) -> Measured:
        """What is known of a quantity; nothing when it was not measured."""
        try:
            summary, experiment = self._whole(asked)
        except NotMeasured:
            return Measured()
        return self._measured(summary, experiment, asked.of, kpi)

    def ratio(self, above: Chosen, below: Chosen, kpi: str) -> Mean | None:
        """The mean of the ratio in each repetition, as comparisons of a ledger take it; None without one."""
        try:
            one, other = (self._by_repetition(*self._whole(it), it.of, kpi) for it in (above, below))
        except NotMeasured:
            return None
        shared = sorted(one.values.keys() & other.values.keys())
        if not shared:
            return None
        these, those = ([it.values[number] for number in shared] for it in (one, other))
        found = ratio(these, those).mean
        if found is not None and one.deterministic and other.deterministic:
            return the_same(found.value)
        return found

    def kpi(self, name: str) -> Kpi:
        """A KPI, a measure or a distribution."""
        quantile = 0.5 if name in DISTRIBUTIONS else None
        return shown(Asked(name, quantile), self._measures)

    def values(self, experiments: Sequence[str], factor: str) -> list[Any]:
        """The values of a factor in those of these experiments that were played."""
        there = [name for name in experiments if name in self._summary.measured]
        return list(dict.fromkeys(it for name in there for it in self._summary.factors(name)[factor]))

    def word(self, experiments: Sequence[str], factor: str, value: Any) -> str:
        """A factor's value for people, without the factor's name."""
        if factor == "protocol":
            return _label(str(value))
        there = next((name for name in experiments if name in self._summary.measured), None)
        if there is None:
            raise NotMeasured(f"{', '.join(experiments)} is not among these results.")
        return self._summary.label(there, factor, value)

    def scenario(self, name: str, params: Mapping[str, Any], seed: int) -> Mapping[str, Any]:
        """A link of Gauntlet's own, for its picture."""
        return line_figure_data(load_scenario(name, dict(params), seed))

    def own(self, name: str) -> Columns:
        """A table of the study's advice (`advice`, `needs`), or of its plugin. Raises UserError when there is
        none of this name, NotMeasured when the plugin was not run.
        """
        if self._study.advice is not None and name in ADVICE:
            found = tables(advised(self._study, self._summary), self._study.advice.by)[ADVICE.index(name)]
            return {head: [row[place] for row in found.rows] for place, head in enumerate(found.header)}
        plugin = self._study.plugin
        if plugin.withheld:
            raise NotMeasured("It needs the study's plugin.py, which was not run.")
        if name not in plugin.tables:
            known = ", ".join(plugin.tables) or "none"
            raise UserError(f"{self._study.home}: plugin.py has no '{name}' in TABLES; it has {known}.")
        return plugin.tables[name](self._summary)

    def _whole(self, asked: Chosen) -> tuple[Summary, str]:
        """The summary and the experiment in it; several experiments are joined, once."""
        names = names_of(asked.experiment)
        if len(names) == 1:
            return self._summary, names[0]
        key = json.dumps([names, asked.fixed])
        if key not in self._joined:
            self._joined[key] = joined(self._summary, names, asked.fixed)
        return self._joined[key], JOINED

    def _measured(self, summary: Summary, experiment: str, of: Selection, kpi: str) -> Measured:
        """The mean and how much ended, from one selection of the flows."""
        what = self.kpi(kpi)
        try:
            found = self._by_repetition(summary, experiment, of, kpi)
        except NotMeasured:
            return Measured()
        part = partly(found.of_flows) if what.censored else None
        try:
            return Measured(found.mean().within(what.least, what.most), part)
        except NotMeasured:
            return Measured(partly=part)

    def _by_repetition(self, summary: Summary, experiment: str, of: Selection, kpi: str) -> Selected:
        quantity = Asked(kpi, 0.5 if kpi in DISTRIBUTIONS else None)
        return by_repetition(summary, experiment, of, quantity, measures=self._measures)

    def _protocols(self) -> list[str]:
        experiments = self._summary.experiments
        return [str(it) for name in experiments for it in self._summary.factors(name)["protocol"]]


class _Grid:
    """The small multiples, colours and line styles of a chart: values of three factors and their names."""

    def __init__(self, summary: Summary, experiment: str, asked: Drawing) -> None:
        self.summary, self.experiment, self._asked = summary, experiment, asked
        self._names = (asked.facet, asked.colour, asked.dash)
        found = rows(summary, experiment, asked.of)
        self._values = [self._present(found, name) for name in self._names]

    def _present(self, found: Any, name: str | None) -> list[Any]:
        """The factor's values that the results have, in the experiment's order."""
        if name is None or name not in self.summary.factors(self.experiment):
            return [None]
        have = set(found.column(name).to_pylist())
        return [value for value in self.summary.factors(self.experiment)[name] if value in have]

    def cells(self) -> Iterator[tuple[Place, Selection]]:
        """Every place, and the selection of its flows."""
        for facet, colour, dash in itertools.product(*self._values):
            named = zip(self._names, (facet, colour, dash), strict=True)
            chosen = {name: value for name, value in named if name is not None and value is not None}
            yield (facet, colour, dash), {**self._asked.of, **chosen}

    def words(self, place: Place) -> tuple[str, ...]:
        """A place as the columns condition, protocol and dash have it."""
        return tuple(self._word(name, value) for name, value in zip(self._names, place, strict=True))

    def _word(self, name: str | None, value: Any) -> str:
        if name is None or value is None:
            return ""
        return factor_words(self.summary, self.experiment, name, value)

    def stars(self) -> Iterator[tuple[Any, str, str]]:
        """Every printed value in every small multiple that it belongs to: (star, condition, series)."""
        facets, colours, _ = self._values
        for star, facet in itertools.product(self._asked.stars, facets):
            if star.facet is None or star.facet == facet:
                colour = self._word(self._names[1], star.colour) if star.colour in colours else ""
                yield star, self._word(self._names[0], facet), colour

    def look(self) -> Look:
        """Colours, markers and line styles."""
        _, names, dashes = (
            [self._word(name, value) for value in values]
            for name, values in zip(self._names, self._values, strict=True)
        )
        protocols = self._names[1] == "protocol"
        return Look.of_values(names, self._values[1], dashes, protocols=protocols)


def _cdf(summary: Summary, experiment: str, kpi: Kpi, chosen: Selection) -> Cdf | None:
    """The distribution under one selection, None when nothing trusted is there."""
    try:
        found = rows(summary, experiment, chosen).to_pylist()
    except NotMeasured:
        return None
    trusted = [row for row in found if row["trusted"]]
    if kpi.name not in DISTRIBUTIONS:
        known = [row[kpi.name] for row in trusted if row.get(kpi.name) is not None]
        failed = sum(row.get(kpi.name) is None and row["outcome"] != "ok" for row in trusted)
        return ecdf([np.array([value]) for value in known], points=POINTS, nothing=failed)
    table, column, _ = DISTRIBUTIONS[kpi.name]
    kept = summary.quantiles(experiment, table, column)
    repetitions: dict[int, list[tuple[str, int]]] = {}
    for row in trusted:
        if (row["run"], row["flow"]) in kept and not np.isnan(kept[row["run"], row["flow"]][1]).any():
            repetitions.setdefault(row["repetition"], []).append((row["run"], row["flow"]))
    if not repetitions:
        return None
    levels = next(iter(kept.values()))[0]
    counts = {(row["run"], row["flow"]): row["received_messages"] or 1 for row in trusted}
    values = [mixed_quantiles(levels, [kept[key][1] for key in keys]) for keys in repetitions.values()]
    samples = [sum(counts[key] for key in keys) for keys in repetitions.values()]
    return ecdf_of_quantiles(levels, values, samples, points=POINTS)


def _quantity(kpi: Kpi) -> Quantity:
    return Quantity(kpi.label, kpi.shown_unit)


def _label(protocol: str) -> str:
    return styles([protocol])[0].label


def _short(value: float) -> float:
    """Four significant digits: more than a line's width."""
    return float(f"{value:.4g}")
