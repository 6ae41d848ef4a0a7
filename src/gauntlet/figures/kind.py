"""What a kind of chart is: its options in a study's figures.toml, and how it draws them from results.

A kind is one file of this package and one line in `gauntlet.figures.registry`. It asks a `Source` for tidy
tables and gives a panel back; what the tables are made from (a study's summary) it does not know.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Protocol

import altair as alt
from pydantic import Field, field_validator

from gauntlet.experiment.strict import Strict
from gauntlet.figures.look import PRINTED, Look
from gauntlet.figures.tidy import Columns, Quantity
from gauntlet.metrics.intervals import Mean
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.numbers import listed
from gauntlet.metrics.observation import Partly


@dataclass(frozen=True)
class Chart:
    """A drawn panel of a figure; its data are saved from the chart itself."""

    caption: str
    chart: alt.TopLevelMixin


@dataclass(frozen=True)
class Table:
    """A panel that is a plain table; cells are text as shown, and those in a row of numbers align."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Panel = Chart | Table


MOST_NAMED = 3
"""Series that are named with a number of repetitions of their own; of more the range says enough."""


def repetitions(columns: Columns) -> str:
    """How many repetitions the values of a tidy table rest on, for people: "n = 20 for QUIC aioquic, 32 for
    the others". Columns: `protocol` (the series), `dash` (`PRINTED` where a value has none), `n`.
    """
    of_series: dict[str, set[int]] = {}
    for series, dash, n in zip(columns["protocol"], columns["dash"], columns["n"], strict=True):
        if dash != PRINTED:
            of_series.setdefault(str(series), set()).add(int(n))
    groups: dict[str, list[str]] = {}
    for series, counts in of_series.items():
        groups.setdefault(_range(counts), []).append(series)
    *some, last = sorted(groups.items(), key=lambda it: len(it[1]))
    if sum(len(series) for _, series in some) > MOST_NAMED:
        return f"n = {_range(set().union(*of_series.values()))}"
    named = [f"{n} for {listed(series)}" for n, series in some]
    return f"n = {', '.join([*named, f'{last[0]} for the others' if named else last[0]])}"


def _range(counts: Set[int]) -> str:
    few, many = min(counts), max(counts)
    return str(few) if few == many else f"{few} to {many}"


class Options(Strict):
    """What every panel of a figures.toml has."""

    kind: str
    caption: str = Field(min_length=1)

    @field_validator("caption")
    @classmethod
    def _one_line(cls, text: str) -> str:
        return " ".join(text.split())

    @property
    def experiments(self) -> tuple[str, ...]:
        """The experiments that it is drawn from."""
        return ()


def names_of(experiment: str | list[str] | None) -> tuple[str, ...]:
    """One experiment or several as a tuple."""
    return () if experiment is None else (experiment,) if isinstance(experiment, str) else tuple(experiment)


class Chosen(Strict):
    """Which flows of which experiments: `experiment` is one or several that count as one, `fixed` gives an
    experiment factors that its own matrix does not have, `of` names factors and the values that are meant.
    """

    experiment: str | list[str] = Field(min_length=1)
    fixed: dict[str, dict[str, Any]] = Field(default_factory=dict)
    of: dict[str, Any] = Field(default_factory=dict)


class Star(Strict):
    """A value that the study prints, in SI units, at its place in a chart.

    `x` is the level of the condition, or in a distribution the value; `y` is the value, or in a distribution
    the share of samples (none: an upright line). `colour` and `facet` are values of those factors, none
    stands for all. `label` is the value with its unit unless given.
    """

    x: float
    y: float | list[float] | None = None
    colour: str | float | None = None
    facet: str | float | None = None
    label: str = ""


class Drawing(Chosen, Options):
    """A chart of one quantity: `colour`, `dash` and `facet` are the factors that make its series, its line
    styles and its small multiples.
    """

    kpi: str
    colour: str = "protocol"
    dash: str | None = None
    facet: str | None = None
    stars: list[Star] = Field(default_factory=list)

    @property
    def experiments(self) -> tuple[str, ...]:
        return names_of(self.experiment)


@dataclass(frozen=True)
class Prepared:
    """A tidy table, how its series look and what its numbers are."""

    columns: Columns
    look: Look
    y: Quantity
    x: Quantity | None = None
    """What the numbers are measured against, where they are."""


@dataclass(frozen=True)
class Measured:
    """What is known of a quantity of some flows."""

    mean: Mean | None = None
    """Over repetitions; None when some of them has no number."""
    partly: Partly | None = None
    """Of a time until something is over how many flows came to their end, and by when half had, where some
    did not; None where all did, and of any other quantity.
    """


class Source(Protocol):
    """Results as tidy tables. Every method raises NotMeasured when nothing of what is asked was measured,
    UserError for what the results cannot have.
    """

    def means(self, asked: Drawing, x: str) -> Prepared:
        """Means over repetitions against the factor `x`, for `gauntlet.figures.against`."""

    def distributions(self, asked: Drawing) -> Prepared:
        """Distributions over samples or repetitions, for `gauntlet.figures.cdf`."""

    def messages(self, experiment: str, runs: Sequence[str], most: int | None) -> dict[str, list[Any]]:
        """Messages of example runs: `run`, `protocol` (label), `seq`, `sent_s`, `received_s`, `every` (one in
        so many is kept). All runs must be there, or with `most` the first so many that are.
        """

    def flow(self, experiment: str, run: str) -> Mapping[str, Any]:
        """Factors and numbers of a run's first flow."""

    def look(self, protocols: Sequence[str]) -> Look:
        """The look of protocols by their labels."""

    def measured(self, asked: Chosen, kpi: str) -> Measured:
        """What is known of a quantity; nothing when it was not measured."""

    def ratio(self, above: Chosen, below: Chosen, kpi: str) -> Mean | None:
        """The mean of the ratio in each repetition, as comparisons of a ledger take it; None without one."""

    def kpi(self, name: str) -> Kpi:
        """Label and unit of a quantity."""

    def values(self, experiments: Sequence[str], factor: str) -> list[Any]:
        """The values of a factor."""

    def word(self, experiments: Sequence[str], factor: str, value: Any) -> str:
        """A factor's value for people."""

    def scenario(self, name: str, params: Mapping[str, Any], seed: int) -> Mapping[str, Any]:
        """A link as `gauntlet.scenario.line_figure_data` has it."""

    def own(self, name: str) -> Columns:
        """A tidy table of the study's own arithmetic, from its plugin.py."""


@dataclass(frozen=True)
class Kind:
    """A kind of chart."""

    name: str
    options: type[Options]
    draw: Callable[[Any, Source], Panel]
    """From options and source."""
