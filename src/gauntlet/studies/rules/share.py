"""share: how large a part of the runs, or of the windows or messages, fulfils a condition.

Of a KPI it is the share of the selected flows in each repetition whose value lies from `from` to `to`; of a
distribution (delay_s, window_throughput_bps) the share of its samples. The mean over repetitions is held
against the bounds.
"""

from pydantic import Field, model_validator

from gauntlet.metrics.quantity import DISTRIBUTIONS, Quantity
from gauntlet.studies.decide import Context, Decision, judged
from gauntlet.studies.rules.base import Bounded, MeasuringOne, described

KIND = "share"


class Rule(Bounded, MeasuringOne):
    """The share of flows or samples between two values, within bounds (shares from 0 to 1)."""

    from_: float | None = Field(default=None, alias="from")
    to: float | None = None

    @model_validator(mode="after")
    def _has_condition(self) -> "Rule":
        if self.from_ is None and self.to is None:
            raise ValueError("nothing says what is counted; add from, to or both")
        if self.quantile is not None:
            raise ValueError("a share counts values of the whole distribution; leave quantile out")
        return self

    @property
    def quantity(self) -> Quantity:
        """The share of each flow."""
        low = float("-inf") if self.from_ is None else self.from_
        high = float("inf") if self.to is None else self.to
        return Quantity(self.kpi, between=(low, high))

    def decide(self, context: Context) -> Decision:
        """See the module."""
        selected = self.read(context, self.of)
        found = selected.mean(context.alpha).within(0.0, 1.0)
        counted = "samples" if self.kpi in DISTRIBUTIONS else "flows"
        what = described(f"{self.label(context)}, share of {counted}", self.under(context, self.of))
        return judged(found, self.bounds, what=what, unit="%", factor=100.0, left_out=selected.left_out)
