"""comparison: a quantity under one selection against another, paired by repetition.

The ratio (or difference) `this` over `that` is taken in each repetition, which both rode on the same stretch,
and its mean's interval is held against the bounds. The mean of ratios is the geometric one; where a side is
zero in some repetition it is the ratio of the means, and the verdict says so (`gauntlet.metrics.ratios`).
Where none of one side came to its end, its limit stands for it, and the number is a bound, is shown as one
and decides only what a bound can; where none of either did, both are limits and nothing is compared.
With both bounds the claim is one of equivalence: the whole interval must lie inside the band.
"""

from functools import partial
from math import log
from typing import Any, Literal, Self

import numpy as np

from gauntlet.errors import NotMeasured
from gauntlet.metrics.adjusted import adjusted
from gauntlet.metrics.intervals import Mean, the_same
from gauntlet.metrics.quantity import shown
from gauntlet.metrics.ratios import ratio
from gauntlet.metrics.selected import LeftOut, Selected
from gauntlet.studies.decide import AT_LEAST, AT_MOST, THAN, TIMES, Context, Decision, judged
from gauntlet.studies.rules.base import Bounded, Measuring, Selecting, described
from gauntlet.studies.select import Selection

KIND = "comparison"
_ALL = "all"


class Rule(Bounded, Measuring):
    """this over that (or less that), within bounds."""

    this: Selecting
    that: Selecting
    measure: Literal["ratio", "difference"] = "ratio"

    def selections(self) -> list[tuple[str, Selection]]:
        """Both sides."""
        return [(str(it.get("experiment", self.experiment)), it) for it in (self.this, self.that)]

    def where(self, chosen: dict[str, Any]) -> Self:
        """The same with these factors on both sides."""
        return self.model_copy(update={"this": {**self.this, **chosen}, "that": {**self.that, **chosen}})

    def decide(self, context: Context) -> Decision:
        """See the module."""
        one, other = self.read(context, self.this), self.read(context, self.that)
        paired, left_out, zeros = self._paired(context, one, other)
        kpi = shown(self.quantity, context.study.measures)
        difference = self.measure == "difference"
        limited = {(True, False): AT_LEAST, (False, True): AT_MOST}.get((one.at_limit, other.at_limit), "")
        side = "first" if limited == AT_LEAST else "second"
        bound = f"none of the {side} came to its end, so its limit stands for it" if limited else ""
        return judged(
            paired,
            self.bounds,
            what=described(f"{self.label(context)}, {self._sides(context)}", self._shared(context)),
            unit=kpi.shown_unit if difference else "",
            factor=kpi.shown_factor if difference else 1.0,
            left_out=left_out,
            against=f"{THAN if difference else TIMES}{self._against(context)}",
            limited=limited,
        ).because("; ".join(it for it in (zeros, bound) if it))

    def _against(self, context: Context) -> str:
        """What it is compared to, in a sentence: "with TCP BBR", "over HTTP/3", "in quiet"."""
        that = self._apart(context)[1]
        one, other = (str(it.get("experiment", self.experiment)) for it in (self.this, self.that))
        if that == _ALL and one != other:
            return f"in {other}"
        return that if that.startswith("over ") else f"with {that}"

    def _sides(self, context: Context) -> str:
        """What differs between the two: "loss 1 % relative to loss 0 %"."""
        word = "minus" if self.measure == "difference" else "relative to"  # "over" is in names of protocols
        this, that = self._apart(context)
        return f"{this or self.measure} {word} {that}"

    def _apart(self, context: Context) -> tuple[str, str]:
        """Each side's factors that the other does not share; of the second "all" where it has none."""
        this, that = (
            {name: value for name, value in one.items() if name not in other or other[name] != value}
            for one, other in ((self.this, self.that), (self.that, self.this))
        )
        return self.under(context, this), self.under(context, that) or _ALL

    def _shared(self, context: Context) -> str:
        same = {name: value for name, value in self.this.items() if self.that.get(name) == value}
        return self.under(context, same)

    def _paired(self, context: Context, one: Selected, other: Selected) -> tuple[Mean, LeftOut, str]:
        """The mean over repetitions of the ratio or difference, and what is to be said of zeros.

        Raises NotMeasured without a pair, where both sides are only limits, and where the lower side of a
        ratio is zero throughout.
        """
        one.check()
        other.check()
        shared = sorted(one.values.keys() & other.values.keys())
        left_out = one.left_out + other.left_out
        if one.at_limit and other.at_limit:
            raise NotMeasured(
                f"{self.experiment}: {self.kpi}: none of either side came to its end, so there are only "
                f"limits to compare ({left_out.words})."
            )
        if not shared:
            reason = left_out.words or "no repetition has both sides"
            raise NotMeasured(f"{self.experiment}: no pair of {self.kpi} can be compared ({reason}).")
        these, those = ([it.values[number] for number in shared] for it in (one, other))
        sides = [self.this, self.that]
        if self.measure == "difference":
            columns = self.covariates(context, sides, shared)
            found: Mean | None = adjusted(np.subtract(these, those), columns, context.alpha)
            zeros = ""
        else:
            of_logarithms = partial(self.covariates, context, sides, shared, log)
            ratios = ratio(these, those, context.alpha, of_logarithms)
            found, zeros = ratios.mean, ratios.words
        if found is None:
            raise NotMeasured(f"{self.experiment}: {self.kpi}: {zeros}.")
        alike = one.deterministic and other.deterministic
        return the_same(found.value) if alike else found, left_out, zeros
