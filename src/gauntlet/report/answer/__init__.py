"""The answer in sentences, made from the numbers by rules that the report prints beside them (`RULES`)."""

from collections.abc import Callable
from dataclasses import replace

from gauntlet.metrics.flow_rows import TRANSFERS
from gauntlet.metrics.numbers import named
from gauntlet.report.answer.asked import asked
from gauntlet.report.answer.choice import choice
from gauntlet.report.answer.classes import classes
from gauntlet.report.answer.cost import costs
from gauntlet.report.answer.delays import quickest
from gauntlet.report.answer.depends import depends
from gauntlet.report.answer.failures import failures
from gauntlet.report.answer.losses import losses
from gauntlet.report.answer.measured import measured
from gauntlet.report.answer.rules import RULES
from gauntlet.report.answer.winner import winner
from gauntlet.report.answer.wording import Sentence
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.threats import Threats

__all__ = ["BY_VERDICTS", "RULES", "Sentence", "asked", "further", "opening", "sentences"]

BY_VERDICTS = Sentence(
    "Which protocol?",
    "None is named: what a protocol carries, and how fast, does not say who noticed a threat.",
    "The verdicts say it: Threats has them by protocol and threat.",
)
"""The answer of flows of the application safety."""


def opening(evaluation: Evaluation, threats: Threats | None) -> list[Sentence]:
    """What a report begins with: which setting to take, where settings are varied for flows that are asked
    something, and the answer to what was asked; where nothing is asked, who is best, and of
    flows over one protocol what was measured. `threats` are the verdicts on flows of safety.
    """
    if found := asked(evaluation):
        return _sure(evaluation, [*choice(evaluation), *found])
    if threats is not None and threats.overview:
        return [Sentence("What came of the threats?", threats.overview), BY_VERDICTS]
    return _sure(evaluation, _gathered(evaluation, lambda part: _of_part(part)[:1]))


def _sure(evaluation: Evaluation, found: list[Sentence]) -> list[Sentence]:
    """With what so few repetitions are worth behind the first sentence, where none says it."""
    few = evaluation.too_few if _concludes(evaluation) else ""
    if not few or any(few in it.text for it in found):
        return found
    return [*found[:1], Sentence("How sure is that?", f"{few}."), *found[1:]]


def further(evaluation: Evaluation) -> list[Sentence]:
    """What the numbers say besides what a report begins with."""
    if not asked(evaluation):
        return _gathered(evaluation, lambda part: _of_part(part)[1:]) if _concludes(evaluation) else []
    return [*classes(evaluation), *_gathered(evaluation, _besides)]


def _besides(part: Evaluation) -> list[Sentence]:
    """What the answer to what was asked has not said. Who has the best mean is told only where all keep what
    is asked alike: two rankings by two rules would be two answers.
    """
    return _of_part(part, compared=part.asked is None or (len(part.styles) > 1 and _alike(part)))


def _alike(part: Evaluation) -> bool:
    """Whether flows over all protocols keep what is asked of them as often, under each condition."""
    return all(len({part.kept(style.key, it) for style in part.styles}) == 1 for it in part.conditions)


def sentences(evaluation: Evaluation) -> list[Sentence]:
    """The statements that the evaluation's numbers support, the most important first; where flows have
    different work, those of each kind of flows.
    """
    return _gathered(evaluation, _of_part)


def _gathered(evaluation: Evaluation, of: Callable[[Evaluation], list[Sentence]]) -> list[Sentence]:
    """What is said of each kind of flows, with their name; of none where nothing can be concluded."""
    if not _concludes(evaluation):
        why = (
            "No run can be trusted, so no conclusion is drawn" if evaluation.kpis else "No run gave a number"
        )
        return [Sentence("Result", f"{why}: see Trust for the reasons.")]
    found: dict[Sentence, list[str]] = {}
    for part in evaluation.parts:
        if not part.background:
            for sentence in of(part.by_itself):
                found.setdefault(sentence, []).append(part.subject)
    # What is said of several alike is said once.
    return [
        replace(it, question=f"{it.question} ({named(whose)})") if all(whose) else it
        for it, whose in found.items()
    ]


def _concludes(evaluation: Evaluation) -> bool:
    return any(row.trusted for row in evaluation.rows) and bool(evaluation.kpis)


def _of_part(evaluation: Evaluation, *, compared: bool = True) -> list[Sentence]:
    """What is said of flows with the same work; `compared`: also who is best, or what was measured of one
    protocol.
    """
    if evaluation.of_safety:
        return [BY_VERDICTS]
    kpi = evaluation.main_kpi
    if kpi is None or not any(row.trusted and row.observed(kpi) for row in evaluation.rows):
        return [Sentence("Which protocol?", "No trusted run gave a number, so none is named.")]
    found: list[Sentence] = []
    if compared:
        first = winner(evaluation, kpi) if len(evaluation.styles) > 1 else measured(evaluation, kpi)
        found += [first, *depends(evaluation, kpi)]
    found += failures(evaluation)
    found += [
        cost for factor in evaluation.factors if factor.numeric for cost in costs(evaluation, kpi, factor)
    ]
    for other in evaluation.kpis:
        if other.name == "delay_p95_s" and not kpi.of_tail and not evaluation.apps & TRANSFERS:
            found += quickest(evaluation, other)
        if other.name == "message_loss_ratio":
            found += losses(evaluation, other)
    return found
