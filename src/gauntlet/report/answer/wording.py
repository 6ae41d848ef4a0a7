"""A sentence of the answer, and words that several of its questions share."""

from collections.abc import Mapping
from dataclasses import dataclass

from gauntlet.metrics.intervals import Mean
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.numbers import number, with_unit
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.subjects import own_stacks


@dataclass(frozen=True)
class Sentence:
    """One statement and the question that it answers."""

    question: str
    lead: str
    """What a reader in a hurry needs; the page prints it large."""
    rest: str = ""

    @property
    def text(self) -> str:
        """All of it."""
        return f"{self.lead} {self.rest}".rstrip()


def capital(text: str) -> str:
    """With a capital at its beginning."""
    return text[:1].upper() + text[1:]


def which(evaluation: Evaluation) -> str:
    """The question that a choice answers: of stacks of the experiment's own they are no protocols."""
    return "Which stack?" if own_stacks(style.key for style in evaluation.styles) else "Which protocol?"


def under_all(count: int) -> str:
    """Under all so many conditions; nothing to say where there is but one."""
    return {1: "", 2: " under both conditions"}.get(count, f" under all {count} conditions")


def value_words(evaluation: Evaluation, kpi: Kpi, key: str, means: Mapping[str, Mean]) -> str:
    """A protocol's mean for a sentence; where flows did not end, with what they count as."""
    limits = [evaluation.cells(kpi, condition)[key].limit for condition in evaluation.conditions]
    known = [it for it in limits if it is not None]
    if not known:
        return with_unit(kpi, means[key])
    most = f"up to {number(max(known) * kpi.shown_factor)} {kpi.shown_unit}"
    return f"≥ {with_unit(kpi, means[key])} (what did not end counts {most})"


def completed_of(evaluation: Evaluation, key: str) -> tuple[int, int]:
    """Completed flows and all flows over the conditions."""
    each = [evaluation.done(key, condition) for condition in evaluation.conditions]
    return sum(done for done, _ in each), sum(of for _, of in each)


def counts_words(evaluation: Evaluation, key: str) -> str:
    """How many flows completed, before a number, where not all did."""
    done, of = completed_of(evaluation, key)
    return f"{done} of {of} completed, " if done < of else ""
