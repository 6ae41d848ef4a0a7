"""Why does a class come late that is to go first? Said of CAKE under a load in all of its classes."""

from collections.abc import Iterator

from gauntlet.metrics.numbers import named, with_unit
from gauntlet.report.answer.wording import Sentence
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.tails import Tail, tails

_FIRST, _PLAIN = "-ef", "-be"
"""In names of flows of a load: the class that is meant to go first, and best effort."""

_OF_CLASSES = ("CAKE (diffserv3", "CAKE (diffserv4")
"""How the labels of queues begin that give best effort four times the weight of the class of EF
(`cake_config_diffserv3` and `cake_config_diffserv4` in Linux' net/sched/sch_cake.c, `tin_quantum`).
"""

_WHY = (
    "CAKE has no rate of its own here (the line's shaper has), so while all classes have something to send "
    "it serves them in turn by weight, best effort four times as much as the class of EF."
)


def classes(evaluation: Evaluation) -> list[Sentence]:
    """Where datagrams of EF come later than those of best effort, how much and why; nothing elsewhere."""
    if not evaluation.about.has_load:
        return []
    by_name = {part.subject: part for part in evaluation.parts if part.asked is not None}
    told: list[str] = []
    queues: dict[str, None] = {}
    for name, part in by_name.items():
        plain = by_name.get(name.replace(_FIRST, _PLAIN, 1)) if _FIRST in name else None
        if plain is None or part.asked is None:
            continue
        for queue, first, other in _pairs(part, plain):
            if _later(first, other):
                one, two = (with_unit(part.asked.kpi, it.value) for it in (first, other) if it.value)
                told.append(f"{name} {part.asked.what} {one}, {plain.subject} {two}")
                queues[queue] = None
    if not told:
        return []
    lead = f"At queue {named(list(queues))}: {_WHY}"
    return [Sentence("Why is EF later than best effort?", lead, f"{'; '.join(told)}.")]


def _pairs(part: Evaluation, plain: Evaluation) -> Iterator[tuple[str, Tail, Tail]]:
    """The label of each such queue, and both flows' tails with it."""
    others = {it.condition: it for it in tails(plain)}
    for it in tails(part):
        for factor, value in zip(part.factors, it.condition, strict=True):
            label = factor.label(value)
            if label.startswith(_OF_CLASSES) and it.condition in others:
                yield label, it, others[it.condition]


def _later(first: Tail, other: Tail) -> bool:
    """Whether the first is later by its whole interval; of deterministic flows by its value."""
    if first.value is None or other.value is None:
        return False
    low = first.value.value if first.value.low is None else first.value.low
    high = other.value.value if other.value.high is None else other.value.high
    return low > high
