"""What rules share: selections, quantities and bounds as a ledger writes them."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from gauntlet.experiment.strict import Strict
from gauntlet.metrics.adjusted import adjusted
from gauntlet.metrics.intervals import Mean
from gauntlet.metrics.numbers import listed
from gauntlet.metrics.quantity import DISTRIBUTIONS, Quantity, shown
from gauntlet.metrics.selected import Selected
from gauntlet.metrics.steps import Floats
from gauntlet.studies.capacity import carried
from gauntlet.studies.decide import Bounds, Context, Decision
from gauntlet.studies.factors import factor_words
from gauntlet.studies.model import Study
from gauntlet.studies.plugin import PLUGIN
from gauntlet.studies.select import Selection, by_repetition


def _scalars(selection: dict[str, Any]) -> dict[str, Any]:
    for name, wanted in selection.items():
        values = wanted if isinstance(wanted, list) else [wanted]
        if not values or any(isinstance(value, dict | list) for value in values):
            raise ValueError(
                f"{name} = {wanted!r} is no value of a factor; write one value or a list of values"
            )
    return selection


Selecting = Annotated[dict[str, Any], AfterValidator(_scalars)]
"""A selection in a ledger: factor = value, or factor = [values]."""


class Ruled(Strict):
    """A rule: it knows the experiments that it reads and decides from a summary."""

    def decide(self, context: Context) -> Decision:
        """The verdict; see `gauntlet.studies.decide.Rule`."""
        raise NotImplementedError

    def selections(self) -> list[tuple[str, Selection]]:
        """What it reads: (experiment, selection)."""
        return []

    def check(self, study: Study) -> None:
        """Raise UserError when it names a quantity or a function that the study does not have."""

    def own(self, study: Study) -> bool:
        """Whether it asks for something that only the study's plugin.py gives."""
        return False

    def experiments(self, study: Study) -> tuple[str, ...]:
        """The experiments that it is decided from."""
        return tuple(dict.fromkeys(name for name, _ in self.selections()))

    def files(self, study: Study) -> tuple[str, ...]:
        """The files of the study's folder, besides the ledger, that say how it is decided."""
        return (PLUGIN,) if self.own(study) else ()

    def where(self, chosen: dict[str, Any]) -> "Ruled":
        """The same rule with these factors added to every selection."""
        raise ValueError("for_each works with rules that have selections, and this one has none")


def described(quantity: str, conditions: str) -> str:
    """What was measured and under what: "Throughput (TCP BBR, loss 1 %)"."""
    return f"{quantity} ({conditions})" if conditions else quantity


class Bounded(Ruled):
    """A rule with bounds on a number."""

    at_least: float | None = None
    at_most: float | None = None

    @model_validator(mode="after")
    def _has_bounds(self) -> "Bounded":
        if self.at_least is None and self.at_most is None:
            raise ValueError("there is no bound; add at_least, at_most or both")
        if self.at_least is not None and self.at_most is not None and self.at_least >= self.at_most:
            raise ValueError("at_least is not below at_most, so nothing could fulfil both; mend one of them")
        return self

    @property
    def bounds(self) -> Bounds:
        """Where the number must lie."""
        return Bounds(self.at_least, self.at_most)


class Measuring(Ruled):
    """A rule about a quantity of flows of an experiment."""

    experiment: str
    kpi: str
    quantile: float | None = Field(default=None, ge=0, le=1)
    """Which quantile of a distribution (delay_s, window_throughput_bps, window_capacity_bps)."""
    over_flows: Literal["mean", "sum", "min", "max"] = "mean"
    """How several selected flows of one run become one number."""

    @model_validator(mode="after")
    def _fits(self) -> "Measuring":
        if self.kpi in DISTRIBUTIONS and self.quantile is None and self.quantity.between is None:
            raise ValueError(f"{self.kpi} is a distribution; add quantile, such as 0.5")
        return self

    @property
    def quantity(self) -> Quantity:
        """What is read of each flow."""
        return Quantity(self.kpi, self.quantile)

    def check(self, study: Study) -> None:
        """See `Ruled.check`."""
        shown(self.quantity, study.measures)

    def own(self, study: Study) -> bool:
        """See `Ruled.own`."""
        return self.kpi in study.own_measures

    def read(self, context: Context, selection: Selection) -> Selected:
        """The quantity by repetition."""
        shown(self.quantity, context.study.measures)
        return by_repetition(
            context.summary,
            self.experiment,
            selection,
            self.quantity,
            self.over_flows,
            measures=context.study.measures,
        )

    def covariates(
        self,
        context: Context,
        selections: Sequence[Selection],
        repetitions: Sequence[int],
        of: Callable[[float], float] = float,
    ) -> list[tuple[Floats, float]]:
        """Of each selection what the line carries, in these repetitions and truly on average, through `of`;
        none where the ledger does not ask for it or no stretch is drawn.
        """
        if self.kpi not in context.adjusted:
            return []
        found = [
            carried(context.study, context.summary, self.experiment, selection, self.kpi)
            for selection in selections
        ]
        return [it.column(repetitions, of) for it in found if it is not None]

    def label(self, context: Context) -> str:
        """The quantity for people."""
        words = shown(self.quantity, context.study.measures).label
        return words if self.quantile is None else f"{words}, {self.quantile:g} quantile"

    def under(self, context: Context, selection: Selection) -> str:
        """A selection for people, one part a factor: "TCP BBR, channel delay 25 ms"."""
        experiment = str(selection.get("experiment", self.experiment))
        return ", ".join(
            listed(
                [
                    f"flow {int(value) + 1}"
                    if name == "flow"
                    else factor_words(context.summary, experiment, name, value)
                    for value in (wanted if isinstance(wanted, list) else [wanted])
                ]
            )
            for name, wanted in selection.items()
            if name != "experiment"
        )


class MeasuringOne(Measuring):
    """A rule about a quantity under one selection."""

    of: Selecting

    def over_the_line(self, context: Context, selected: Selected, selection: Selection) -> Mean:
        """The mean over repetitions, freed of which stretches were drawn where the ledger asks for it."""
        plain = selected.mean(context.alpha)
        if selected.deterministic:
            return plain
        columns = self.covariates(context, [selection], list(selected.values))
        return adjusted(list(selected.values.values()), columns, context.alpha)

    def selections(self) -> list[tuple[str, Selection]]:
        """Its one selection."""
        return [(str(self.of.get("experiment", self.experiment)), self.of)]

    def where(self, chosen: dict[str, Any]) -> Self:
        """The same with these factors."""
        return self.model_copy(update={"of": {**self.of, **chosen}})
