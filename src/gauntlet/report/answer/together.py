"""What was asked of several flows alike, in one answer: which of them keep it under which condition, and the
best and the worst of them.
"""

from collections.abc import Iterable, Mapping, Sequence

from gauntlet.metrics.asked import Asked
from gauntlet.metrics.numbers import counted, named
from gauntlet.report.answer.keeping import MOST, at, keeping, label_of, valued, why_none
from gauntlet.report.answer.wording import Sentence, capital, under_all
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.factors import Condition
from gauntlet.report.tails import Tail, tails

_NAMED = 3
"""Flows that are named one by one; more are counted."""

_Cells = Mapping[Condition, Sequence[tuple[Evaluation, Tail]]]
"""The flows over one protocol, by condition."""


def of_all(parts: Sequence[Evaluation], asked_: Asked) -> list[Sentence]:
    """For flows of which the same is asked how many keep it where, then a sentence for each condition."""
    of_protocol: dict[str, dict[Condition, list[tuple[Evaluation, Tail]]]] = {}
    for part in parts:
        for it in tails(part):
            if it.judged:
                cells = of_protocol.setdefault(label_of(part, it.protocol), {})
                cells.setdefault(it.condition, []).append((part, it))
    question = f"Each of {len(parts)} flows: {asked_.question}"
    if not of_protocol:
        return [Sentence(question, "No trusted run tells it.")]
    if len(of_protocol) == 1:
        found = [Sentence(question, _overview(next(iter(of_protocol.values())), len(parts)))]
    else:
        each = (f"{label}: {_overview(cells, len(parts))}" for label, cells in of_protocol.items())
        found = [Sentence(question, " ".join(each))]
    several = len(of_protocol) > 1
    for label, cells in of_protocol.items():
        if sum(map(len, of_protocol.values())) > MOST:
            told = [it for those in cells.values() for it in those]
            found.append(Sentence(label, _told(asked_, told, with_condition=True)))
            continue
        for condition, those in cells.items():
            where = parts[0].label(condition) if parts[0].factors else ""
            names = ", ".join(filter(None, (label if several or not where else "", where)))
            found.append(Sentence(capital(names), _told(asked_, those, with_condition=False)))
    return found


def _overview(cells: _Cells, flows: int) -> str:
    """Which of the flows keep it where, those conditions first under which most do."""
    alike: dict[tuple[tuple[str, ...], int], list[Condition]] = {}
    for condition, those in cells.items():
        kept = tuple(part.subject for part, it in those if it.word == "kept")
        partly = sum(it.word == "in part" for _, it in those)
        alike.setdefault((kept, partly), []).append(condition)
    (part, _), *_ = next(iter(cells.values()))
    if len(alike) == 1:
        ((kept, partly),) = alike
        everywhere = under_all(len(part.conditions)) if len(cells) == len(part.conditions) else ""
        if not kept and not partly:
            return f"No: none of the {flows} keeps it{' under any condition' * (len(cells) > 1)}."
        return f"{'Yes: ' * (len(kept) == flows)}{_keepers(kept, partly, flows, verb=True)}{everywhere}."
    ordered = sorted(alike.items(), key=lambda it: (-len(it[0][0]), -it[0][1]))
    told = [
        f"{_keepers(*who, flows, verb=not place)}{at(part, conditions)}"
        for place, (who, conditions) in enumerate(ordered)
    ]
    return f"{capital('; '.join(told))}."


def _keepers(kept: Sequence[str], partly: int, flows: int, *, verb: bool) -> str:
    """All 6; only ping-ef-up and ping-ef-down; 4 of 6, 1 in some repetitions; none. With the verb at wish."""
    if len(kept) == flows:
        every = "both" if flows == 2 else f"all {flows}"
        return f"{every} keep it" if verb else every
    if not kept and not partly:
        return f"none of the {flows} keeps it" if verb else "none"
    sometimes = f"{partly} of the {flows} in some repetitions"
    if not kept:
        return f"{partly} of the {flows} keep it in some repetitions" if verb else sometimes
    few = len(kept) <= _NAMED
    who = named(kept) if few else f"{len(kept)} of the {flows}"
    if verb:
        who = f"only {keeping(kept)}" if few else f"{who} keep it"
    elif few:
        who = f"only {who}"
    return f"{who}, {sometimes}" if partly else who


def _told(asked_: Asked, those: Iterable[tuple[Evaluation, Tail]], *, with_condition: bool) -> str:
    """p99 31 ms (ping-ef-up) to 45 ms (ping-be-up); the deadline of 100 ms is kept by 6 of 6 flows; 30 of 30
    finished in 5 repetitions.
    """
    those = list(those)

    def called(part: Evaluation, it: Tail) -> str:
        return ", ".join([part.subject, *[part.label(it.condition)] * with_condition])

    known = [(it.value, part, it) for part, it in those if it.value is not None]
    known.sort(key=lambda each: each[0].value, reverse=asked_.kpi.higher_is_better)
    ends = [known[0], known[-1]] if len(known) > 1 else known
    said = [f"{valued(asked_, mean, it)} ({called(part, it)})" for mean, part, it in ends]
    what = "flows and conditions" if with_condition else "flows"
    lacking = [(part, it) for part, it in those if it.value is None]
    none = ""
    if lacking:
        names = named([called(part, it) for part, it in lacking])
        whose = names if len(lacking) <= _NAMED else f"{len(lacking)} of {len(those)} {what}"
        none = f"none of {whose}, since {why_none(asked_, [it for _, it in lacking])}"
    kept = sum(it.word == "kept" for _, it in those)
    repetitions = {len(it.each) for _, it in those}
    counts = f" in {counted(min(repetitions), 'repetition')}" if len(repetitions) == 1 else ""
    done, flows = (sum(getattr(it, name) for _, it in those) for name in ("completed", "flows"))
    parts = [
        f"{asked_.what} {', '.join(filter(None, [' to '.join(said), none]))}",
        f"{asked_.limit} is kept by {kept} of {len(those)} {what}",
        f"{done} of {flows} finished{counts}",
    ]
    return f"{'; '.join(parts)}."
