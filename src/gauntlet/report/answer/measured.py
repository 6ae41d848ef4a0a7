"""What was measured? Where an experiment asks nothing of its flows: what they are judged by, from the best
condition of each protocol to the worst.
"""

from collections.abc import Sequence

from gauntlet.metrics.intervals import Mean
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.numbers import counted, with_unit
from gauntlet.report.answer.keeping import at, label_of
from gauntlet.report.answer.wording import Sentence, completed_of
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.factors import Condition
from gauntlet.report.threats import Threats

_NAMED = 4
"""Protocols that are named one by one; of more the best and the worst are."""

QUESTION = "What was measured?"

_Seen = tuple[Mean, str, Condition]
"""The mean of a protocol under a condition."""


def measured(evaluation: Evaluation, threats: Threats | None) -> list[Sentence]:
    """A sentence for each kind of flows that is not in the background; `threats` are the verdicts on those of
    safety. Nothing where no run can be trusted.
    """
    if not any(row.trusted for row in evaluation.rows):
        return []
    if threats is not None and threats.overview:
        return [Sentence(QUESTION, threats.overview)]
    judged = [part for part in evaluation.parts if not part.background and not part.of_safety]
    told = [(part, kpi) for part in judged if (kpi := part.main_kpi) is not None]
    return [Sentence(part.titled(QUESTION), text) for part, kpi in told if (text := _told(part, kpi))]


def _told(part: Evaluation, kpi: Kpi) -> str:
    """Capacity used: TCP CUBIC 94 % at loss 0 % to 55 % at loss 1 %; SCTP 90 % at loss 0 % to 41 % at loss
    1 % (10 repetitions, 40 of 40 flows completed).
    """
    sign = -1 if kpi.higher_is_better else 1
    each: list[list[_Seen]] = []
    for style in part.styles:
        cells = [(part.cells(kpi, condition)[style.key], condition) for condition in part.conditions]
        known = [(cell.mean, style.key, it) for cell, it in cells if cell.mean is not None and cell.trusted]
        if known:
            each.append(sorted(known, key=lambda seen: sign * seen[0].value))
    if not each:
        return ""
    each.sort(key=lambda known: sign * known[0][0].value)
    if len(each) > _NAMED:
        every = sorted((seen for known in each for seen in known), key=lambda seen: sign * seen[0].value)
        ends = " to ".join(f"{_value(part, kpi, it)} ({_name(part, it)})" for it in (every[0], every[-1]))
        said = [f"{ends}, over {len(each)} protocols"]
    else:
        said = [f"{label_of(part, known[0][1])} {_ends(part, kpi, known)}" for known in each]
    done, flows = (
        sum(counts) for counts in zip(*(completed_of(part, it.key) for it in part.styles), strict=True)
    )
    counts = f"{counted(len(part.repetitions), 'repetition')}, {done} of {flows} flows completed"
    return f"{kpi.label}: {'; '.join(said)} ({counts})."


def _ends(part: Evaluation, kpi: Kpi, known: Sequence[_Seen]) -> str:
    """From the best condition to the worst."""
    ends = [known[0], known[-1]] if len(known) > 1 else known[:1]
    if len({_value(part, kpi, it) for it in ends}) == 1 and len(known) == len(part.conditions):
        return _value(part, kpi, ends[0])
    return " to ".join(f"{_value(part, kpi, it)}{at(part, [it[2]]) if part.factors else ''}" for it in ends)


def _value(part: Evaluation, kpi: Kpi, seen: _Seen) -> str:
    mean, key, condition = seen
    least = part.cells(kpi, condition)[key].limit is not None
    return f"{'≥ ' * least}{with_unit(kpi, mean)}"


def _name(part: Evaluation, seen: _Seen) -> str:
    return ", ".join([label_of(part, seen[1]), *[part.label(seen[2])] * bool(part.factors)])
