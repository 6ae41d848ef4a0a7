"""What the grid asks of results, from numbers by repetition: means, tails of messages, missed deadlines."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping

from gauntlet.advice.classes import Need
from gauntlet.advice.grid import TAILS, Sample, Variant
from gauntlet.advice.serves import Condition
from gauntlet.advice.standing import Tail
from gauntlet.errors import NotMeasured
from gauntlet.metrics.intervals import Mean, mean, the_same
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.quantity import MESSAGES, Quantity
from gauntlet.metrics.selected import Selected

LOST = ("message_failure_ratio", "message_loss_ratio")
"""Shares of messages that never came: of periodic sources, and of all. The first that is known counts."""


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
        missed = None if deadline_s is None else self.missed(need, protocol, condition, deadline_s)
        return Tail(known, missed) if known or missed else None

    def missed(self, need: Need, protocol: str, condition: Condition, deadline_s: float) -> Mean | None:
        """The share of messages that were late or lost; None where it is not known."""
        # A message that takes exactly as long as it may is in time.
        late = Quantity(MESSAGES[need.kpi], between=(math.nextafter(deadline_s, math.inf), math.inf))
        try:
            found = self.read(need, protocol, condition, late)
            found.check()
        except NotMeasured:
            return None
        lost = self._lost(need, protocol, condition)
        shares = [
            gone + (1 - gone) * share
            for gone, share in ((lost.get(it, 0.0), share) for it, share in found.values.items())
        ]
        return (the_same(shares[0]) if found.deterministic else mean(shares)).within(0.0, 1.0)

    def _lost(self, need: Need, protocol: str, condition: Condition) -> Mapping[int, float]:
        for name in LOST:
            try:
                values = self.read(need, protocol, condition, Quantity(name)).values
            except NotMeasured:
                continue
            if values:
                return values
        return {}

    def _told(self, need: Need, protocol: str, condition: Condition, of: Quantity) -> Mean | None:
        try:
            return self.read(need, protocol, condition, of).mean()
        except NotMeasured:
            return None
