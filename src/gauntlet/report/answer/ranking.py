"""The numbers behind who is named: means over all conditions, shortfalls from the best, failures."""

import math

from gauntlet.metrics.intervals import Mean, the_same, typical_mean
from gauntlet.metrics.kpi import Kpi
from gauntlet.report.evaluation import Evaluation


def overall(evaluation: Evaluation, kpi: Kpi) -> dict[str, Mean]:
    """Each protocol's mean over all conditions that have a value of any protocol.

    Conditions are averaged within each repetition that has them all. A protocol that lacks a condition is
    left out: its mean would be over easier or harder conditions than that of the others.
    """
    values = {
        style.key: [evaluation.numbers(kpi, style.key, condition) for condition in evaluation.conditions]
        for style in evaluation.styles
    }
    used = [
        place for place in range(len(evaluation.conditions)) if any(each[place] for each in values.values())
    ]
    found = {}
    for key, each in values.items():
        whole = set.intersection(*(set(each[place]) for place in used)) if used else set()
        if whole:
            averages = [sum(each[place][number] for place in used) / len(used) for number in sorted(whole)]
            repeated = all(evaluation.deterministic(key, evaluation.conditions[place]) for place in used)
            average = the_same(averages[0]) if repeated else typical_mean(averages)
            found[key] = average.within(kpi.least, kpi.most)
    return found


def shortfalls(evaluation: Evaluation, kpi: Kpi) -> dict[str, float]:
    """How far each ranked protocol is from the best mean under the condition where it is furthest, as a share
    of the best mean.

    The best mean is that of the star: of the protocols of which most flows completed. A protocol that gave up
    may have a better one, of the little that it did; it is then below zero.

    Infinite where in some repetition there is no number, since nothing came to be. A protocol that lacks a
    condition that others have is left out.
    """
    found: dict[str, list[float]] = {}
    judged = 0
    for condition in evaluation.conditions:
        cells = evaluation.cells(kpi, condition)
        values = {
            key: cell.mean.value for key in evaluation.ranked if (cell := cells[key]).mean and cell.standing
        }
        if not values:
            continue
        judged += 1
        # A mean over the repetitions in which something arrived is no mean to be held against.
        lacking = {key for key in values if cells[key].known < len(cells[key].observations)}
        counts = {key: evaluation.done(key, condition) for key in values}
        shares = {key: done / of if of else 1.0 for key, (done, of) in counts.items()}
        held = [key for key in values if key not in lacking] or list(values)
        most = max(shares[key] for key in held)
        whole = [values[key] for key in held if shares[key] == most]
        best = (max if kpi.higher_is_better else min)(whole)
        for key, value in values.items():
            share = abs(value - best) / abs(best) if best else float(value != best)
            if (value > best) == kpi.higher_is_better:
                share = -share
            found.setdefault(key, []).append(math.inf if key in lacking else share)
    return {key: max(each) for key, each in found.items() if len(each) == judged}


def failing(evaluation: Evaluation, protocol: str) -> float:
    """The largest share of a protocol's flows that did not do what they were to do, over the conditions."""
    shares = [evaluation.done(protocol, condition) for condition in evaluation.conditions]
    return max((1 - done / of for done, of in shares if of), default=0.0)
