"""prediction: a single value that the study prints could have come from runs like ours.

A study that played `runs` runs and printed their mean gives a number with a spread of its own, which it does
not print. The rule asks whether the number lies in the prediction interval of a mean of so many further runs,
from the spread of our repetitions (Student's t; Hahn and Meeker, Statistical Intervals, 1991, section 4.2),
or no further from it than `rounded`: what is printed is rounded to its last digit. Where the study says
"about", this is enough, too: no further from our mean than `about`, a share of the printed value. An interval
that reaches further from our mean than `widest`, such a share, tells nothing: undecided.
"""

from math import ceil, hypot, sqrt

import numpy as np
from pydantic import Field
from scipy.special import stdtrit

from gauntlet.metrics.adjusted import ADJUSTED
from gauntlet.metrics.intervals import Mean
from gauntlet.metrics.numbers import number
from gauntlet.metrics.quantity import shown
from gauntlet.metrics.selected import Selected
from gauntlet.studies.decide import FEWEST_REPETITIONS, Context, Decision, Verdict
from gauntlet.studies.power import MOST_TIMES, Power
from gauntlet.studies.rules.base import MeasuringOne, described

KIND = "prediction"


class Rule(MeasuringOne):
    """What the study prints, in SI units, and the mean of how many runs it was."""

    printed: float
    runs: int = Field(default=1, ge=1)
    rounded: float = Field(default=0.0, ge=0)
    """How far the study's own number may lie from what is printed: half of the last digit."""
    about: float = Field(default=0.0, ge=0)
    widest: float = Field(default=0.5, gt=0)

    def _bound(self, factor: float, unit: str) -> str:
        """2.00 Mbit/s lies inside, or a mean of 1.60 to 2.40 Mbit/s."""

        def value(share: float) -> str:
            return number(self.printed * share * factor)

        lies = f"{value(1)}{unit} lies inside"
        near = f", or a mean of {value(1 - self.about)} to {value(1 + self.about)}{unit}"
        return lies + (near if self.about else "")

    def _predicted(self, context: Context, selected: Selected) -> tuple[float, float, float]:
        """Where further means lie, and what makes up how far to either side: our own mean is not known better
        than its interval, and theirs scatters as our repetitions do, for nobody knows which stretches they
        rode.
        """
        values = np.array(list(selected.values.values()))
        reach = float(stdtrit(values.size - 1, 1 - context.alpha / 2)) * float(values.std(ddof=1))
        known = self.over_the_line(context, selected, self.of)
        ours = reach / sqrt(values.size)
        if known.method == ADJUSTED and known.high is not None:
            ours = known.high - known.value
        return known.value, ours, reach / sqrt(self.runs)

    def _power(self, seen: str, ours: float, theirs: float, n: int) -> Power:
        """What would make an interval narrow enough to tell something: more repetitions, unless the study's
        own runs scatter that much.
        """
        room = (self.widest * abs(self.printed)) ** 2 - theirs**2
        times = ours**2 / room if room > 0 else float("inf")
        needed = ceil(n * times) if times <= MOST_TIMES else None
        scatter = f"means of {self.runs} runs" if self.runs > 1 else "single runs"
        return Power(seen, True, n, needed, f"{scatter} scatter as much by themselves")

    def decide(self, context: Context) -> Decision:
        """See the module."""
        selected = self.read(context, self.of)
        selected.check()
        kpi = shown(self.quantity, context.study.measures)
        values = np.array(list(selected.values.values()))
        centre, n = float(values.mean()), values.size
        unit = f" {kpi.shown_unit}" if kpi.shown_unit else ""
        found = Mean(centre, None, None, int(n), "none")
        reason, could = selected.left_out.words, None
        if selected.deterministic:
            verdict, why = (
                Verdict.UNDECIDED,
                "deterministic: nothing was drawn, so there is no spread to predict from",
            )
        elif n < FEWEST_REPETITIONS:
            verdict, why = (
                Verdict.UNDECIDED,
                f"too few repetitions: {n}, and at least {FEWEST_REPETITIONS} are needed",
            )
        else:
            centre, ours, theirs = self._predicted(context, selected)
            half = hypot(ours, theirs)
            found = Mean(centre, centre - half, centre + half, int(n), "prediction").within(
                kpi.least, kpi.most
            )
            near = self.about * abs(self.printed)
            inside = abs(self.printed - centre) <= max(half + self.rounded, near)
            verdict = Verdict.REPRODUCED if inside else Verdict.NOT_REPRODUCED
            what = "a run" if self.runs == 1 else f"a mean of {self.runs} runs"
            why = f"{what} that is {number(half * kpi.shown_factor)}{unit} off would be seen"
            if inside and half > self.widest * abs(self.printed):
                verdict, could, why = Verdict.UNDECIDED, self._power(why, ours, theirs, n), ""
        return Decision(
            verdict=verdict,
            what=described(self.label(context), self.under(context, self.of)) + ", prediction",
            value=centre,
            low=found.low,
            high=found.high,
            n=int(n),
            bound=self._bound(kpi.shown_factor, unit),
            unit=kpi.shown_unit,
            factor=kpi.shown_factor,
            reason="; ".join(it for it in (why, reason) if it),
            power=could,
            deterministic=selected.deterministic,
        )
