"""A study's advice (`gauntlet.advice`) from its summary."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gauntlet.advice.classes import Need
from gauntlet.advice.grid import Grid, Sample, Variant, grid
from gauntlet.advice.readings import Readings
from gauntlet.advice.serves import Condition, Recommendation, of_class
from gauntlet.errors import NotMeasured
from gauntlet.figures.style import OF_SUBJECT
from gauntlet.metrics.flow_rows import completed
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.quantity import Quantity, shown
from gauntlet.metrics.selected import Selected
from gauntlet.studies.joined import JOINED, joined
from gauntlet.studies.model import Study
from gauntlet.studies.select import by_repetition, rows, same
from gauntlet.studies.siblings import with_other_queues
from gauntlet.studies.summary import Summary


@dataclass(frozen=True)
class FromSummary(Readings):
    """What advice asks for (`Measured` and `Sampled` of `gauntlet.advice`), out of a summary."""

    study: Study
    summary: Summary
    _joined: dict[str, Summary] = field(default_factory=dict)

    def kpi(self, need: Need) -> Kpi:
        """See `Measured`."""
        return shown(Quantity(need.kpi, need.quantile), self.study.measures)

    def value(self, need: Need, protocol: str, condition: Condition) -> float | None:
        """See `Measured`."""
        found = super().sample(need, protocol, condition)
        return None if found is None else found.mean.value

    def sample(self, need: Need, protocol: str, condition: Condition) -> Sample | None:
        """See `Sampled`. What the experiment does not have at all was not run either: a sibling with another
        queue may have fewer protocols and conditions.
        """
        source, experiment = self._source(need)
        varied = source.factors(experiment)
        for name, value in self._selection(need, protocol, condition).items():
            if name in varied and not any(same(value, have) for have in varied[name]):
                raise NotMeasured(f"{experiment} has no {name} = {value}.")
        return super().sample(need, protocol, condition)

    def completed(self, need: Need, protocol: str, condition: Condition) -> tuple[int, int]:
        """See `Sampled`."""
        source, experiment = self._source(need)
        try:
            found = rows(source, experiment, self._selection(need, protocol, condition)).to_pylist()
        except NotMeasured:
            return 0, 0
        trusted = [row for row in found if row["trusted"]]
        return sum(completed(row) for row in trusted), len(trusted)

    def variants(self, need: Need) -> Mapping[Variant, Need]:
        """See `Sampled`: the queues that were measured."""
        found = with_other_queues(self.study, self.summary, need)
        return {Variant(queue): each for queue, each in found.items()}

    def read(self, need: Need, protocol: str, condition: Condition, of: Quantity) -> Selected:
        """See `Readings`."""
        source, experiment = self._source(need)
        selection = self._selection(need, protocol, condition)
        return by_repetition(source, experiment, selection, of, measures=self.study.measures)

    def _source(self, need: Need) -> tuple[Summary, str]:
        """The experiments of a need; several as one, joined once."""
        if isinstance(need.experiment, str):
            return self.summary, need.experiment
        key = repr((need.experiment, need.fixed))
        if key not in self._joined:
            self._joined[key] = joined(self.summary, need.experiments, need.fixed)
        return self._joined[key], JOINED

    def _selection(self, need: Need, protocol: str, condition: Condition) -> dict[str, Any]:
        """The flows of a transport under a condition. What an experiment does not vary is as its file has it
        throughout, so it selects nothing.
        """
        source, experiment = self._source(need)
        varied = source.factors(experiment)
        under = {"channel_delay_s": condition[0], "loss": condition[1]}
        application, _, transport = protocol.rpartition(OF_SUBJECT)
        return {
            "protocol": transport,
            **{name: value for name, value in under.items() if name in varied},
            **need.where,
            **need.applications.get(application, {}),
        }


def advised(study: Study, summary: Summary) -> list[Recommendation]:
    """Every row of the study's table. Raises NotMeasured when a condition is missing."""
    source = FromSummary(study, summary)
    return [of_class(source, service) for service in (study.advice.classes if study.advice else ())]


def grids(study: Study, summary: Summary) -> list[Grid]:
    """What to use: each class under each condition, those of the study first. What was not measured stays in
    it as such.
    """
    source = FromSummary(study, summary)
    given = ((study.advice, True), (study.applications, True), (study.beyond, False))
    return [
        grid(source, service, classes.by if of_study else "")
        for classes, of_study in given
        if classes is not None
        for service in classes.classes
    ]
