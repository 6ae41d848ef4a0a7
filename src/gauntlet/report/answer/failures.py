"""Does every flow do its work? Who failed, and under which condition most."""

from gauntlet.metrics.numbers import counted, listed
from gauntlet.report.answer.wording import Sentence, completed_of
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.factors import Condition


def failures(evaluation: Evaluation) -> list[Sentence]:
    """Which flows did not do what they were to do, by protocol, and under which condition most."""
    counts = {style.key: completed_of(evaluation, style.key) for style in evaluation.styles}
    flows, failed = sum(of for _, of in counts.values()), sum(of - done for done, of in counts.values())
    if not failed:
        return []
    parts = []
    for key, (done, of) in counts.items():
        if done == of:
            continue
        where = ""
        if len(evaluation.conditions) > 1:
            most = max(evaluation.conditions, key=lambda it: _failed_share(evaluation, key, it))
            there, of_there = evaluation.done(key, most)
            where = f" (most at {evaluation.label(most)}: {of_there - there} of {of_there})"
        parts.append(f"{evaluation.style(key).label} {of - done} of {of}{where}")
    text = f"No: {failed} of {counted(flows, 'flow')} failed. {listed(parts)}. The reasons stand under Trust."
    return [Sentence("Does every flow do its work?", text)]


def _failed_share(evaluation: Evaluation, key: str, condition: Condition) -> float:
    done, of = evaluation.done(key, condition)
    return 1 - done / of if of else 0.0
