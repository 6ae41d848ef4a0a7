"""range: a quantity under one selection lies within bounds, or near a printed value.

The quantity is averaged over repetitions (and over what the selection spans). `near` with `tolerance`, a
share of it, stands for the bounds on both sides.
"""

from pydantic import Field, model_validator

from gauntlet.metrics.quantity import shown
from gauntlet.studies.decide import Bounds, Context, Decision, judged
from gauntlet.studies.rules.base import MeasuringOne, described

KIND = "range"


class Rule(MeasuringOne):
    """A mean over repetitions within bounds. Bounds are in SI units."""

    at_least: float | None = None
    at_most: float | None = None
    near: float | None = None
    tolerance: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _bounds_are_one(self) -> "Rule":
        if (self.near is None) != (self.tolerance is None):
            raise ValueError("near and tolerance belong together; give both or neither")
        limited = self.at_least is not None or self.at_most is not None
        if limited == (self.near is not None):
            raise ValueError(
                "there must be one kind of bound; give at_least and/or at_most, or near and tolerance"
            )
        return self

    @property
    def bounds(self) -> Bounds:
        """Where the mean must lie."""
        if self.near is None or self.tolerance is None:
            return Bounds(self.at_least, self.at_most)
        half = abs(self.near) * self.tolerance
        return Bounds(self.near - half, self.near + half)

    def decide(self, context: Context) -> Decision:
        """See the module."""
        selected = self.read(context, self.of)
        kpi = shown(self.quantity, context.study.measures)
        found = self.over_the_line(context, selected, self.of).within(kpi.least, kpi.most)
        return judged(
            found,
            self.bounds,
            what=described(self.label(context), self.under(context, self.of)),
            unit=kpi.shown_unit,
            factor=kpi.shown_factor,
            left_out=selected.left_out,
        )
