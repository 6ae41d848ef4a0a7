"""Does the choice depend on the condition? Who is best where, by one factor's values if they suffice."""

from collections.abc import Sequence

from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.numbers import counted, named
from gauntlet.report.answer.wording import Sentence
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.factors import Condition

MOST = 6
"""Conditions that are named one by one; of more the table tells."""


def depends(evaluation: Evaluation, kpi: Kpi) -> list[Sentence]:
    """Which protocols are best, or not distinguishable from the best, under which conditions. Nothing is said
    of one condition, and of one protocol.
    """
    found = {it: good for it in evaluation.conditions if (good := _good(evaluation, kpi, it))}
    if len(found) < 2 or len(evaluation.ranked) < 2:
        return []
    question = "Does it depend on the condition?"
    best = "best, or not distinguishable from the best,"
    if not _tested(evaluation, kpi):
        best = "best by the mean (so few repetitions tell nothing beyond chance)"
    everywhere = set.intersection(*(set(it) for it in found.values()))
    if everywhere:
        names = _names(evaluation, everywhere)
        verb = "is" if len(everywhere) == 1 else "are"
        text = f"No: {names} {verb} {best} under every condition."
        return [Sentence(question, text)]
    by_value = [
        told for place in range(len(evaluation.factors)) if (told := _by_value(evaluation, found, place))
    ]
    if by_value:
        return [Sentence(question, f"Yes. {_capital(best)}: {min(by_value, key=len)}.")]
    each = [
        f"{_names(evaluation, good)} at {evaluation.label(it)}" for it, good in list(found.items())[:MOST]
    ]
    rest = len(found) - MOST
    more = f"; the table has the other {counted(rest, 'condition')}" if rest > 0 else ""
    return [Sentence(question, f"Yes. {_capital(best)}: {'; '.join(each)}{more}.")]


def _good(evaluation: Evaluation, kpi: Kpi, condition: Condition) -> list[str]:
    """The best protocol under a condition, then those that cannot be told from it or are ahead of it."""
    cells = evaluation.cells(kpi, condition)
    words = {key: cell.standing.word for key, cell in cells.items() if cell.standing is not None}
    return sorted(
        (key for key, word in words.items() if word != "worse" and word), key=lambda it: words[it] != "best"
    )


def _by_value(evaluation: Evaluation, found: dict[Condition, list[str]], place: int) -> str:
    """Who is among the best at each value of one factor, whatever the others are; empty where nobody is at
    some value.
    """
    factor = evaluation.factors[place]
    parts: dict[str, list[str]] = {}
    for value in factor.values:
        there: Sequence[list[str]] = [good for it, good in found.items() if it[place] == value]
        if not there:
            continue
        common = set.intersection(*(set(it) for it in there))
        if not common:
            return ""
        parts.setdefault(_names(evaluation, common), []).append(factor.label(value))
    if len(parts) < 2:
        return ""
    said = [f"{names} at {factor.words} {named(values)}" for names, values in parts.items()]
    return "; ".join(said)


def _tested(evaluation: Evaluation, kpi: Kpi) -> bool:
    """Whether there are repetitions enough for anything to be told from the best."""
    cells = (cell for it in evaluation.conditions for cell in evaluation.cells(kpi, it).values())
    return any(cell.standing is not None and cell.standing.word not in ("", "best") for cell in cells)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:].removesuffix(",")


def _names(evaluation: Evaluation, keys: Sequence[str] | set[str]) -> str:
    return named([style.label for style in evaluation.styles if style.key in keys])
