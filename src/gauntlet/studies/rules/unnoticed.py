"""unnoticed: in which share of the trials of a threat nobody noticed what it did to the application.

A trial is one session with one threatened message (`gauntlet.evidence`). Trials are independent by what is
drawn for each: when the session begins, which message is meant, which bits turn over. So the interval counts
trials and not repetitions, and copies of a trial once: Clopper and Pearson's (Biometrika 26, 1934), and where
none of N went unnoticed (or all did) one-sided, which at 95 % is the rule of three: at most 3/N.
"""

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field
from scipy.special import betaincinv

from gauntlet.errors import NotMeasured
from gauntlet.evidence.course import BY_TRANSPORT
from gauntlet.evidence.verdict import DISTURBED, INVALID, NOT_NOTICED, SIGNALLED, UNDISTURBED
from gauntlet.metrics.numbers import listed
from gauntlet.studies.decide import Context, Decision, Verdict
from gauntlet.studies.factors import factor_words
from gauntlet.studies.rules.base import Bounded, Selecting, described
from gauntlet.studies.select import Selection, check, same

KIND = "unnoticed"


class Rule(Bounded):
    """The share of trials under one selection, within bounds (0 to 1)."""

    experiment: str
    of: Selecting
    harms: list[Literal["changed", "repeated", "out of order", "late", "missing"]] = Field(
        default_factory=list
    )
    """Only trials in which the application suffered one of these count as unnoticed; none: any. What it was
    told of by its own checks counts all the same where `noticed_by` is the transport: what it refused it did
    not suffer.
    """
    noticed_by: Literal["anybody", "transport"] = "anybody"
    """transport: trials count as noticed only where the transport told, and before the application acted on
    what it should not have: what the application found by checks of its own was let through to it."""

    def selections(self) -> list[tuple[str, Selection]]:
        """See `Ruled.selections`."""
        return [(self.experiment, self.of)]

    def where(self, chosen: dict[str, Any]) -> Self:
        """See `Ruled.where`."""
        return self.model_copy(update={"of": {**self.of, **chosen}})

    def decide(self, context: Context) -> Decision:
        """See the module."""
        check(self.experiment, self.of, context.summary.factors(self.experiment))
        rows = [row for row in context.summary.trials(self.experiment).to_pylist() if self._meant(row)]
        invalid = sum(row["trials"] for row in rows if row["verdict"] == INVALID)
        said = [row for row in rows if row["verdict"] not in (INVALID, DISTURBED, UNDISTURBED)]
        count = sum(row["distinct"] for row in said)
        left_out = {"invalid": invalid, "copies": sum(row["trials"] for row in said) - count}
        if not count:
            raise NotMeasured(
                f"No valid trial of {self.experiment} with {self._named} is among these results."
            )
        unnoticed = sum(row["distinct"] for row in said if self._went_unnoticed(row))
        low, high = interval(unnoticed, count, context.alpha)
        least = 0.0 if self.at_least is None else self.at_least
        most = 1.0 if self.at_most is None else self.at_most
        verdict = Verdict.UNDECIDED
        if low >= least and high <= most:
            verdict = Verdict.REPRODUCED
        elif high < least or low > most:
            verdict = Verdict.NOT_REPRODUCED
        left = ", ".join(f"{n} {what}" for what, n in left_out.items() if n)
        reason = f"{unnoticed} of {count} trials" + (f"; left out: {left}" if left else "")
        return Decision(
            verdict=verdict,
            what=described(f"Trials that {self._nobody} noticed", self._under(context)),
            value=unnoticed / count,
            low=low,
            high=high,
            n=count,
            bound=self.bounds.words(100.0, "%"),
            unit="%",
            factor=100.0,
            reason=reason,
        )

    def _meant(self, row: Mapping[str, Any]) -> bool:
        return all(
            any(same(value, row[name]) for value in (wanted if isinstance(wanted, list) else [wanted]))
            for name, wanted in self.of.items()
        )

    def _went_unnoticed(self, row: Mapping[str, Any]) -> bool:
        if row["verdict"] == SIGNALLED:
            let_through = row["by"] != BY_TRANSPORT or row["accepted_before"]
            return self.noticed_by == BY_TRANSPORT and let_through
        suffered = not self.harms or bool(set(self.harms) & set(row["harms"].split(", ")))
        return row["verdict"] in NOT_NOTICED and suffered

    @property
    def _nobody(self) -> str:
        return "nobody" if self.noticed_by == "anybody" else "the transport has not"

    @property
    def _named(self) -> str:
        return ", ".join(f"{name} = {value}" for name, value in self.of.items()) or "anything"

    def _under(self, context: Context) -> str:
        words = [
            factor_words(context.summary, self.experiment, name, value)
            for name, wanted in self.of.items()
            for value in (wanted if isinstance(wanted, list) else [wanted])
        ]
        return listed([*words, *([f"of harms only {listed(list(self.harms))}"] if self.harms else [])])


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
