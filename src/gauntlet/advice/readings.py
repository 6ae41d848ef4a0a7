"""What the grid asks of results, from numbers by repetition: means, tails of messages, missed deadlines."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from statistics import fmean

from gauntlet.advice.classes import Need
from gauntlet.advice.grid import TAILS, Sample, Variant
from gauntlet.advice.serves import Condition
from gauntlet.advice.standing import Tail
from gauntlet.errors import NotMeasured
from gauntlet.metrics.intervals import Mean, mean, the_same
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.quantity import MESSAGES, End, Quantity
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

    def kept(self, need: Need, protocol: str, condition: Condition) -> tuple[int, int] | None:
        """See `Sampled`. Nothing was asked of flows."""
        return None

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
        if deadline_s is None or missed is None:
            return Tail(known) if known else None
        return Tail(known, missed, self._missed_between(need, protocol, condition, deadline_s, missed.value))

    def missed(self, need: Need, protocol: str, condition: Condition, deadline_s: float) -> Mean | None:
        """The share of messages that were late or lost; None where it is not known."""
        try:
            late = self._late(need, protocol, condition, deadline_s)
        except NotMeasured:
            return None
        shares = _with_lost(late, self._lost(need, protocol, condition))
        return (the_same(shares[0]) if late.deterministic else mean(shares)).within(0.0, 1.0)

    def _missed_between(
        self, need: Need, protocol: str, condition: Condition, deadline_s: float, told: float
    ) -> tuple[float, float]:
        """What the mean share is at least and at most by the quantiles that are kept."""
        if told in (0.0, 1.0):
            # Every deadline lies beyond all delays, or before.
            return told, told
        lost = self._lost(need, protocol, condition)
        late = (self._late(need, protocol, condition, deadline_s, end) for end in (End.LEAST, End.MOST))
        least, most = (fmean(_with_lost(it, lost)) for it in late)
        return least, most

    def _late(
        self, need: Need, protocol: str, condition: Condition, deadline_s: float, end: End | None = None
    ) -> Selected:
        """By repetition the share of late messages among those that came. Raises NotMeasured where it is not
        known.
        """
        # A message that takes exactly as long as it may is in time.
        late = Quantity(MESSAGES[need.kpi], between=(math.nextafter(deadline_s, math.inf), math.inf), end=end)
        found = self.read(need, protocol, condition, late)
        found.check()
        return found

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


def _with_lost(late: Selected, lost: Mapping[int, float]) -> list[float]:
    """Each repetition's share of messages that were late or lost."""
    gone = {repetition: lost.get(repetition, 0.0) for repetition in late.values}
    return [gone[repetition] + (1 - gone[repetition]) * share for repetition, share in late.values.items()]
