"""all: several rules that must all hold, or one rule for each value of some factors.

Reproduced when every part is. Not reproduced when one part is not, at a confidence that allows for having
looked at several (Bonferroni); a single part that fails by chance shall not sink the claim. Else undecided.
What is said counts the parts that hold, each judged alone, and those that fail at that confidence.
The number shown is that of the part that decides: the first that fails, with an interval at that confidence,
else the first that is undecided, else the first.
"""

import itertools
from dataclasses import replace
from typing import Any

from pydantic import Field, ValidationError, model_validator

from gauntlet.experiment.strict import sentence
from gauntlet.studies.decide import Context, Decision, Verdict, decided
from gauntlet.studies.model import Study
from gauntlet.studies.power import of_all
from gauntlet.studies.rules.base import Ruled
from gauntlet.studies.select import Selection

KIND = "all"


class Rule(Ruled):
    """parts, each a rule; or part with for_each = { factor = [values] } or a list of sets of factors."""

    parts: list[dict[str, Any]] = Field(default_factory=list)
    part: dict[str, Any] | None = None
    for_each: dict[str, list[Any]] | list[dict[str, Any]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _complete(self) -> "Rule":
        if (self.part is None) != (not self.for_each):
            raise ValueError("part and for_each belong together; give both, or parts instead")
        if bool(self.parts) == (self.part is not None):
            raise ValueError("give either parts, or part and for_each")
        try:
            count = len(self.rules())
        except ValidationError as error:
            raise ValueError(f"a part: {sentence(error, lambda at: ', '.join(map(str, at)))}") from None
        if count < 2:
            raise ValueError("all needs two parts or more; use the one rule itself")
        return self

    def rules(self) -> list[Ruled]:
        """The parts as rules."""
        from gauntlet.studies.rules import rule

        if self.part is None:
            return [rule(part) for part in self.parts]
        if isinstance(self.for_each, list):
            return [rule(self.part).where(chosen) for chosen in self.for_each]
        every = itertools.product(*self.for_each.values())
        return [rule(self.part).where(dict(zip(self.for_each, values, strict=True))) for values in every]

    def selections(self) -> list[tuple[str, Selection]]:
        """Those of all parts."""
        return [it for rule in self.rules() for it in rule.selections()]

    def check(self, study: Study) -> None:
        """Every part's."""
        for rule in self.rules():
            rule.check(study)

    def experiments(self, study: Study) -> tuple[str, ...]:
        """Those of all parts."""
        return tuple(dict.fromkeys(name for rule in self.rules() for name in rule.experiments(study)))

    def files(self, study: Study) -> tuple[str, ...]:
        """Those of all parts."""
        return tuple(sorted({name for rule in self.rules() for name in rule.files(study)}))

    def own(self, study: Study) -> bool:
        """Whether any part does."""
        return any(rule.own(study) for rule in self.rules())

    def decide(self, context: Context) -> Decision:
        """See the module."""
        rules = self.rules()
        parts = tuple(decided(rule, context) for rule in rules)
        strict = [decided(rule, context.stricter(len(rules))) for rule in rules]
        failed = [part for part in strict if part.verdict == Verdict.NOT_REPRODUCED]
        open_ = [
            _open(alone, one, len(rules))
            for alone, one in zip(parts, strict, strict=True)
            if alone.verdict != Verdict.REPRODUCED
        ]
        could = None
        if failed:
            shown, verdict = replace(failed[0], together=len(rules)), Verdict.NOT_REPRODUCED
            chosen = "the first part that fails"
        elif open_:
            shown, verdict = open_[0], Verdict.UNDECIDED
            chosen = "the first part that is open"
            could = of_all(shown.power, [part.power for part in open_])
        else:
            shown, verdict, chosen = parts[0], Verdict.REPRODUCED, "the first part"
        held = sum(part.verdict == Verdict.REPRODUCED for part in parts)
        reason = "" if shown.value is None else f"{held} of {len(parts)} parts hold"
        if reason and failed:
            reason += f", {len(failed)} {'fails' if len(failed) == 1 else 'fail'}"
        return replace(shown, verdict=verdict, parts=parts, power=could, chosen=chosen).because(reason)


def _open(alone: Decision, strict: Decision, parts: int) -> Decision:
    """A part as it leaves the claim undecided; one that fails, or would, says what it lacks to fail where
    others are looked at, too.
    """
    if alone.verdict != Verdict.NOT_REPRODUCED and (alone.power is None or alone.power.holds):
        return alone
    could = strict.power.one_of(parts) if strict.power else None
    if alone.verdict != Verdict.NOT_REPRODUCED:
        return replace(alone, power=could)
    return replace(alone, power=could).because(f"fails alone, but not where {parts} are looked at")
