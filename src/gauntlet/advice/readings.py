"""What the grid asks of results, from numbers by repetition: means, tails of messages, missed deadlines."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from gauntlet.advice.classes import Need
from gauntlet.advice.grid import TAILS, Sample, Variant
from gauntlet.advice.serves import Condition
from gauntlet.advice.standing import Tail
from gauntlet.errors import NotMeasured
from gauntlet.metrics.intervals import Mean, mean
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.quantity import MESSAGES, Quantity
from gauntlet.metrics.selected import Selected

LOST = "message_loss_ratio"


class Readings(ABC):
    """Results as `gauntlet.advice.grid.Sampled` has them, whether they are a study's or one experiment's."""

    @abstractmethod
    def kpi(self, need: Need) -> Kpi:
        """See `Sampled`."""

    @abstractmethod
    def read(self, need: Need, protocol: str, condition: Condition, of: Quantity) -> Selected:
        """A quantity by repetition, from the flows that the need is about. Raises NotMeasured when they were
        not run.
        """

    @abstractmethod
    def completed(self, need: Need, protocol: str, condition: Condition) -> tuple[int, int]:
        """See `Sampled`."""

    @abstractmethod
    def variants(self, need: Need) -> Mapping[Variant, Need]:
        """See `Sampled`."""

    def sample(self, need: Need, protocol: str, condition: Condition) -> Sample | None:
        """See `Sampled`. Where no flow at all did what it was to do, there are but limits: as good as
        nothing.
        """
        found = self.read(need, protocol, condition, Quantity(need.kpi, need.quantile))
        done, flows = self.completed(need, protocol, condition)
        if found.never or (flows and not done):
            return None
        if not found.values:
            delay_s, loss = (float("nan") if it is None else it for it in condition)
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

    def _told(self, need: Need, protocol: str, condition: Condition, of: Quantity) -> Mean | None:
        try:
            return self.read(need, protocol, condition, of).mean()
        except NotMeasured:
            return None

    def _missed(
        self, need: Need, protocol: str, condition: Condition, of: str, deadline_s: float
    ) -> Mean | None:
        """The share of messages that were not there in time: those late and those lost."""
        try:
            late = self.read(need, protocol, condition, Quantity(of, between=(deadline_s, float("inf"))))
            late.check()
        except NotMeasured:
            return None
        try:
            lost = self.read(need, protocol, condition, Quantity(LOST)).values
        except NotMeasured:
            lost = {}
        shares = [
            1 - (1 - lost.get(repetition, 0.0)) * (1 - share) for repetition, share in late.values.items()
        ]
        return mean(shares).within(0.0, 1.0) if shares else None
