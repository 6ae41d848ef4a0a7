"""What the results say of a claim: reproduced, not reproduced or undecided (how: `gauntlet.studies.rules`).

A rule gives an interval of 95 % confidence, made from repetitions, and a bound that was written down before.
The whole interval on the claim's side of the bound: reproduced. The whole interval on the other side: not
reproduced. Anything else, and fewer than three repetitions: undecided. A value that cannot vary, because
nothing was drawn, has no interval and decides by itself.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf
from typing import Any, Protocol

from gauntlet.errors import NotMeasured
from gauntlet.metrics.adjusted import ADJUSTED
from gauntlet.metrics.ecdf import ALPHA
from gauntlet.metrics.intervals import DETERMINISTIC, Mean
from gauntlet.metrics.numbers import MISSING, bounding, interval_text, number
from gauntlet.metrics.selected import LeftOut
from gauntlet.studies.model import Study
from gauntlet.studies.power import Power, half_width, power
from gauntlet.studies.summary import Summary

FEWEST_REPETITIONS = 3
"""Below, an interval rests on one or two differences and says next to nothing: Student's t for two values
is 12.7 standard errors wide to each side.
"""


EXACT = "exact"
"""Method of a `Mean` that no repetition can change: a formula's value."""


TIMES = "times that "
"""How a ratio says what it is of."""

THAN = "than "
"""How a difference says from what."""

AT_MOST, AT_LEAST = "at most", "at least"
"""What a comparison is where one side did not end in any repetition: its limit stands for it, and nothing is
known of how far beyond the number the truth lies.
"""


OVER_THE_LINE = ", over the whole line"
"""What is said of a number that was freed of which stretches were drawn."""


class Verdict(StrEnum):
    """What is said of a claim."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Bounds:
    """Where a number must lie for the claim to hold; None: no limit on that side."""

    at_least: float | None = None
    at_most: float | None = None

    def verdict(self, mean: Mean) -> Verdict:
        """Compare a whole interval with the bounds."""
        if mean.low is None or mean.high is None:
            return Verdict.UNDECIDED
        least = float("-inf") if self.at_least is None else self.at_least
        most = float("inf") if self.at_most is None else self.at_most
        if mean.low >= least and mean.high <= most:
            return Verdict.REPRODUCED
        if mean.high < least or mean.low > most:
            return Verdict.NOT_REPRODUCED
        return Verdict.UNDECIDED

    def words(self, factor: float = 1.0, unit: str = "") -> str:
        """The bounds for people: at least 0.95; 0.9 to 1.1."""
        low, high = (None if end is None else number(end * factor) for end in (self.at_least, self.at_most))
        suffix = f" {unit}" if unit else ""
        if low is not None and high is not None:
            return f"{low} to {high}{suffix}"
        return f"at least {low}{suffix}" if low is not None else f"at most {high}{suffix}"


@dataclass(frozen=True)
class Decision:
    """A verdict and what it rests on. Numbers are in SI units; `unit` and `factor` say how they are shown."""

    verdict: Verdict
    what: str = ""
    """What was measured, for people: "Throughput, ratio"."""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    """Repetitions; 0 for a value of a formula."""
    bound: str = ""
    unit: str = ""
    factor: float = 1.0
    reason: str = ""
    """Why it is undecided, when the interval alone does not say so; what was left out."""
    power: Power | None = None
    """Of an undecided one, what could have been seen and what would decide."""
    parts: tuple["Decision", ...] = ()
    deterministic: bool = False
    """Whether all repetitions were the same one, since nothing was drawn: one observation, no interval."""
    exact: bool = False
    """Whether the value is no mean: a formula's, or the least or the greatest of the repetitions."""
    against: str = ""
    """Of a comparison, what its number is of, for people: times that with TCP Reno."""
    limited: str = ""
    """`AT_MOST` or `AT_LEAST` where the value is no mean but a bound on it."""
    together: int = 0
    """For how many parts at once its interval holds, where it allows for having looked at several."""
    chosen: str = ""
    """Of a claim of several parts, whose number is shown, for people."""

    def because(self, words: str) -> "Decision":
        """The same with more to say, first."""
        return replace(self, reason="; ".join(it for it in (words, self.reason) if it))

    @property
    def told(self) -> str:
        """All that is said besides the numbers."""
        return "; ".join(it for it in (self.reason, self.power.words if self.power else "") if it)

    @property
    def seen(self) -> str:
        """Which difference from the bound could have been seen, for people; empty without an interval."""
        if self.value is None:
            return ""
        if self.exact or self.deterministic:
            return "any difference"
        return half_width(Mean(self.value, self.low, self.high, self.n, ""), self.factor, self.unit)

    @property
    def shown(self) -> str:
        """The value for people, with its unit; a dash without one."""
        if self.value is None:
            return MISSING
        unit = f" {self.unit}" if self.unit else ""
        if self.limited:
            return f"{self.limited} {bounding(self.value * self.factor, up=self.limited == AT_MOST)}{unit}"
        exact = (self.exact or self.n == 0) and float(self.value * self.factor).is_integer()
        return number(self.value * self.factor, 0 if exact else None) + unit

    @property
    def interval(self) -> str:
        """The interval for people in the unit of `shown`; empty without one or without spread, and of a
        bound, whose spread says nothing of what lies beyond it.
        """
        if self.value is None or self.low == self.high or self.limited:
            return ""
        return interval_text(Mean(self.value, self.low, self.high, self.n, ""), self.factor)

    @property
    def confidence(self) -> str:
        """What the interval holds at, for people."""
        if not self.together:
            return "95 %"
        return f"95 % for {'both' if self.together == 2 else f'all {self.together}'} parts at once"

    @property
    def measured(self) -> str:
        """Value and interval for people: 0.973 [0.961 to 0.985]."""
        return f"{self.shown} [{self.interval}]" if self.interval else self.shown

    @property
    def compared(self) -> str:
        """The value for people with what it is compared to: 0.0867 times that with TCP Reno; a difference
        says which way it goes: 1.03 s more than with TCP Reno.
        """
        if not self.against or self.value is None:
            return self.shown
        against = self.against + {AT_MOST: ", of which none ended", AT_LEAST: ", and none ended"}.get(
            self.limited, ""
        )
        if against.startswith(TIMES):
            return f"{self.shown} {against}"
        if self.value >= 0:
            return f"{self.shown} more {against}"
        turned = {AT_MOST: AT_LEAST, AT_LEAST: AT_MOST}.get(self.limited, "")
        return f"{replace(self, value=-self.value, limited=turned).shown} less {against}"

    def to_json(self) -> dict[str, Any]:
        """Plain data, as verdicts.json holds it."""
        return {
            "verdict": str(self.verdict),
            "what": self.what,
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "n": self.n,
            "deterministic": self.deterministic,
            "bound": self.bound,
            "measured": self.measured,
            "reason": self.told,
            "parts": [part.to_json() for part in self.parts],
        }


@dataclass(frozen=True)
class Context:
    """What a rule decides from."""

    study: Study
    summary: Summary
    alpha: float = ALPHA
    adjusted: tuple[str, ...] = ()
    """Quantities that the ledger wants freed of which stretches were drawn (`gauntlet.studies.capacity`)."""

    def stricter(self, times: int) -> "Context":
        """The same for one of several decisions of which none may go wrong (Bonferroni)."""
        return replace(self, alpha=self.alpha / times)


class Rule(Protocol):
    """How a claim is decided."""

    def decide(self, context: Context) -> Decision:
        """Raises NotMeasured when the results lack what it needs, UserError when that cannot be."""


def judged(
    mean: Mean,
    bounds: Bounds,
    *,
    what: str,
    unit: str = "",
    factor: float = 1.0,
    left_out: LeftOut | None = None,
    against: str = "",
    limited: str = "",
) -> Decision:
    """The decision that an interval and bounds make.

    A formula's value is exact, and so is one that every repetition gave because nothing was drawn: it decides
    by itself, for just these settings. Of a number that is `limited` the truth may be anything beyond it.
    """
    reason = left_out.words if left_out else ""
    deterministic = mean.method == DETERMINISTIC
    exact = mean.method == EXACT or deterministic
    point = replace(mean, low=mean.value, high=mean.value)
    verdict = bounds.verdict(_open(point if exact else mean, limited))
    if deterministic:
        alike = "deterministic: nothing was drawn, so all repetitions are the same"
        reason = f"{alike}; {reason}" if reason else alike
    could = None
    if limited and Verdict.UNDECIDED == verdict == bounds.verdict(_open(point, limited)):
        either = f"what is {limited} this may fulfil the claim or not, however often it is repeated"
        reason = f"{either}; {reason}" if reason else either
    elif verdict == Verdict.UNDECIDED and mean.n >= FEWEST_REPETITIONS:
        could = power(mean, bounds.at_least, bounds.at_most, factor, unit)
    if mean.n < FEWEST_REPETITIONS and not exact:
        verdict = Verdict.UNDECIDED
        few = f"too few repetitions: {mean.n}, and at least {FEWEST_REPETITIONS} are needed"
        reason = f"{few}; {reason}" if reason else few
    return Decision(
        verdict=verdict,
        what=what + OVER_THE_LINE if mean.method == ADJUSTED else what,
        value=mean.value,
        low=mean.low,
        high=mean.high,
        n=mean.n,
        bound=bounds.words(factor, unit),
        unit=unit,
        factor=factor,
        reason=reason,
        power=could,
        deterministic=deterministic,
        exact=mean.method == EXACT,
        against=against,
        limited=limited,
    )


def _open(mean: Mean, limited: str) -> Mean:
    """The same with an interval that has no end on the side on which the number is only a bound."""
    if limited == AT_MOST:
        return replace(mean, low=-inf)
    return replace(mean, high=inf) if limited == AT_LEAST else mean


def decided(rule: Rule, context: Context) -> Decision:
    """The rule's decision; undecided, with the reason, when the results lack what it needs."""
    try:
        return rule.decide(context)
    except NotMeasured as missing:
        return Decision(Verdict.UNDECIDED, reason=str(missing))
