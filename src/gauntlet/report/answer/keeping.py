"""Words for who keeps what is asked, and where, that answers about one flow and about several share."""

from collections.abc import Sequence

from gauntlet.figures.style import OF_SUBJECT
from gauntlet.metrics.asked import Asked
from gauntlet.metrics.intervals import Mean
from gauntlet.metrics.numbers import counted, named, with_unit
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.factors import Condition
from gauntlet.report.tails import Tail

MOST = 6
"""Conditions that are named one by one; of more the table tells."""


def label_of(part: Evaluation, key: str) -> str:
    """A protocol, without the flow, which the question names."""
    return part.style(key).label.rpartition(OF_SUBJECT)[2]


def keeping(names: Sequence[str]) -> str:
    """TCP CUBIC keeps it; TCP CUBIC and SCTP keep it."""
    return f"{named(names)} {'keeps' if len(names) == 1 else 'keep'} it"


def valued(asked_: Asked, mean: Mean, it: Tail) -> str:
    """What is asked, in numbers."""
    return f"{'≥ ' * it.least}{with_unit(asked_.kpi, mean)}"


def why_none(asked_: Asked, those: Sequence[Tail]) -> str:
    """Why these have no number: flows failed, or too many messages never came, and of how many repetitions
    where that is one number of each.
    """
    said = []
    if any(it.failed for it in those):
        said.append("flows failed")
    if any(it.never > it.failed for it in those):
        said.append(_missing(asked_))
    counts = {(it.never, len(it.each)) for it in those}
    where = ""
    if len(counts) == 1:
        ((never, of),) = counts
        where = f" in {never} of {counted(of, 'repetition')}"
    return f"{' or '.join(said)}{where}"


def _missing(asked_: Asked) -> str:
    if asked_.level is None:
        return "nothing arrived"
    if asked_.level == 1:
        return "a message never came"
    return f"more than {100 * (1 - asked_.level):g} % of the messages never came"


def at(part: Evaluation, conditions: Sequence[Condition]) -> str:
    """Where, with a blank before it: at queue 64 kB and 128 kB; at (loss 0 %, queue 64 kB) and (loss 1 %,
    queue 64 kB).
    """
    if len(part.factors) == 1:
        (factor,) = part.factors
        return f" at {factor.words} {named([factor.label(value) for (value,) in conditions])}"
    return f" at {named([part.label(it) for it in conditions])}"
