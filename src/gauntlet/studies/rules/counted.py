"""What rules that count trials share: which rows of a summary they read, and a share of trials within bounds.

A trial is one session with one threatened message (`gauntlet.evidence`). Trials are independent by what is
drawn for each: when the session begins, which message is meant, which bits turn over. So the interval counts
trials and not repetitions, and copies of a trial once: Clopper and Pearson's (Biometrika 26, 1934), and where
none of N did it (or all did) one-sided, which at 95 % is the rule of three: at most 3/N.
"""

from collections.abc import Mapping
from typing import Any, Self

from scipy.special import betaincinv

from gauntlet.errors import NotMeasured
from gauntlet.metrics.numbers import listed
from gauntlet.studies.decide import Context, Decision, Verdict
from gauntlet.studies.factors import factor_words
from gauntlet.studies.rules.base import Bounded, Selecting, described
from gauntlet.studies.select import Selection, check, same


class Counting(Bounded):
    """A share of the trials under one selection, within bounds (0 to 1)."""

    experiment: str
    of: Selecting

    def selections(self) -> list[tuple[str, Selection]]:
        """See `Ruled.selections`."""
        return [(self.experiment, self.of)]

    def where(self, chosen: dict[str, Any]) -> Self:
        """See `Ruled.where`."""
        return self.model_copy(update={"of": {**self.of, **chosen}})

    def rows(self, context: Context) -> list[dict[str, Any]]:
        """The rows of the summary under the selection."""
        check(self.experiment, self.of, context.summary.factors(self.experiment))
        return [row for row in context.summary.trials(self.experiment).to_pylist() if self._meant(row)]

    def share(
        self, context: Context, counts: tuple[int, int], noun: str, what: str, left_out: Mapping[str, int]
    ) -> Decision:
        """Whether the first of two `counts` of the second, told by their `noun`, lies within the bounds.
        `what` says for people of what the share is; `left_out`, by name, what is not counted. Raises
        NotMeasured when it is of none.
        """
        successes, of = counts
        if not of:
            named = ", ".join(f"{name} = {value}" for name, value in self.of.items()) or "anything"
            raise NotMeasured(f"No {noun} of {self.experiment} with {named} is among these results.")
        low, high = interval(successes, of, context.alpha)
        least = 0.0 if self.at_least is None else self.at_least
        most = 1.0 if self.at_most is None else self.at_most
        verdict = Verdict.UNDECIDED
        if low >= least and high <= most:
            verdict = Verdict.REPRODUCED
        elif high < least or low > most:
            verdict = Verdict.NOT_REPRODUCED
        left = ", ".join(f"{n} {name}" for name, n in left_out.items() if n)
        reason = f"{successes} of {of} {noun}s" + (f"; left out: {left}" if left else "")
        return Decision(
            verdict=verdict,
            what=described(what, listed(self.under(context))),
            value=successes / of,
            low=low,
            high=high,
            n=of,
            bound=self.bounds.words(100.0, "%"),
            unit="%",
            factor=100.0,
            reason=reason,
        )

    def under(self, context: Context) -> list[str]:
        """The selection for people, part by part."""
        return [
            factor_words(context.summary, self.experiment, name, value)
            for name, wanted in self.of.items()
            for value in (wanted if isinstance(wanted, list) else [wanted])
        ]

    def _meant(self, row: Mapping[str, Any]) -> bool:
        return all(
            any(same(value, row[name]) for value in (wanted if isinstance(wanted, list) else [wanted]))
            for name, wanted in self.of.items()
        )


def interval(successes: int, trials: int, alpha: float) -> tuple[float, float]:
    """The exact interval of a share; one-sided where it is 0 or 1."""
    if successes == 0:
        return 0.0, 1.0 - alpha ** (1.0 / trials)
    if successes == trials:
        return alpha ** (1.0 / trials), 1.0
    failures = trials - successes
    low = betaincinv(successes, failures + 1, alpha / 2)
    high = betaincinv(successes + 1, failures, 1 - alpha / 2)
    return float(low), float(high)
