"""A study's advice (`gauntlet.advice`) from its summary."""

from dataclasses import dataclass, field

from gauntlet.advice.classes import Need
from gauntlet.advice.serves import Condition, Recommendation, of_class
from gauntlet.errors import NotMeasured
from gauntlet.metrics.kpi import Kpi
from gauntlet.studies.joined import JOINED, joined
from gauntlet.studies.model import Study
from gauntlet.studies.select import Quantity, by_repetition, shown
from gauntlet.studies.summary import Summary


@dataclass(frozen=True)
class FromSummary:
    """What advice asks for (`gauntlet.advice.serves.Measured`), out of a summary."""

    study: Study
    summary: Summary
    _joined: dict[str, Summary] = field(default_factory=dict)

    def kpi(self, need: Need) -> Kpi:
        """See `Measured`."""
        return shown(Quantity(need.kpi), self.study.measures)

    def value(self, need: Need, protocol: str, condition: Condition) -> float | None:
        """See `Measured`."""
        source, experiment = self.summary, need.experiments[0]
        if not isinstance(need.experiment, str):
            source, experiment = self._whole(need), JOINED
        delay_s, loss = condition
        selection = {"protocol": protocol, "channel_delay_s": delay_s, "loss": loss, **need.where}
        measures = self.study.measures
        found = by_repetition(source, experiment, selection, Quantity(need.kpi), measures=measures)
        if found.never:
            return None
        if not found.values:
            where = f"{protocol} at {delay_s:g} s and a loss of {loss:g}"
            raise NotMeasured(f"No trusted run of {where} tells of: {need.words}.")
        return found.mean().value

    def _whole(self, need: Need) -> Summary:
        """The experiments of a need as one, joined once."""
        key = repr((need.experiment, need.fixed))
        if key not in self._joined:
            self._joined[key] = joined(self.summary, need.experiments, need.fixed)
        return self._joined[key]


def advised(study: Study, summary: Summary) -> list[Recommendation]:
    """Every row of the study's table. Raises NotMeasured when a condition is missing."""
    source = FromSummary(study, summary)
    return [of_class(source, service) for service in (study.advice.classes if study.advice else ())]
