"""expression: what an expression over several selections comes to, within bounds.

Each term is a quantity under a selection, one number a repetition; the expression is worked out in every
repetition that has all terms, and the mean over repetitions is held against the bounds. Without terms it is a
formula: its value is exact. `average_over` works it out for each of several sets of factors and averages
them, repetition by repetition.
"""

import re
from typing import Any, Literal, Self

from pydantic import Field, PrivateAttr, field_validator, model_validator

from gauntlet.errors import NotMeasured, UserError
from gauntlet.experiment.strict import Strict, unknown_key
from gauntlet.studies.arithmetic import BUILT_IN, Evaluator, Series, Value, averaged, ended
from gauntlet.studies.decide import Context, Decision, judged
from gauntlet.studies.expression import BadExpression, Call, Name, Tree, parse, parts
from gauntlet.studies.model import Study
from gauntlet.studies.plugin import PLUGIN
from gauntlet.studies.rules.base import Bounded, Measuring, Selecting, described
from gauntlet.studies.select import Selection

KIND = "expression"


class Term(Strict):
    """A quantity under a selection; experiment and kpi are the rule's unless given."""

    of: Selecting = Field(default_factory=dict)
    experiment: str | None = None
    kpi: str | None = None
    quantile: float | None = Field(default=None, ge=0, le=1)
    over_flows: Literal["mean", "sum", "min", "max"] = "mean"


class Rule(Bounded):
    """value, an expression over terms, within bounds."""

    value: str
    what: str
    """What the number is, for people."""
    unit: str = ""
    experiment: str | None = None
    kpi: str | None = None
    of: Selecting = Field(default_factory=dict)
    """Factors of every term."""
    terms: dict[str, Term] = Field(default_factory=dict)
    average_over: list[Selecting] = Field(default_factory=list)
    _given: dict[str, Any] = PrivateAttr(default_factory=dict)
    """Factors that for_each gave."""

    @field_validator("value")
    @classmethod
    def _parses(cls, text: str) -> str:
        parse(text)
        return text

    @model_validator(mode="after")
    def _terms_fit(self) -> Self:
        used = {it.name: it for it in parts(self.tree) if isinstance(it, Name)}
        for name, place in used.items():
            if name not in self.terms:
                there = unknown_key(name, self.terms or ["none"]).replace("key", "term")
                raise ValueError(f"value, {BadExpression(place.at, there)}")
        for name, term in self.terms.items():
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
                raise ValueError(f"the name of the term '{name}' must be letters, digits and _")
            if name not in used:
                raise ValueError(f"the term '{name}' is not in the expression; use it or leave it out")
            for key in ("experiment", "kpi"):
                if getattr(term, key) is None and getattr(self, key) is None:
                    raise ValueError(f"the term '{name}' has no {key}; give it there or for all terms")
            self._measuring(term)
        if self.average_over and not self.terms:
            raise ValueError("average_over needs terms, and there is none")
        return self

    @property
    def tree(self) -> Tree:
        """The expression."""
        return parse(self.value)

    @property
    def calls(self) -> list[Call]:
        """Its calls of functions that are the study's own."""
        return [it for it in parts(self.tree) if isinstance(it, Call) and it.name not in BUILT_IN]

    def selections(self) -> list[tuple[str, Selection]]:
        """Those of all terms."""
        return [
            (str(chosen.get("experiment", self._measuring(term).experiment)), chosen)
            for more in self.average_over or [{}]
            for term in self.terms.values()
            for chosen in [{**self.of, **term.of, **more}]
        ]

    def where(self, chosen: dict[str, Any]) -> Self:
        """The same with these factors in every term."""
        if not self.terms:
            raise ValueError("for_each works with rules that have selections, and this one has none")
        one = self.model_copy(update={"of": {**self.of, **chosen}})
        one._given = {**self._given, **chosen}
        return one

    def check(self, study: Study) -> None:
        """See `Ruled.check`."""
        for term in self.terms.values():
            self._measuring(term).check(study)
        for call in self.calls:
            if call.name not in study.plugin.functions and not study.plugin.withheld:
                known = ", ".join([*BUILT_IN, *study.plugin.functions])
                words = BadExpression(call.at, f"there is no function '{call.name}'; there are {known}.")
                raise UserError(f"value, {words}")

    def own(self, study: Study) -> bool:
        """See `Ruled.own`."""
        return bool(self.calls) or any(self._measuring(it).own(study) for it in self.terms.values())

    def decide(self, context: Context) -> Decision:
        """See the module."""
        plugin = context.study.plugin
        if self.calls and plugin.withheld:
            raise NotMeasured(f"It needs {self.calls[0].name}() of the study's {PLUGIN}, which was not run.")
        self.check(context.study)
        try:
            each = [self._worked_out(context, more) for more in self.average_over or [{}]]
            found, words = ended(each[0] if len(each) == 1 else averaged(each), context.alpha)
        except BadExpression as error:
            raise UserError(f"value, {error}.") from None
        given = (
            self._measuring(next(iter(self.terms.values()))).under(context, self._given)
            if self._given
            else ""
        )
        what = described(self.what, given)
        return judged(found, self.bounds, what=what, unit=self.unit).because(words)

    def _worked_out(self, context: Context, more: dict[str, Any]) -> Value:
        terms = {}
        for name, term in self.terms.items():
            selected = self._measuring(term).read(context, {**self.of, **term.of, **more})
            selected.check()
            terms[name] = Series(selected.values, selected.deterministic, selected.left_out)
        return Evaluator(terms, context.study.plugin.functions, context.alpha).value(self.tree)

    def _measuring(self, term: Term) -> Measuring:
        return Measuring(
            experiment=term.experiment or self.experiment or "",
            kpi=term.kpi or self.kpi or "",
            quantile=term.quantile,
            over_flows=term.over_flows,
        )
