"""What was asked? Of each flow with a `judge`: who keeps the bound, under which condition, by how much. Flows
of which the same is asked are answered together (`gauntlet.report.answer.together`).
"""

import math
from collections.abc import Mapping, Sequence

from gauntlet.metrics.asked import Asked
from gauntlet.metrics.numbers import counted, named
from gauntlet.report.answer.keeping import MOST, at, keeping, label_of, valued, why_none
from gauntlet.report.answer.together import of_all
from gauntlet.report.answer.wording import Sentence, capital, under_all
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.tails import Tail, best_first, furthest, tails


def asked(evaluation: Evaluation) -> list[Sentence]:
    """For each flow of which something is asked who keeps it, then a sentence for each protocol. Nothing
    where nothing is asked, and where no run can be trusted.
    """
    if not any(row.trusted for row in evaluation.rows):
        return []
    alike: dict[Asked, list[Evaluation]] = {}
    for part in evaluation.parts:
        if part.asked is not None:
            alike.setdefault(part.asked, []).append(part)
    found: list[Sentence] = []
    for asked_, parts in alike.items():
        found += _of(parts[0], asked_) if len(parts) == 1 else of_all(parts, asked_)
    return found


def _of(part: Evaluation, asked_: Asked) -> list[Sentence]:
    of_protocol = best_first(asked_, [it for it in tails(part) if it.judged])
    question = part.titled(asked_.question)
    if not of_protocol:
        return [Sentence(question, "No trusted run tells it.")]

    order = list(of_protocol)
    if len(order) == 1:
        (key,) = order
        told = f"{label_of(part, key)}: {_told(part, asked_, of_protocol[key])}"
        return [Sentence(question, f"{_alone(part, of_protocol[key])} {told}")]
    found = [Sentence(question, _overview(part, asked_, of_protocol, order))]
    each = [(capital(label_of(part, key)), those) for key, those in of_protocol.items()]
    return [*found, *(Sentence(label, _told(part, asked_, those)) for label, those in each)]


def _alone(part: Evaluation, those: Sequence[Tail]) -> str:
    """The answer in a word, where there is but one protocol."""
    words = {it.word for it in those}
    if words == {"kept"} and len(those) == len(part.conditions):
        return "Yes."
    return "No." if words == {"not"} else "In part."


def _overview(
    part: Evaluation, asked_: Asked, of_protocol: Mapping[str, Sequence[Tail]], order: Sequence[str]
) -> str:
    """Who keeps it everywhere, who where, who nowhere; where nobody does, who comes nearest."""
    count = len(part.conditions)
    everywhere: list[str] = []
    somewhere: dict[str, list[str]] = {}
    nowhere: list[str] = []
    for key in order:
        those, label = of_protocol[key], label_of(part, key)
        words = {it.word for it in those}
        if words == {"kept"} and len(those) == count:
            everywhere.append(label)
        elif words == {"not"}:
            nowhere.append(label)
        else:
            somewhere.setdefault(_where(part, those), []).append(label)
    if not everywhere and not somewhere:
        nearest = label_of(part, order[0]) if math.isfinite(furthest(asked_, of_protocol[order[0]])) else ""
        value = _value(part, asked_, of_protocol[order[0]])
        near = f"; {nearest} comes nearest: {value}" if nearest else ""
        return f"No: none keeps it{' under any condition' * (count > 1)}{near}."
    if not somewhere and not nowhere:
        return f"Yes: {keeping(everywhere)}{under_all(count)}."
    if count > 1 and len(somewhere) == 1 and not everywhere and not nowhere:
        ((where, names),) = somewhere.items()
        never = [it.condition for it in of_protocol[order[0]] if it.word == "not"]
        apart = f", not{at(part, never)}" if never and len(never) <= MOST and "only" not in where else ""
        return f"{capital(keeping(names))} {where}{apart}."
    parts = [f"None keeps it {'throughout' if count > 1 else 'every time'}"]
    if everywhere:
        parts = [f"{keeping(everywhere)}{under_all(count)}"]
    # The verb stands once.
    first = not everywhere
    for where, names in somewhere.items():
        parts.append(f"{keeping(names) if first else named(names)} {where}")
        first = False
    parts += [f"{named(nowhere)} not at all"] if nowhere else []
    return f"{capital('; '.join(parts))}."


def _where(part: Evaluation, those: Sequence[Tail]) -> str:
    """Under which conditions a protocol keeps it that does not always do so."""
    kept = [it.condition for it in those if it.word == "kept"]
    partly = [it.condition for it in those if it.word == "in part"]
    if len(kept) == len(those):
        return _throughout(part, those).lstrip()
    if len(those) == 1:
        return "in some repetitions only"
    if len(kept) + len(partly) > MOST:
        return f"under {len(kept)} of {counted(len(those), 'condition')}"
    sometimes = f"in some repetitions{at(part, partly)}" if partly else ""
    if not kept:
        return f"{sometimes} only"
    always = at(part, kept).lstrip()
    return f"{always}, {sometimes}" if partly else f"{always} only"


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
    lacking = [it for it in those if it.value is None]
    alike = not lacking and len({valued(asked_, *it) for it in known}) == 1
    several = len(part.conditions) > 1 and not alike
    shown = [known[0], known[-1]] if len(known) > 1 and not alike else known[:1]
    said = [f"{valued(asked_, mean, it)}{at(part, [it.condition]) if several else ''}" for mean, it in shown]
    none = ""
    if lacking:
        where = f" under {len(lacking)} of {counted(len(those), 'condition')}" if several else ""
        none = f"none{where}, since {why_none(asked_, lacking)}"
    return f"{asked_.what} {', '.join(filter(None, [' to '.join(said), none]))}"


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
    told = [f"kept{at(part, [it.condition for it in kept])}"] if kept else []
    told += [f"kept in {it.kept} of {it.judged}{at(part, [it.condition])}" for it in partly]
    told += [f"not{' kept' * (not kept)}{at(part, [it.condition for it in never])}"] if never else []
    return f"{asked_.limit} is {', '.join(told)}"


def _throughout(part: Evaluation, those: Sequence[Tail]) -> str:
    if len(those) < len(part.conditions):
        return f" under the {counted(len(those), 'condition')} with trusted runs"
    return under_all(len(those))
