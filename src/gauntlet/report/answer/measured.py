"""What was measured? Of flows over one protocol, of which nothing is asked: what they are judged by, from the
best condition to the worst.
"""

from gauntlet.metrics.intervals import Mean
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.numbers import counted, with_unit
from gauntlet.report.answer.keeping import at, label_of
from gauntlet.report.answer.wording import Sentence, completed_of
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.factors import Condition


def measured(part: Evaluation, kpi: Kpi) -> Sentence:
    """Capacity used over TCP CUBIC: 94 % [92 to 95] at loss 0 % to 55 % at loss 1 % (10 repetitions, 20 of 20
    flows completed).
    """
    (style,) = part.styles
    cells = [(part.cells(kpi, condition)[style.key], condition) for condition in part.conditions]
    known = [(cell.mean, condition) for cell, condition in cells if cell.mean is not None and cell.trusted]
    known.sort(key=lambda seen: seen[0].value, reverse=kpi.higher_is_better)
    ends = [known[0], known[-1]] if len(known) > 1 else known
    if len({_value(part, kpi, *it) for it in ends}) == 1 and len(known) == len(part.conditions):
        said = _value(part, kpi, *ends[0])
    else:
        said = " to ".join(f"{_value(part, kpi, *it)}{at(part, [it[1]])}" for it in ends)
    done, flows = completed_of(part, style.key)
    counts = f"{counted(len(part.repetitions), 'repetition')}, {done} of {flows} flows completed"
    text = (
        f"{kpi.label} over {label_of(part, style.key)}: {said or 'no trusted run has a number'} ({counts})."
    )
    return Sentence("What was measured?", text)


def _value(part: Evaluation, kpi: Kpi, mean: Mean, condition: Condition) -> str:
    (style,) = part.styles
    least = part.cells(kpi, condition)[style.key].limit is not None
    return f"{'≥ ' * least}{with_unit(kpi, mean)}"
