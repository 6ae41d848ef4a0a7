"""What does a condition cost? A KPI at its far end against its near end, for each protocol."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gauntlet.metrics.intervals import Mean, the_same, typical_mean
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.numbers import listed, number
from gauntlet.metrics.observation import State
from gauntlet.metrics.ratios import ratio
from gauntlet.report.answer.rules import KEEPS
from gauntlet.report.answer.wording import Sentence
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.factors import Factor

_NOTHING = "nothing"
"""In place of a ratio: nothing arrived at the near end, so there is nothing to relate the far end to."""


_DEAD = "dead"
"""In place of a ratio: some repetition has no number, and a ratio of the others would praise who failed."""


def costs(evaluation: Evaluation, kpi: Kpi, factor: Factor) -> list[Sentence]:
    """What the far end of a condition costs each protocol, as a share of the KPI at the near end."""
    low, high = factor.values[0], factor.values[-1]
    found = {style.key: _ratio(evaluation, kpi, factor, style.key) for style in evaluation.styles}
    ratios = {key: it for key, it in found.items() if isinstance(it, Mean)}
    nothing = [evaluation.style(key).label for key, it in found.items() if it == _NOTHING]
    dead = [evaluation.style(key).label for key, it in found.items() if it == _DEAD]
    if not ratios and not nothing and not dead:
        return []
    order = sorted(ratios, key=lambda key: ratios[key].value)
    if kpi.higher_is_better:
        keep = [key for key in order if ratios[key].value >= KEEPS][::-1]
        lose = [key for key in order if ratios[key].value < KEEPS]
        losses = {key: _complement(ratios[key]) for key in lose}
        parts = [_told(evaluation, "keeps", {key: _percent(ratios[key]) for key in keep})] if keep else []
        parts += [_told(evaluation, "loses", {key: _percent(losses[key]) for key in lose})] if lose else []
    else:
        least = {key: _unfinished(evaluation, kpi, key) for key in order}
        taken = {key: f"{'at least ' if least[key] else ''}{_times(ratios[key])}" for key in order}
        parts = [_told(evaluation, "takes", taken)] if taken else []
    if nothing:
        parts.append(f"{listed(nothing)} delivered nothing even at {factor.label(low)}")
    if dead:
        parts.append(f"of {listed(dead)} there is no ratio, since in some repetitions nothing arrived")
    counts = {ratio.n for ratio in ratios.values()}
    n = f" (n = {min(counts)}{f' to {max(counts)}' if len(counts) > 1 else ''})" if counts else ""
    text = f"{kpi.label}, {factor.label(high)} against {factor.label(low)}: {'; '.join(parts)}{n}."
    return [Sentence(f"What does {factor.words} cost?", text)]


def _unfinished(evaluation: Evaluation, kpi: Kpi, key: str) -> bool:
    cells = (evaluation.cells(kpi, condition)[key] for condition in evaluation.conditions)
    return any(cell.limit is not None for cell in cells)


def _told(evaluation: Evaluation, verb: str, values: Mapping[str, str]) -> str:
    """Protocols and their values with the verb once: "TCP BBR keeps 95 % and UDP 99 %"."""
    labels = [evaluation.style(key).label for key in values]
    if labels:
        labels[0] += f" {verb}"
    return listed([f"{label} {value}" for label, value in zip(labels, values.values(), strict=True)])


def _ratio(evaluation: Evaluation, kpi: Kpi, factor: Factor, protocol: str) -> Mean | str | None:
    """KPI at the far end over KPI at the near end, one value a repetition, averaged over the other
    conditions.
    """
    position = evaluation.factors.index(factor)
    pairs: dict[int, list[tuple[float, float]]] = {}
    steps = []
    for condition in evaluation.conditions:
        far = (*condition[:position], factor.values[-1], *condition[position + 1 :])
        if condition[position] != factor.values[0] or far not in evaluation.conditions:
            continue
        steps += [condition, far]
        if any(
            it.state == State.NEVER
            for at in (condition, far)
            for it in evaluation.values(kpi, protocol, at).values()
        ):
            return _DEAD
        near_values = evaluation.numbers(kpi, protocol, condition)
        far_values = evaluation.numbers(kpi, protocol, far)
        for repetition in near_values.keys() & far_values.keys():
            pairs.setdefault(repetition, []).append((far_values[repetition], near_values[repetition]))
    # A repetition that lacks a condition would average over a different mix than the others.
    whole = [each for _, each in sorted(pairs.items()) if 2 * len(each) == len(steps)]
    if not whole:
        return None
    average = _average(whole)
    if average is None:
        return _NOTHING
    if all(evaluation.deterministic(protocol, condition) for condition in steps):
        average = the_same(average.value)
    return average.within(0.0, math.inf)


def _average(whole: Iterable[Sequence[tuple[float, float]]]) -> Mean | None:
    """Of each repetition's pairs (far, near): geometric, or where something is zero the ratio of the means;
    None when the near ends are all zero.
    """
    each = list(whole)
    if all(value > 0 for pairs in each for pair in pairs for value in pair):
        logarithms = [sum(math.log(far / near) for far, near in pairs) / len(pairs) for pairs in each]
        return _exponential(typical_mean(logarithms))
    return ratio(
        [sum(it[0] for it in pairs) for pairs in each], [sum(it[1] for it in pairs) for pairs in each]
    ).mean


def _exponential(of: Mean) -> Mean:
    """A mean of logarithms as a geometric mean."""
    low, high = (None if it is None else math.exp(it) for it in (of.low, of.high))
    return replace(of, value=math.exp(of.value), low=low, high=high)


def _complement(ratio: Mean) -> Mean:
    low = None if ratio.high is None else 1 - ratio.high
    high = None if ratio.low is None else 1 - ratio.low
    return Mean(1 - ratio.value, low, high, ratio.n, ratio.method)


def _percent(ratio: Mean) -> str:
    text = f"{number(ratio.value * 100, 1)} %"
    if ratio.low is None or ratio.high is None or ratio.low == ratio.high:
        return text
    return f"{text} [{number(ratio.low * 100, 1)} to {number(ratio.high * 100, 1)}]"


def _times(ratio: Mean) -> str:
    text = f"{number(ratio.value)} times"
    if ratio.low is None or ratio.high is None or ratio.low == ratio.high:
        return text
    return f"{text} [{number(ratio.low)} to {number(ratio.high)}]"
