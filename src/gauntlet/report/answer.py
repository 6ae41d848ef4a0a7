"""The answer in sentences, made from the numbers by rules that the report prints beside them (`RULES`)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from gauntlet.metrics.intervals import Mean, mean
from gauntlet.metrics.kpi import Kpi
from gauntlet.report.axes import Axis
from gauntlet.report.campaign import Campaign, Cell
from gauntlet.report.numbers import listed, number, with_unit

KEEPS = 0.95
"""A protocol that keeps at least this share of a KPI from one end of a condition to the other is said to keep
it.
"""

RULES = (
    "Every number is a mean over repetitions; brackets hold its 95 % confidence interval (bootstrap by "
    "repetition from eight repetitions on, Student's t below, none for a single one). n counts "
    "repetitions, never packets.",
    "Best is the protocol with the best mean under a condition. Another is called worse only when the "
    "difference, paired by repetition, is unlikely by chance (p < 0.05 after Holm's adjustment; Student's "
    "paired t below eight repetitions, sign-flip permutation from eight on); otherwise it is not "
    "distinguishable from the best.",
    "The protocol named first is the safest choice: the one whose largest shortfall from the best, over "
    "all conditions of the experiment, is the smallest.",
    "What a condition costs is the ratio of a KPI between the condition's two ends, taken repetition by "
    "repetition and averaged over the other conditions. A protocol that retains at least "
    f"{KEEPS * 100:.0f} % is said to keep that share; of the others it is said how much they lose.",
    "Runs that failed or whose certificate did not hold take no part in means, tests or sentences.",
)


@dataclass(frozen=True)
class Sentence:
    """One statement and the question that it answers."""

    question: str
    lead: str
    """What a reader in a hurry needs; the page prints it large."""
    rest: str = ""

    @property
    def text(self) -> str:
        """All of it."""
        return f"{self.lead} {self.rest}".rstrip()


def sentences(campaign: Campaign) -> list[Sentence]:
    """The statements that the campaign's numbers support, the most important first."""
    kpi = campaign.main_kpi
    if kpi is None:
        return [Sentence("Result", "No run gave a number: see Trust for the reasons.")]
    if not any(row.trusted and row.kpis.get(kpi.name) is not None for row in campaign.rows):
        return [
            Sentence("Result", "No run can be trusted, so no conclusion is drawn: see Trust for the reasons.")
        ]
    found = [_winner(campaign, kpi)]
    found += [cost for axis in campaign.axes if axis.numeric for cost in _cost(campaign, kpi, axis)]
    for other in campaign.kpis:
        if other.name == "delay_p95_s" and other is not kpi:
            found += _extremes(campaign, other)
        if other.name == "message_loss_ratio":
            found += _losses(campaign, other)
    return found


def overall(campaign: Campaign, kpi: Kpi) -> dict[str, Mean]:
    """Each protocol's mean over all conditions that have a value of any protocol.

    Conditions are averaged within each repetition that has them all. A protocol that lacks a condition is
    left out: its mean would be over easier or harder conditions than that of the others.
    """
    values = {
        style.key: [campaign.values(kpi, style.key, condition) for condition in campaign.conditions]
        for style in campaign.styles
    }
    used = [
        place for place in range(len(campaign.conditions)) if any(each[place] for each in values.values())
    ]
    found = {}
    for key, each in values.items():
        whole = set.intersection(*(set(each[place]) for place in used)) if used else set()
        if whole:
            averages = [sum(each[place][number] for place in used) / len(used) for number in sorted(whole)]
            found[key] = mean(averages).within(kpi.least, kpi.most)
    return found


def shortfalls(campaign: Campaign, kpi: Kpi) -> dict[str, float]:
    """How far each ranked protocol is from the best under the condition where it is furthest, as a share of
    the best.

    A protocol that lacks a condition that others have is left out.
    """
    found: dict[str, list[float]] = {}
    judged = 0
    for condition in campaign.conditions:
        cells = campaign.cells(kpi, condition)
        values = {
            key: cell.mean.value for key in campaign.ranked if (cell := cells[key]).mean and cell.verdict
        }
        if not values:
            continue
        judged += 1
        best = (max if kpi.higher_is_better else min)(values.values())
        for key, value in values.items():
            found.setdefault(key, []).append(abs(value - best) / abs(best) if best else float(value != best))
    return {key: max(each) for key, each in found.items() if len(each) == judged}


def _winner(campaign: Campaign, kpi: Kpi) -> Sentence:
    """Who is the safest choice over all conditions, how it stands under each, and how the others do."""
    cells = [campaign.cells(kpi, condition) for condition in campaign.conditions]
    judged = [row for row in cells if any(cell.verdict is not None for cell in row.values())]
    means = overall(campaign, kpi)
    worst = {key: share for key, share in shortfalls(campaign, kpi).items() if key in means}
    if not worst:
        return Sentence(
            "Which protocol?", "No protocol has trusted runs under every condition, so none is named."
        )
    order = sorted(worst, key=lambda key: worst[key])
    lead = order[0]
    name = campaign.style(lead).label
    scope = " on average over all conditions" if len(judged) > 1 else ""
    average = f"{kpi.label} {with_unit(kpi, means[lead])}{scope} (n = {means[lead].n})"
    if len(order) == 1:
        found, rest = f"{name}: {_lower(average)}.", []
    else:
        found = f"{name} is {_standing(kpi, worst[lead], len(judged))}."
        level = sum(_not_worse(row[lead]) for row in judged)
        if means[lead].n > 1:
            average += f"; best or not distinguishable from the best in {level} of {len(judged)}."
        else:
            average += ". One repetition cannot say whether that is chance."
        others = [
            f"{campaign.style(key).label} {with_unit(kpi, means[key])} ({_short(kpi, worst[key])})"
            for key in order[1:]
        ]
        rest = [average, f"The others: {listed(others)}."]
    if unranked := [key for key in means if key not in campaign.ranked]:
        beside = [f"{campaign.style(key).label} {with_unit(kpi, means[key])}" for key in unranked]
        rest.append(f"Not ranked, since lost messages are not sent again: {listed(beside)}.")
    return Sentence("Which protocol?", found, " ".join(rest))


def _standing(kpi: Kpi, shortfall: float, conditions: int) -> str:
    """The leader's worst case in words."""
    where = "under the only condition" if conditions == 1 else f"under all {conditions} conditions"
    if shortfall == 0:
        return f"best {where}"
    if conditions == 1:
        return f"{_share(shortfall)} {_worse_side(kpi)} the best {where}"
    return f"the safest choice: never more than {_share(shortfall)} {_worse_side(kpi)} the best {where}"


def _short(kpi: Kpi, shortfall: float) -> str:
    return f"up to {_share(shortfall)} {_worse_side(kpi)} the best"


def _share(shortfall: float) -> str:
    """A share in per cent, rounded up: it is said to be the most."""
    # Rounded first, since a share of exactly 2.1 % may come as 2.1000000000000001.
    return f"{math.ceil(round(shortfall * 1000, 6)) / 10:.1f} %"


def _worse_side(kpi: Kpi) -> str:
    return "below" if kpi.higher_is_better else "above"


def _not_worse(cell: Cell) -> bool:
    return cell.verdict is not None and (cell.verdict.best or cell.verdict.distinguishable is False)


def _cost(campaign: Campaign, kpi: Kpi, axis: Axis) -> list[Sentence]:
    """What the far end of a condition costs each protocol, as a share of the KPI at the near end."""
    low, high = axis.values[0], axis.values[-1]
    ratios = {
        style.key: ratio for style in campaign.styles if (ratio := _ratio(campaign, kpi, axis, style.key))
    }
    if not ratios:
        return []
    order = sorted(ratios, key=lambda key: ratios[key].value)
    if kpi.higher_is_better:
        keep = [key for key in order if ratios[key].value >= KEEPS][::-1]
        lose = [key for key in order if ratios[key].value < KEEPS]
        losses = {key: _complement(ratios[key]) for key in lose}
        parts = [_told(campaign, "keeps", {key: _percent(ratios[key]) for key in keep})] if keep else []
        parts += [_told(campaign, "loses", {key: _percent(losses[key]) for key in lose})] if lose else []
    else:
        parts = [_told(campaign, "takes", {key: _times(ratios[key]) for key in order})]
    counts = {ratio.n for ratio in ratios.values()}
    n = str(min(counts)) if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
    text = f"{kpi.label}, {axis.label(high)} against {axis.label(low)}: {'; '.join(parts)} (n = {n})."
    return [Sentence(f"What does {axis.words} cost?", text)]


def _told(campaign: Campaign, verb: str, values: Mapping[str, str]) -> str:
    """Protocols and their values with the verb once: "TCP BBR keeps 95 % and UDP 99 %"."""
    labels = [campaign.style(key).label for key in values]
    labels[0] += f" {verb}"
    return listed([f"{label} {value}" for label, value in zip(labels, values.values(), strict=True)])


def _ratio(campaign: Campaign, kpi: Kpi, axis: Axis, protocol: str) -> Mean | None:
    """KPI at the far end over KPI at the near end, one value a repetition, averaged over the other
    conditions.
    """
    position = campaign.axes.index(axis)
    by_repetition: dict[int, list[float]] = {}
    for condition in campaign.conditions:
        if condition[position] != axis.values[0]:
            continue
        far = (*condition[:position], axis.values[-1], *condition[position + 1 :])
        near_values = campaign.values(kpi, protocol, condition)
        far_values = campaign.values(kpi, protocol, far)
        for repetition in near_values.keys() & far_values.keys():
            if near_values[repetition] > 0:
                ratio = far_values[repetition] / near_values[repetition]
                by_repetition.setdefault(repetition, []).append(ratio)
    if not by_repetition:
        return None
    # A repetition that lacks a condition would average over a different mix than the others.
    whole = max(len(values) for values in by_repetition.values())
    complete = [values for _, values in sorted(by_repetition.items()) if len(values) == whole]
    average = mean([sum(values) / whole for values in complete]).within(0.0, math.inf)
    return average if average.value > 0 else None


def _complement(ratio: Mean) -> Mean:
    low = None if ratio.high is None else 1 - ratio.high
    high = None if ratio.low is None else 1 - ratio.low
    return Mean(1 - ratio.value, low, high, ratio.n, ratio.method)


def _percent(ratio: Mean) -> str:
    text = f"{number(ratio.value * 100, 1)} %"
    if ratio.low is None or ratio.high is None:
        return text
    return f"{text} [{number(ratio.low * 100, 1)} to {number(ratio.high * 100, 1)}]"


def _times(ratio: Mean) -> str:
    text = f"{number(ratio.value)} times"
    if ratio.low is None or ratio.high is None:
        return text
    return f"{text} [{number(ratio.low)} to {number(ratio.high)}]"


def _extremes(campaign: Campaign, kpi: Kpi) -> list[Sentence]:
    """Who has the lowest and the highest delay over all conditions."""
    means = overall(campaign, kpi)
    if len(means) < 2:
        return []
    low, high = min(means, key=lambda key: means[key].value), max(means, key=lambda key: means[key].value)
    text = (
        f"{kpi.label}, over all conditions: lowest for {campaign.style(low).label} with "
        f"{with_unit(kpi, means[low])}, highest for {campaign.style(high).label} with "
        f"{with_unit(kpi, means[high])} (n = {means[low].n})."
    )
    return [Sentence("Which is quickest?", text)]


def _losses(campaign: Campaign, kpi: Kpi) -> list[Sentence]:
    """Which protocols lost messages."""
    means = overall(campaign, kpi)
    lossy: Mapping[str, Mean] = {key: value for key, value in means.items() if value.value > 0}
    if not means:
        return []
    whole = [campaign.style(key).label for key in means if key not in lossy]
    if not lossy:
        return [Sentence("Does everything arrive?", "Every message of every trusted run arrived.")]
    named = [
        f"{campaign.style(key).label} {with_unit(kpi, value)}"
        for key, value in sorted(lossy.items(), key=lambda item: -item[1].value)
    ]
    text = f"Messages lost, over all conditions: {listed(named)}"
    if whole:
        text += f"; none for {listed(whole)}"
    return [Sentence("Does everything arrive?", f"{text} (n = {next(iter(means.values())).n}).")]


def _lower(label: str) -> str:
    return label[0].lower() + label[1:]
