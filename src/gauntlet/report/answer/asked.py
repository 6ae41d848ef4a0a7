"""What was asked? Of each flow with a `judge`: who keeps the bound, under which condition, by how much."""

from collections.abc import Mapping, Sequence

from gauntlet.figures.style import OF_SUBJECT
from gauntlet.metrics.asked import Asked
from gauntlet.metrics.intervals import Mean
from gauntlet.metrics.numbers import counted, listed, with_unit
from gauntlet.report.answer.wording import Sentence, under_all
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.factors import Condition
from gauntlet.report.tails import Tail, tails

MOST = 6
"""Conditions that are named one by one; of more the table tells."""


def asked(evaluation: Evaluation) -> list[Sentence]:
    """For each flow of which something is asked who keeps it, then a sentence for each protocol. Nothing
    where nothing is asked, and where no run can be trusted.
    """
    if not any(row.trusted for row in evaluation.rows):
        return []
    return [
        sentence for part in evaluation.parts if part.asked is not None for sentence in _of(part, part.asked)
    ]


def _of(part: Evaluation, asked_: Asked) -> list[Sentence]:
    of_protocol: dict[str, list[Tail]] = {}
    for it in tails(part):
        if it.judged:
            of_protocol.setdefault(it.protocol, []).append(it)
    question = part.titled(asked_.question)
    if not of_protocol:
        return [Sentence(question, "No trusted run tells it.")]

    def place(key: str) -> tuple[float, float]:
        return -_kept(of_protocol[key]), _furthest(asked_, of_protocol[key])

    order = sorted(of_protocol, key=place)
    if len(order) == 1:
        (key,) = order
        told = f"{_label(part, key)}: {_told(part, asked_, of_protocol[key])}"
        return [Sentence(question, f"{_alone(part, of_protocol[key])} {told}")]
    found = [Sentence(question, _overview(part, of_protocol, order))]
    each = ((key, of_protocol[key]) for key in order)
    return [*found, *(Sentence(_label(part, key), _told(part, asked_, those)) for key, those in each)]


def _alone(part: Evaluation, those: Sequence[Tail]) -> str:
    """The answer in a word, where there is but one protocol."""
    words = {it.word for it in those}
    if words == {"kept"} and len(those) == len(part.conditions):
        return "Yes."
    return "No." if words == {"not"} else "In part."


def _kept(those: Sequence[Tail]) -> float:
    """Under how many conditions it is kept, and by which share of the flows where that is the same."""
    kept = sum(it.word == "kept" for it in those)
    return kept + sum(it.kept for it in those) / sum(it.judged for it in those) / 2


def _furthest(asked_: Asked, those: Sequence[Tail]) -> float:
    """The worst value, for the order of those that keep as much."""
    sign = -1 if asked_.kpi.higher_is_better else 1
    return max(float("inf") if it.value is None else sign * it.value.value for it in those)


def _overview(part: Evaluation, of_protocol: Mapping[str, Sequence[Tail]], order: Sequence[str]) -> str:
    """Who keeps it everywhere, who somewhere, who nowhere."""
    count = len(part.conditions)
    named: dict[str, list[str]] = {"all": [], "some": [], "none": []}
    for key in order:
        words = [it.word for it in of_protocol[key]]
        throughout = len(words) == count and set(words) == {"kept"}
        place = "all" if throughout else "none" if set(words) == {"not"} else "some"
        named[place].append(_label(part, key))
    everywhere = under_all(count)
    if not named["all"] and not named["some"]:
        return f"No: none keeps it{' under any condition' * (count > 1)}."
    if not named["some"] and not named["none"]:
        return f"Yes: {listed(named['all'])} {_verb(named['all'])} it{everywhere}."
    partly = " under some conditions or in some repetitions" if count > 1 else " in some repetitions"
    whole = f"{listed(named['all'])} {_verb(named['all'])} it{everywhere}"
    parts = [whole if named["all"] else f"None keeps it {'throughout' if count > 1 else 'every time'}"]
    parts += [f"{listed(named['some'])}{partly} only"] if named["some"] else []
    parts += [f"{listed(named['none'])} not at all"] if named["none"] else []
    return f"{'; '.join(parts)}."


def _label(part: Evaluation, key: str) -> str:
    """A protocol, without the flow, which the question names."""
    return part.style(key).label.rpartition(OF_SUBJECT)[2]


def _verb(names: Sequence[str]) -> str:
    return "keeps" if len(names) == 1 else "keep"


def _told(part: Evaluation, asked_: Asked, those: Sequence[Tail]) -> str:
    """p99 0.210 s [0.150 to 0.340]; the deadline of 1 s is kept at queue 64 kB, not at queue 512 kB; 20 of 20
    finished.
    """
    done, flows = sum(it.completed for it in those), sum(it.flows for it in those)
    parts = [_value(part, asked_, those), _verdict(part, asked_, those), f"{done} of {flows} finished"]
    return f"{'; '.join(filter(None, parts))}."


def _value(part: Evaluation, asked_: Asked, those: Sequence[Tail]) -> str:
    """What is asked, in numbers: the best and the worst condition of several; who has none is counted."""
    known = [(it.value, it) for it in those if it.value is not None]
    known.sort(key=lambda each: each[0].value, reverse=asked_.kpi.higher_is_better)
    lacking = len(those) - len(known)
    alike = not lacking and len({_number(asked_, *it) for it in known}) == 1
    several = len(part.conditions) > 1 and not alike
    shown = [known[0], known[-1]] if len(known) > 1 and not alike else known[:1]
    said = [
        f"{_number(asked_, mean, it)}{_at(part, [it.condition]) if several else ''}" for mean, it in shown
    ]
    none = ""
    if lacking:
        where = f" under {lacking} of {counted(len(those), 'condition')}" if several else ""
        none = f"none{where}, since flows failed or too many messages never came"
    return f"{asked_.what} {', '.join(filter(None, [' to '.join(said), none]))}"


def _number(asked_: Asked, mean: Mean, it: Tail) -> str:
    return f"{'≥ ' * it.least}{with_unit(asked_.kpi, mean)}"


def _verdict(part: Evaluation, asked_: Asked, those: Sequence[Tail]) -> str:
    """Whether the bound is kept, by condition."""
    words = {it.word for it in those}
    if words == {"kept"}:
        return f"{asked_.limit} is kept{_throughout(part, those)}"
    if words == {"not"}:
        return f"{asked_.limit} is not kept{' under any condition' * (len(those) > 1)}"
    if len(those) == 1:
        return f"{asked_.limit} is kept in {those[0].kept} of {counted(those[0].judged, 'flow')}"
    kept = [it for it in those if it.word == "kept"]
    partly = [it for it in those if it.word == "in part"]
    never = [it for it in those if it.word == "not"]
    if len(those) > MOST:
        told = [f"kept under {len(kept)} of {counted(len(those), 'condition')}"]
        told += [f"in some flows under {len(partly)}"] if partly else []
        told += [f"not under {len(never)}"] if never else []
        return f"{asked_.limit} is {', '.join(told)}: the table has them"
    told = [f"kept{_at(part, [it.condition for it in kept])}"] if kept else []
    told += [f"kept in {it.kept} of {it.judged}{_at(part, [it.condition])}" for it in partly]
    told += [f"not{' kept' * (not kept)}{_at(part, [it.condition for it in never])}"] if never else []
    return f"{asked_.limit} is {', '.join(told)}"


def _throughout(part: Evaluation, those: Sequence[Tail]) -> str:
    if len(those) < len(part.conditions):
        return f" under the {counted(len(those), 'condition')} with trusted runs"
    return under_all(len(those))


def _at(part: Evaluation, conditions: Sequence[Condition]) -> str:
    """Where: at queue 64 kB and 128 kB; at loss 0 %, queue 64 kB and at loss 1 %, queue 64 kB."""
    if len(part.factors) == 1:
        (factor,) = part.factors
        return f" at {factor.words} {listed([factor.label(value) for (value,) in conditions])}"
    return f" at {listed([part.label(it) for it in conditions])}"
