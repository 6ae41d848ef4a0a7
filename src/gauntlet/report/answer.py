"""The answer in sentences, made from the numbers by rules that the report prints beside them (`RULES`)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gauntlet.metrics.compare import fewest_repetitions
from gauntlet.metrics.intervals import DETERMINISTIC, Mean, mean, the_same
from gauntlet.metrics.kpi import Kpi, registry
from gauntlet.metrics.observation import State
from gauntlet.metrics.ratios import geometric, ratio
from gauntlet.report.axes import Axis, Condition
from gauntlet.report.campaign import TRANSFERS, Campaign, Cell
from gauntlet.report.numbers import counted, listed, number, observation_text, with_unit

KEEPS = 0.95
"""A protocol that keeps at least this share of a KPI from one end of a condition to the other is said to keep
it.
"""

RULES = (
    "Every number is a mean over repetitions; brackets hold its 95 % confidence interval (bootstrap by "
    "repetition from eight repetitions on, Student's t below, none for a single one nor where all are "
    "equal). n counts repetitions, never packets. Beside the mean stand the middle and the worst repetition.",
    "Flows that failed stay in the numbers. A transfer that did not end took longer than it was given and "
    "counts with its run's limit (restricted mean, marked ≥); a flow that was never established has a "
    "throughput of 0 and lost everything; a flow that delivered nothing has no delay and ranks behind all "
    "that have one. Where not all flows did what they were to do, their count (3 of 10) stands first.",
    "Best (★) under a condition is the protocol of which most flows did what they were to do, of several the "
    "one of the best mean.",
    "Worse is a protocol that another one beats beyond chance. All pairs are tested repetition by repetition "
    "(sign-flip permutation of the paired differences, of logarithms where all flows completed; "
    "adjusted for all pairs by the largest statistic, step-down), so that under one condition, for one KPI, "
    "the chance to call any protocol worse (▼) that does not differ is at most 5 %, by simulation too. Any "
    "other is not distinguishable from the best (≈), or beats it beyond chance and is not the best since "
    "fewer of its flows completed or its mean is the lesser one (▲). With fewer than "
    f"{fewest_repetitions()} repetitions nothing can be called worse, and no mark is set.",
    "The protocol named first is the safest choice: the one of which the fewest flows failed under the "
    "condition where most of its flows did, of several the one whose largest shortfall from the best mean, "
    "over all conditions of the experiment, is the smallest.",
    "What a condition costs is the ratio of a KPI between the condition's two ends, taken repetition by "
    "repetition and averaged, also over the other conditions, by its logarithm (geometric mean); where an "
    "end is zero it is the ratio of the means. A protocol that retains at least "
    f"{KEEPS * 100:.0f} % is said to keep that share; of the others it is said how much they lose.",
    "Deterministic: every repetition was the same one, since nothing was drawn that reached the flow; that "
    "is one observation (n = 1) without an interval.",
    "Flows with different work are judged apart and never averaged.",
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
    """The statements that the campaign's numbers support, the most important first; where flows have
    different work, those of each kind of flows.
    """
    if not any(row.trusted for row in campaign.rows) or not campaign.kpis:
        why = "No run can be trusted, so no conclusion is drawn" if campaign.kpis else "No run gave a number"
        return [Sentence("Result", f"{why}: see Trust for the reasons.")]
    found = []
    for part in campaign.parts:
        named = f" ({part.subject})" if part.subject else ""
        found += [replace(it, question=f"{it.question}{named}") for it in _of_part(part)]
    return found


def _of_part(campaign: Campaign) -> list[Sentence]:
    kpi = campaign.main_kpi
    if kpi is None or not any(row.trusted and row.observed(kpi) for row in campaign.rows):
        return [Sentence("Which protocol?", "No trusted run gave a number, so none is named.")]
    found = [_winner(campaign, kpi), *_failures(campaign)]
    found += [cost for axis in campaign.axes if axis.numeric for cost in _cost(campaign, kpi, axis)]
    for other in campaign.kpis:
        if other.name == "delay_p95_s" and other is not kpi and not campaign.apps & TRANSFERS:
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
        style.key: [campaign.numbers(kpi, style.key, condition) for condition in campaign.conditions]
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
            repeated = all(campaign.deterministic(key, campaign.conditions[place]) for place in used)
            average = the_same(averages[0]) if repeated else mean(averages)
            found[key] = average.within(kpi.least, kpi.most)
    return found


def shortfalls(campaign: Campaign, kpi: Kpi) -> dict[str, float]:
    """How far each ranked protocol is from the best mean under the condition where it is furthest, as a share
    of the best mean.

    The best mean is that of the star: of the protocols of which most flows completed. A protocol that gave up
    may have a better one, of the little that it did; it is then below zero.

    Infinite where in some repetition there is no number, since nothing came to be. A protocol that lacks a
    condition that others have is left out.
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
        # A mean over the repetitions in which something arrived is no mean to be held against.
        lacking = {key for key in values if cells[key].known < len(cells[key].observations)}
        counts = {key: campaign.done(key, condition) for key in values}
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


def failing(campaign: Campaign, protocol: str) -> float:
    """The largest share of a protocol's flows that did not do what they were to do, over the conditions."""
    shares = [campaign.done(protocol, condition) for condition in campaign.conditions]
    return max((1 - done / of for done, of in shares if of), default=0.0)


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
    if all(not any(campaign.done(key, it)[0] for it in campaign.conditions) for key in worst):
        return Sentence("Which protocol?", f"None: {_none_completed(campaign)}.")
    order = sorted(worst, key=lambda key: (round(failing(campaign, key), 9), worst[key]))
    lead = order[0]
    name = campaign.style(lead).label
    scope = " on average over all conditions" if len(judged) > 1 else ""
    average = f"{kpi.label} {_value(campaign, kpi, lead, means)}{scope}"
    if len(order) == 1:
        found = f"{name}: {_counts(campaign, lead)}{_lower(average)} (n = {means[lead].n})."
        rest = []
    else:
        found = f"{name} {_standing(campaign, kpi, order, worst, judged)}."
        rest = [f"{average}{_beside(kpi, judged, lead)}{_certainty(judged, lead, means[lead])}"]
        others = [
            f"{campaign.style(key).label} {_counts(campaign, key)}{_value(campaign, kpi, key, means)}"
            f"{_beside(kpi, judged, key)} ({_short(kpi, worst[key])})"
            for key in order[1:]
        ]
        rest.append(f"The others: {listed(others)}.")
    if unranked := [key for key in means if key not in campaign.ranked]:
        beside = [
            f"{campaign.style(key).label} {_counts(campaign, key)}{_value(campaign, kpi, key, means)}"
            for key in unranked
        ]
        rest.append(f"Not ranked, since lost messages are not sent again: {listed(beside)}.")
    if lacking := [key for key in campaign.ranked if key not in worst]:
        names = listed([campaign.style(key).label for key in lacking])
        rest.append(f"Not judged, since a number is missing under some condition: {names}.")
    return Sentence("Which protocol?", found, " ".join(rest))


def _standing(
    campaign: Campaign,
    kpi: Kpi,
    order: Sequence[str],
    worst: Mapping[str, float],
    judged: Sequence[Mapping[str, Cell]],
) -> str:
    """What is said of the leader, in the words of the table's marks."""
    lead, conditions = order[0], len(judged)
    if any(failing(campaign, key) for key in order):
        return _fewest_failures(campaign, kpi, order, worst)
    where = "under the only condition" if conditions == 1 else f"under all {conditions} conditions"
    stars = [row[lead].verdict for row in judged]
    if worst[lead] == 0 and all(verdict is not None and verdict.best for verdict in stars):
        level = [key for key in order[1:] if not all(_worse(row[key]) for row in judged)]
        if not level:
            return f"is best {where}"
        if not _testable(judged):
            return f"has the best mean {where}"
        told = listed([campaign.style(key).label for key in level])
        return f"has the best mean {where}, but cannot be told from {told}" + (
            "" if conditions == 1 else " under each of them"
        )
    if conditions == 1:
        return f"is {_share(worst[lead])} {_worse_side(kpi)} the best mean {where}"
    return f"is the safest choice: never more than {_share(worst[lead])} {_worse_side(kpi)} the best {where}"


def _fewest_failures(campaign: Campaign, kpi: Kpi, order: Sequence[str], worst: Mapping[str, float]) -> str:
    """The leader's standing where flows failed: completed flows come first."""
    lead, done = order[0], _done_words(campaign, order[0])
    alike = [key for key in order[1:] if failing(campaign, key) <= failing(campaign, lead)]
    if not alike:
        others = [f"{campaign.style(key).label} {_done_words(campaign, key)}" for key in order[1:]]
        return f"is the safest choice: {done} flows completed; of {listed(others)}"
    names = listed([campaign.style(key).label for key in alike])
    if math.isinf(worst[lead]):
        mean_words = "its mean is over the repetitions in which anything arrived"
    elif worst[lead] <= 0:
        mean_words = "none that completed as many has a better mean"
    else:
        mean_words = f"it is never more than {_share(worst[lead])} {_worse_side(kpi)} the best mean"
    return f"is the safest choice: {done} flows completed, no more failed than of {names}, and {mean_words}"


def _certainty(judged: Sequence[Mapping[str, Cell]], lead: str, average: Mean) -> str:
    """How sure the leader's place is: n, and under how many conditions it is level with the best."""
    n = f" (n = {average.n})"
    if average.method == DETERMINISTIC:
        return f"{n}. Deterministic: nothing was drawn, so it holds for just these settings."
    if average.n == 1:
        return f"{n}. One repetition cannot say whether that is chance."
    if not _testable(judged):
        few = fewest_repetitions()
        return f"{n}. So few repetitions cannot tell any protocol from another: that takes {few}."
    level = sum(_not_worse(row[lead]) for row in judged)
    return f"{n}; best or not distinguishable from the best in {level} of {len(judged)}."


def _testable(judged: Sequence[Mapping[str, Cell]]) -> bool:
    return any(
        cell.verdict is not None and not cell.verdict.best and cell.verdict.distinguishable is not None
        for row in judged
        for cell in row.values()
    )


def _beside(kpi: Kpi, judged: Sequence[Mapping[str, Cell]], key: str) -> str:
    """The middle and the worst repetition beside the mean of the only condition."""
    cell = judged[0][key]
    if len(judged) > 1 or cell.repetitions < 2:
        return ""
    median, worst = (observation_text(it, kpi.shown_factor) for it in (cell.median, cell.worst))
    return f", median {median}, worst {worst}"


def _value(campaign: Campaign, kpi: Kpi, key: str, means: Mapping[str, Mean]) -> str:
    """A protocol's mean for a sentence; where flows did not end, with what they count as."""
    limits = [campaign.cells(kpi, condition)[key].limit for condition in campaign.conditions]
    known = [it for it in limits if it is not None]
    if not known:
        return with_unit(kpi, means[key])
    most = f"up to {number(max(known) * kpi.shown_factor)} {kpi.shown_unit}"
    return f"≥ {with_unit(kpi, means[key])} (what did not end counts {most})"


def _done(campaign: Campaign, key: str) -> tuple[int, int]:
    """Completed flows and all flows over the conditions."""
    each = [campaign.done(key, condition) for condition in campaign.conditions]
    return sum(done for done, _ in each), sum(of for _, of in each)


def _done_words(campaign: Campaign, key: str) -> str:
    done, of = _done(campaign, key)
    return f"{done} of {of}"


def _counts(campaign: Campaign, key: str) -> str:
    """How many flows completed, before a number, where not all did."""
    done, of = _done(campaign, key)
    return f"{done} of {of} completed, " if done < of else ""


def _none_completed(campaign: Campaign) -> str:
    counts = [_done(campaign, style.key) for style in campaign.styles]
    flows = sum(of for _, of in counts)
    return f"not one of {counted(flows, 'flow')} did what it was to do"


def _short(kpi: Kpi, shortfall: float) -> str:
    if math.isinf(shortfall):
        return "of the repetitions in which anything arrived"
    if shortfall < 0:
        return "a better mean, but fewer flows completed"
    if shortfall == 0:
        return "the best mean"
    return f"up to {_share(shortfall)} {_worse_side(kpi)} the best mean"


def _share(shortfall: float) -> str:
    """A share in per cent, rounded up: it is said to be the most."""
    # Rounded first, since a share of exactly 2.1 % may come as 2.1000000000000001.
    return f"{math.ceil(round(shortfall * 1000, 6)) / 10:.1f} %"


def _worse_side(kpi: Kpi) -> str:
    return "below" if kpi.higher_is_better else "above"


def _worse(cell: Cell) -> bool:
    return cell.verdict is not None and cell.verdict.distinguishable is True


def _not_worse(cell: Cell) -> bool:
    return cell.verdict is not None and cell.verdict.standing in ("best", "level")


def _failures(campaign: Campaign) -> list[Sentence]:
    """Which flows did not do what they were to do, by protocol, and under which condition most."""
    counts = {style.key: _done(campaign, style.key) for style in campaign.styles}
    flows, failed = sum(of for _, of in counts.values()), sum(of - done for done, of in counts.values())
    if not failed:
        return []
    parts = []
    for key, (done, of) in counts.items():
        if done == of:
            continue
        where = ""
        if len(campaign.conditions) > 1:
            most = max(campaign.conditions, key=lambda it: _failed_share(campaign, key, it))
            there, of_there = campaign.done(key, most)
            where = f" (most at {campaign.label(most)}: {of_there - there} of {of_there})"
        parts.append(f"{campaign.style(key).label} {of - done} of {of}{where}")
    text = f"No: {failed} of {counted(flows, 'flow')} failed. {listed(parts)}. The reasons stand under Trust."
    return [Sentence("Does every flow do its work?", text)]


def _failed_share(campaign: Campaign, key: str, condition: Condition) -> float:
    done, of = campaign.done(key, condition)
    return 1 - done / of if of else 0.0


def _cost(campaign: Campaign, kpi: Kpi, axis: Axis) -> list[Sentence]:
    """What the far end of a condition costs each protocol, as a share of the KPI at the near end."""
    low, high = axis.values[0], axis.values[-1]
    found = {style.key: _ratio(campaign, kpi, axis, style.key) for style in campaign.styles}
    ratios = {key: it for key, it in found.items() if isinstance(it, Mean)}
    nothing = [campaign.style(key).label for key, it in found.items() if it == _NOTHING]
    dead = [campaign.style(key).label for key, it in found.items() if it == _DEAD]
    if not ratios and not nothing and not dead:
        return []
    order = sorted(ratios, key=lambda key: ratios[key].value)
    if kpi.higher_is_better:
        keep = [key for key in order if ratios[key].value >= KEEPS][::-1]
        lose = [key for key in order if ratios[key].value < KEEPS]
        losses = {key: _complement(ratios[key]) for key in lose}
        parts = [_told(campaign, "keeps", {key: _percent(ratios[key]) for key in keep})] if keep else []
        parts += [_told(campaign, "loses", {key: _percent(losses[key]) for key in lose})] if lose else []
    else:
        least = {key: _unfinished(campaign, kpi, key) for key in order}
        taken = {key: f"{'at least ' if least[key] else ''}{_times(ratios[key])}" for key in order}
        parts = [_told(campaign, "takes", taken)] if taken else []
    if nothing:
        parts.append(f"{listed(nothing)} delivered nothing even at {axis.label(low)}")
    if dead:
        parts.append(f"of {listed(dead)} there is no ratio, since in some repetitions nothing arrived")
    counts = {ratio.n for ratio in ratios.values()}
    n = f" (n = {min(counts)}{f' to {max(counts)}' if len(counts) > 1 else ''})" if counts else ""
    text = f"{kpi.label}, {axis.label(high)} against {axis.label(low)}: {'; '.join(parts)}{n}."
    return [Sentence(f"What does {axis.words} cost?", text)]


def _unfinished(campaign: Campaign, kpi: Kpi, key: str) -> bool:
    cells = (campaign.cells(kpi, condition)[key] for condition in campaign.conditions)
    return any(cell.limit is not None for cell in cells)


def _told(campaign: Campaign, verb: str, values: Mapping[str, str]) -> str:
    """Protocols and their values with the verb once: "TCP BBR keeps 95 % and UDP 99 %"."""
    labels = [campaign.style(key).label for key in values]
    if labels:
        labels[0] += f" {verb}"
    return listed([f"{label} {value}" for label, value in zip(labels, values.values(), strict=True)])


_NOTHING = "nothing"
"""In place of a ratio: nothing arrived at the near end, so there is nothing to relate the far end to."""

_DEAD = "dead"
"""In place of a ratio: some repetition has no number, and a ratio of the others would praise who failed."""


def _ratio(campaign: Campaign, kpi: Kpi, axis: Axis, protocol: str) -> Mean | str | None:
    """KPI at the far end over KPI at the near end, one value a repetition, averaged over the other
    conditions.
    """
    position = campaign.axes.index(axis)
    pairs: dict[int, list[tuple[float, float]]] = {}
    steps = []
    for condition in campaign.conditions:
        far = (*condition[:position], axis.values[-1], *condition[position + 1 :])
        if condition[position] != axis.values[0] or far not in campaign.conditions:
            continue
        steps += [condition, far]
        if any(
            it.state == State.NEVER
            for at in (condition, far)
            for it in campaign.values(kpi, protocol, at).values()
        ):
            return _DEAD
        near_values = campaign.numbers(kpi, protocol, condition)
        far_values = campaign.numbers(kpi, protocol, far)
        for repetition in near_values.keys() & far_values.keys():
            pairs.setdefault(repetition, []).append((far_values[repetition], near_values[repetition]))
    # A repetition that lacks a condition would average over a different mix than the others.
    whole = [each for _, each in sorted(pairs.items()) if 2 * len(each) == len(steps)]
    if not whole:
        return None
    average = _average(whole)
    if average is None:
        return _NOTHING
    if all(campaign.deterministic(protocol, condition) for condition in steps):
        average = the_same(average.value)
    return average.within(0.0, math.inf)


def _average(whole: Iterable[Sequence[tuple[float, float]]]) -> Mean | None:
    """Of each repetition's pairs (far, near): geometric, or where something is zero the ratio of the means;
    None when the near ends are all zero.
    """
    each = list(whole)
    if all(value > 0 for pairs in each for pair in pairs for value in pair):
        logarithms = [sum(math.log(far / near) for far, near in pairs) / len(pairs) for pairs in each]
        return geometric([math.exp(it) for it in logarithms])
    return ratio(
        [sum(it[0] for it in pairs) for pairs in each], [sum(it[1] for it in pairs) for pairs in each]
    ).mean


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


def _extremes(campaign: Campaign, kpi: Kpi) -> list[Sentence]:
    """Who has the lowest and the highest delay over all conditions, where the application feels it: a flow
    that sends all it can fills its own sender's buffer, and its delay is how large that is.
    """
    greedy = {row.protocol for row in campaign.rows if row.greedy}
    means = overall(campaign, kpi)
    dead = {
        key
        for key in (style.key for style in campaign.styles)
        for condition in campaign.conditions
        if any(it.state == State.NEVER for it in campaign.values(kpi, key, condition).values())
    }
    felt = {key: it for key, it in means.items() if key not in greedy and key not in dead}
    buffered = [campaign.style(key).label for key in means if key in greedy]
    parts = []
    n = ""
    if len(felt) > 1:
        low, high = min(felt, key=lambda key: felt[key].value), max(felt, key=lambda key: felt[key].value)
        n = f" (n = {felt[low].n})"
        parts.append(
            f"{kpi.label}, over all conditions: lowest for {campaign.style(low).label} with "
            f"{with_unit(kpi, felt[low])}, highest for {campaign.style(high).label} with "
            f"{with_unit(kpi, felt[high])}{n}."
        )
    if dead:
        named = listed([style.label for style in campaign.styles if style.key in dead])
        parts.append(f"{named}: in some repetitions nothing arrived, so there is no delay to rank.")
    if buffered:
        parts.append(
            f"Not judged for {listed(buffered)}: they send all they can, so a message waits in its own "
            "sender's buffer, and its delay measures that. Give the flow a rate below the line's to see what "
            "an application feels."
        )
    return [Sentence("Which is quickest?", " ".join(parts))] if parts else []


def _losses(campaign: Campaign, kpi: Kpi) -> list[Sentence]:
    """Which protocols lost messages."""
    means = overall(campaign, kpi)
    lossy: Mapping[str, Mean] = {key: value for key, value in means.items() if value.value > 0}
    if not means:
        return []
    whole = [campaign.style(key).label for key in means if key not in lossy]
    if not lossy:
        failed = any(not row.completed for row in campaign.rows if row.trusted)
        what = "that was handed over " if failed else ""
        return [Sentence("Does everything arrive?", f"Every message {what}of every trusted run arrived.")]
    named = [
        f"{campaign.style(key).label} {with_unit(kpi, value)}"
        for key, value in sorted(lossy.items(), key=lambda item: -item[1].value)
    ]
    text = f"Messages lost, over all conditions: {listed(named)}"
    if whole:
        text += f"; none for {listed(whole)}"
    text += _dropped_by_senders(campaign)
    counts = {it.n for it in means.values()}
    n = str(min(counts)) if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
    return [Sentence("Does everything arrive?", f"{text} (n = {n}).")]


def _dropped_by_senders(campaign: Campaign) -> str:
    """Which part of the losses is none of the network's; nothing to say where there is none."""
    kpi = registry()["sender_drop_ratio"]
    means = overall(campaign, kpi) if kpi in campaign.kpis else {}
    named = [
        f"{campaign.style(key).label} {with_unit(kpi, value)}"
        for key, value in means.items()
        if value.value > 0
    ]
    return f"; of that, dropped by the sender's own queue: {listed(named)}" if named else ""


def _lower(label: str) -> str:
    return label[0].lower() + label[1:]
