"""A study's advice (`gauntlet.advice`) from its summary."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gauntlet.advice.classes import Need
from gauntlet.advice.grid import TAILS, Grid, Sample, grid
from gauntlet.advice.serves import Condition, Recommendation, of_class
from gauntlet.advice.standing import Tail
from gauntlet.errors import NotMeasured
from gauntlet.metrics.flow_rows import completed
from gauntlet.metrics.intervals import Mean, mean
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.quantity import Quantity, shown
from gauntlet.metrics.selected import Selected
from gauntlet.studies.joined import JOINED, joined
from gauntlet.studies.model import Study
from gauntlet.studies.select import by_repetition, rows, same
from gauntlet.studies.siblings import with_other_queues
from gauntlet.studies.summary import Summary

MESSAGES = {
    "delay_p95_s": "delay_s",
    "delay_median_s": "delay_s",
    "message_delay_s": "each_message_delay_s",
    "message_delay_with_setup_s": "each_message_delay_with_setup_s",
    "each_message_delay_s": "each_message_delay_s",
    "each_message_delay_with_setup_s": "each_message_delay_with_setup_s",
}
"""What judges messages -> the distribution of their delays, of which the tail is told."""

LOST = "message_loss_ratio"


@dataclass(frozen=True)
class FromSummary:
    """What advice asks for (`Measured` and `Sampled` of `gauntlet.advice`), out of a summary."""

    study: Study
    summary: Summary
    _joined: dict[str, Summary] = field(default_factory=dict)

    def kpi(self, need: Need) -> Kpi:
        """See `Measured`."""
        return shown(Quantity(need.kpi, need.quantile), self.study.measures)

    def value(self, need: Need, protocol: str, condition: Condition) -> float | None:
        """See `Measured`."""
        found = self._sample(need, protocol, condition)
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
        return self._sample(need, protocol, condition)

    def _sample(self, need: Need, protocol: str, condition: Condition) -> Sample | None:
        found = self._read(need, protocol, condition, Quantity(need.kpi, need.quantile))
        if found.never:
            return None
        if not found.values:
            delay_s, loss = condition
            where = f"{protocol} at {delay_s:g} s and a loss of {loss:g}"
            raise NotMeasured(f"No trusted run of {where} tells of: {need.words}.")
        kpi = self.kpi(need)
        return Sample(found.mean().within(kpi.least, kpi.most), found.values)

    def tail(self, need: Need, protocol: str, condition: Condition, deadline_s: float | None) -> Tail | None:
        """See `Sampled`."""
        if need.kpi not in MESSAGES:
            return None
        of = MESSAGES[need.kpi]
        quantiles = {level: self._told(need, protocol, condition, Quantity(of, level)) for level in TAILS}
        known = {level: found for level, found in quantiles.items() if found is not None}
        missed = None if deadline_s is None else self._missed(need, protocol, condition, of, deadline_s)
        return Tail(known, missed) if known or missed else None

    def completed(self, need: Need, protocol: str, condition: Condition) -> tuple[int, int]:
        """See `Sampled`."""
        source, experiment = self._source(need)
        try:
            found = rows(source, experiment, self._selection(need, protocol, condition)).to_pylist()
        except NotMeasured:
            return 0, 0
        trusted = [row for row in found if row["trusted"]]
        return sum(completed(row) for row in trusted), len(trusted)

    def queues(self, need: Need) -> Mapping[str, Need]:
        """See `Sampled`."""
        return with_other_queues(self.study, self.summary, need)

    def _told(self, need: Need, protocol: str, condition: Condition, of: Quantity) -> Mean | None:
        try:
            return self._read(need, protocol, condition, of).mean()
        except NotMeasured:
            return None

    def _missed(
        self, need: Need, protocol: str, condition: Condition, of: str, deadline_s: float
    ) -> Mean | None:
        """The share of messages that were not there in time: those late and those lost."""
        try:
            late = self._read(need, protocol, condition, Quantity(of, between=(deadline_s, float("inf"))))
            late.check()
        except NotMeasured:
            return None
        try:
            lost = self._read(need, protocol, condition, Quantity(LOST)).values
        except NotMeasured:
            lost = {}
        shares = [
            1 - (1 - lost.get(repetition, 0.0)) * (1 - share) for repetition, share in late.values.items()
        ]
        return mean(shares).within(0.0, 1.0) if shares else None

    def _read(self, need: Need, protocol: str, condition: Condition, of: Quantity) -> Selected:
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
        return {
            "protocol": protocol,
            **{name: value for name, value in under.items() if name in varied},
            **need.where,
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
    given = ((study.advice, True), (study.beyond, False))
    return [
        grid(source, service, classes.by if of_study else "")
        for classes, of_study in given
        if classes is not None
        for service in classes.classes
    ]
