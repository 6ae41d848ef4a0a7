"""The answer in sentences, made from the numbers by rules that the report prints beside them (`RULES`)."""

from collections.abc import Mapping
from dataclasses import dataclass

from gauntlet.metrics.intervals import Mean, mean
from gauntlet.metrics.kpi import Kpi
from gauntlet.report.axes import Axis
from gauntlet.report.campaign import Campaign, Cell
from gauntlet.report.numbers import counted, listed, number, with_unit

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
    "What a condition costs is the ratio of a KPI between the condition's two ends, taken repetition by "
    f"repetition and averaged over the other conditions; a protocol that retains at least {KEEPS * 100:.0f} "
    "% is said to keep it.",
    "Runs that failed or whose certificate did not hold take no part in means, tests or sentences.",
)


@dataclass(frozen=True)
class Sentence:
    """One statement and the question that it answers."""

    question: str
    text: str


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
    """Each protocol's mean over all conditions, by repetition; only conditions that all of its repetitions
    have.
    """
    found = {}
    for style in campaign.styles:
        per_condition = [campaign.values(kpi, style.key, condition) for condition in campaign.conditions]
        per_condition = [values for values in per_condition if values]
        if per_condition:
            shared = set.intersection(*(set(values) for values in per_condition))
            if shared:
                averages = [
                    sum(values[repetition] for values in per_condition) / len(per_condition)
                    for repetition in sorted(shared)
                ]
                found[style.key] = mean(averages)
    return found


def _winner(campaign: Campaign, kpi: Kpi) -> Sentence:
    """Who is best, in how many conditions, and by how much over the next."""
    cells = {condition: campaign.cells(kpi, condition) for condition in campaign.conditions}
    judged = {
        condition: row
        for condition, row in cells.items()
        if any(cell.verdict is not None for cell in row.values())
    }
    first = {style.key: sum(_is_best(row[style.key]) for row in judged.values()) for style in campaign.styles}
    level = {
        style.key: sum(_not_worse(row[style.key]) for row in judged.values()) for style in campaign.styles
    }
    means = overall(campaign, kpi)
    sign = 1 if kpi.higher_is_better else -1
    lead = max(
        campaign.ranked,
        key=lambda key: (level[key], first[key], sign * means[key].value if key in means else float("-inf")),
    )
    total = len(judged)
    repetitions = means[lead].n if lead in means else 0
    name = campaign.style(lead).label
    if len(campaign.ranked) == 1:
        text = f"{name}: {_lower(kpi.label)} {_on_average(kpi, means[lead], total)}."
    else:
        where = "in the only condition" if total == 1 else f"in {level[lead]} of {total} conditions"
        if repetitions > 1:
            text = f"{name} is best or not distinguishable from the best {where}"
        else:
            text = f"{name} has the best value {where}, but one repetition cannot say whether that is chance"
        if lead in means:
            text += f"; {_lower(kpi.label)} {_on_average(kpi, means[lead], total)}"
        others = [key for key in means if key in campaign.ranked and key != lead]
        if others:
            runner = max(others, key=lambda key: sign * means[key].value)
            last = min(others, key=lambda key: sign * means[key].value)
            text += f". Next is {campaign.style(runner).label} with {with_unit(kpi, means[runner])}"
            if last != runner:
                text += f", last {campaign.style(last).label} with {with_unit(kpi, means[last])}"
        text += f" (n = {repetitions})."
        if unranked := [key for key in means if key not in campaign.ranked]:
            beside = [f"{campaign.style(key).label} {with_unit(kpi, means[key])}" for key in unranked]
            text += f" Not ranked, since lost messages are not sent again: {listed(beside)}."
    return Sentence("Which protocol?", text)


def _is_best(cell: Cell) -> bool:
    return cell.verdict is not None and cell.verdict.best


def _not_worse(cell: Cell) -> bool:
    return cell.verdict is not None and (cell.verdict.best or cell.verdict.distinguishable is False)


def _on_average(kpi: Kpi, value: Mean, conditions: int) -> str:
    return with_unit(kpi, value) + (" on average over all conditions" if conditions > 1 else "")


def _cost(campaign: Campaign, kpi: Kpi, axis: Axis) -> list[Sentence]:
    """What the far end of a condition costs each protocol, as a share of the KPI at the near end."""
    low, high = axis.values[0], axis.values[-1]
    ratios = {
        style.key: ratio for style in campaign.styles if (ratio := _ratio(campaign, kpi, axis, style.key))
    }
    if not ratios:
        return []
    keep: list[str] = []
    change: list[str] = []
    for key, ratio in ratios.items():
        kept = ratio.value if kpi.higher_is_better else 1 / ratio.value
        (keep if kept >= KEEPS else change).append(key)
    parts = []
    if keep:
        verb = "keeps" if len(keep) == 1 else "keep"
        named = listed([f"{campaign.style(key).label} ({_percent(ratios[key])})" for key in keep])
        parts.append(f"{named} {verb} their level" if len(keep) > 1 else f"{named} {verb} its level")
    if change:
        if kpi.higher_is_better:
            change.sort(key=lambda key: ratios[key].value)
            losses = [f"{campaign.style(key).label} {_percent(_complement(ratios[key]))}" for key in change]
            parts.append(f"lost, of the value at {axis.label(low)}: {listed(losses)}")
        else:
            change.sort(key=lambda key: -ratios[key].value)
            grows = [f"{campaign.style(key).label} {_times(ratios[key])}" for key in change]
            parts.append(f"it takes longer by a factor: {listed(grows)}")
    counts = {ratio.n for ratio in ratios.values()}
    n = str(min(counts)) if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
    text = f"{kpi.label} from {axis.label(low)} to {axis.label(high)}: {'; '.join(parts)} (n = {n})."
    return [Sentence(f"What does {axis.words} cost?", text)]


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
    average = mean([sum(values) / whole for values in complete])
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
    text = f"{number(ratio.value)}"
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
    return [Sentence("Who is quick?", text)]


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
    return [
        Sentence(
            "Does everything arrive?", f"{text} ({counted(next(iter(means.values())).n, 'repetition')})."
        )
    ]


def _lower(label: str) -> str:
    return label[0].lower() + label[1:]
