"""Which protocol? Who is the safest choice over all conditions, and how the others do."""

import math
from collections.abc import Collection, Mapping, Sequence

from gauntlet.metrics.compare import too_few
from gauntlet.metrics.intervals import DETERMINISTIC, Mean
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.numbers import counted, interval_text, listed, mean_text, observation_text
from gauntlet.metrics.observation import State
from gauntlet.metrics.ratios import ratio
from gauntlet.report.answer.ranking import failing, overall, shortfalls
from gauntlet.report.answer.wording import (
    Sentence,
    completed_of,
    counts_words,
    under_all,
    value_words,
    which,
)
from gauntlet.report.cell import Cell
from gauntlet.report.evaluation import Evaluation


def winner(evaluation: Evaluation, kpi: Kpi) -> Sentence:
    """Who is the safest choice over all conditions, how it stands under each, and how the others do."""
    question = which(evaluation)
    cells = [evaluation.cells(kpi, condition) for condition in evaluation.conditions]
    judged = [row for row in cells if any(cell.standing is not None for cell in row.values())]
    means = overall(evaluation, kpi)
    worst = {key: share for key, share in shortfalls(evaluation, kpi).items() if key in means}
    if not worst:
        return Sentence(question, "None has trusted runs under every condition, so none is named.")
    if all(not any(evaluation.done(key, it)[0] for it in evaluation.conditions) for key in worst):
        found = f"None: {_none_completed(evaluation, worst)}."
        return Sentence(question, found, _beside_ranking(evaluation, kpi, means))
    order = sorted(worst, key=lambda key: (round(failing(evaluation, key), 9), worst[key]))
    lead = order[0]
    name = evaluation.style(lead).label
    many = len(evaluation.conditions)
    scope = {1: "", 2: " on average over both conditions"}.get(many, " on average over all conditions")
    average = f"{kpi.label} {value_words(evaluation, kpi, lead, means)}{scope}"
    if len(order) == 1:
        found = f"{name}: {counts_words(evaluation, lead)}{_lower(average)} (n = {means[lead].n})."
        rest = []
    else:
        equal = _all_equal(evaluation, order, judged)
        found = f"{equal or f'{name} {_standing(evaluation, kpi, order, worst, judged)}'}."
        average = f"{name}: {_lower(average)}" if equal else average
        few = _few(judged)
        rest = [f"{average}{_beside(evaluation, kpi, lead)}{_certainty(judged, lead, means[lead])}"]
        rest += [f"{few}."] if few and few not in found else []
        others = [
            f"{_counted_value(evaluation, kpi, key, means)}{_beside(evaluation, kpi, key)} "
            f"({_short(kpi, worst[key])})"
            for key in order[1:]
        ]
        rest.append(f"The other{'s' * (len(others) > 1)}: {listed(others)}.")
    if unranked := _beside_ranking(evaluation, kpi, means):
        rest.append(unranked)
    if lacking := [key for key in evaluation.ranked if key not in worst]:
        names = listed([evaluation.style(key).label for key in lacking])
        rest.append(f"Not judged, since a number is missing under some condition: {names}.")
    return Sentence(question, found, " ".join(rest))


def _beside_ranking(evaluation: Evaluation, kpi: Kpi, means: Mapping[str, Mean]) -> str:
    """How those do that are not ranked; empty without such."""
    beside = [_counted_value(evaluation, kpi, key, means) for key in means if key not in evaluation.ranked]
    return f"Not ranked, since lost messages are not sent again: {listed(beside)}." if beside else ""


def _counted_value(evaluation: Evaluation, kpi: Kpi, key: str, means: Mapping[str, Mean]) -> str:
    """A protocol's label, how many of its flows completed where not all did, and its mean."""
    label, counts = evaluation.style(key).label, counts_words(evaluation, key)
    return f"{label} {counts}{value_words(evaluation, kpi, key, means)}"


def _all_equal(evaluation: Evaluation, order: Sequence[str], judged: Sequence[Mapping[str, Cell]]) -> str:
    """That nobody differs from the leader by what matters, under any condition; empty where somebody does."""
    others = [row[key] for row in judged for key in order[1:]]
    if not others or any(failing(evaluation, key) for key in order) or not all(map(_equals, others)):
        return ""
    names = listed(sorted(evaluation.style(key).label for key in order))
    where = under_all(len(judged)) if len(judged) == len(evaluation.conditions) else ""
    share = f"{100 * evaluation.about.matters:g} %"
    return f"{names} are equal{where}: they differ by less than the {share} that matter"


def _margin(evaluation: Evaluation, kpi: Kpi, order: Sequence[str]) -> str:
    """By how much the better of two is ahead under the only condition, repetition by repetition; empty where
    some repetition of either has no number above zero.
    """
    (condition,) = evaluation.conditions
    one, other = (evaluation.values(kpi, key, condition) for key in order)
    shared = sorted(one.keys() & other.keys())
    pairs = [(one[it], other[it]) for it in shared]
    if not pairs or any(it.state != State.MEASURED or it.value <= 0 for pair in pairs for it in pair):
        return ""
    found = ratio([it.value for it, _ in pairs], [it.value for _, it in pairs]).mean
    if found is None:
        return ""
    sign = 1 if kpi.higher_is_better else -1
    share = Mean(sign * (found.value - 1), *_ends(found, sign), found.n, found.method)
    interval = interval_text(share, 100.0)
    by = f"{mean_text(share, 100.0)} %{f' [{interval}]' * bool(interval)}"
    side = "above" if kpi.higher_is_better else "below"
    return f": {_lower(kpi.label)} {by} {side} that of {evaluation.style(order[1]).label}"


def _ends(of: Mean, sign: int) -> tuple[float | None, float | None]:
    """The interval of a ratio as one of the share by which it differs from 1."""
    if of.low is None or of.high is None:
        return None, None
    low, high = sorted((sign * (of.low - 1), sign * (of.high - 1)))
    return low, high


def _standing(
    evaluation: Evaluation,
    kpi: Kpi,
    order: Sequence[str],
    worst: Mapping[str, float],
    judged: Sequence[Mapping[str, Cell]],
) -> str:
    """What is said of the leader, in the words of the table's marks; of two under the only condition, by how
    much it is the better one.
    """
    lead, conditions = order[0], len(judged)
    if any(failing(evaluation, key) for key in order):
        return _fewest_failures(evaluation, kpi, order, worst)
    where = under_all(conditions)
    if conditions < len(evaluation.conditions):
        where = f" under the {counted(conditions, 'condition')} with a number"
    stars = [row[lead].standing for row in judged]
    if worst[lead] == 0 and all(standing is not None and standing.best for standing in stars):
        equal = [key for key in order[1:] if all(_equals(row[key]) for row in judged)]
        rest = [key for key in order[1:] if key not in equal]
        level = [key for key in rest if not all(_worse(row[key]) for row in judged)]
        beside = _equal_words(evaluation, equal)
        if not level:
            by = "" if equal or where or len(order) != 2 else _margin(evaluation, kpi, order)
            return f"has the best mean{where}{beside}" if equal else f"is best{where}{by}"
        if few := _few(judged):
            return f"has the best mean{where}{beside}, but {few}"
        told = listed([evaluation.style(key).label for key in level])
        each = {1: "", 2: " under each of the two"}.get(conditions, " under each of them")
        return f"has the best mean{where}{beside}, but cannot be told from {told}{each}"
    if conditions == 1:
        return f"is {_share(worst[lead])} {_worse_side(kpi)} the best mean"
    return f"is the safest choice: never more than {_share(worst[lead])} {_worse_side(kpi)} the best{where}"


def _equal_words(evaluation: Evaluation, keys: Sequence[str]) -> str:
    """Who differs from the leader by less than matters under every condition; empty where nobody does."""
    if not keys:
        return ""
    names = listed([evaluation.style(key).label for key in keys])
    verb = "equals" if len(keys) == 1 else "equal"
    return f", which {names} {verb} within the {100 * evaluation.about.matters:g} % that matter"


def _fewest_failures(
    evaluation: Evaluation, kpi: Kpi, order: Sequence[str], worst: Mapping[str, float]
) -> str:
    """The leader's standing where flows failed: completed flows come first."""
    lead, done = order[0], _done_words(evaluation, order[0])
    alike = [key for key in order[1:] if failing(evaluation, key) <= failing(evaluation, lead)]
    if not alike:
        others = [f"{evaluation.style(key).label} {_done_words(evaluation, key)}" for key in order[1:]]
        return f"is the safest choice: {done} flows completed; of {listed(others)}"
    names = listed([evaluation.style(key).label for key in alike])
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
    if not _testable(judged) or len(judged) == 1:
        return f"{n}."
    level, good = sum(_not_worse(row[lead]) for row in judged), "best or not distinguishable from the best"
    if len(judged) == 2:
        return f"{n}; {good} under {('neither', 'one', 'both')[level]} of the two."
    return f"{n}; {good} in {level} of {len(judged)}."


def _few(judged: Sequence[Mapping[str, Cell]]) -> str:
    """What so few repetitions say; empty where there are enough, or nothing was drawn."""
    if _testable(judged):
        return ""
    counts = [len(cell.observations) for row in judged for cell in row.values() if cell.standing is not None]
    return too_few(min(counts)) if counts else ""


def _testable(judged: Sequence[Mapping[str, Cell]]) -> bool:
    """Whether anything could be told from the best by a test, or since nothing was drawn."""
    others = [cell.standing for row in judged for cell in row.values() if cell.standing is not None]
    return any(it.p_value is not None or it.distinguishable is not None for it in others if not it.best)


def _beside(evaluation: Evaluation, kpi: Kpi, key: str) -> str:
    """The middle and the worst repetition beside the mean, where there is but one condition."""
    if len(evaluation.conditions) > 1:
        return ""
    cell = evaluation.cells(kpi, evaluation.conditions[0])[key]
    if cell.repetitions < 2:
        return ""
    median, worst = (observation_text(it, kpi.shown_factor) for it in (cell.median, cell.worst))
    return f", median {median}, worst {worst}"


def _done_words(evaluation: Evaluation, key: str) -> str:
    done, of = completed_of(evaluation, key)
    return f"{done} of {of}"


def _none_completed(evaluation: Evaluation, keys: Collection[str]) -> str:
    if len(keys) < len(evaluation.styles):
        names = listed([style.label for style in evaluation.styles if style.key in keys])
        return f"no flow of {names} did what it was to do"
    flows = sum(completed_of(evaluation, key)[1] for key in keys)
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
    """A share in per cent, rounded up: it is said to be the most. From the whole on without a decimal."""
    if shortfall >= 1:
        return f"{math.ceil(round(shortfall * 100, 6))} %"
    # Rounded first, since a share of exactly 2.1 % may come as 2.1000000000000001.
    return f"{math.ceil(round(shortfall * 1000, 6)) / 10:.1f} %"


def _worse_side(kpi: Kpi) -> str:
    return "below" if kpi.higher_is_better else "above"


def _worse(cell: Cell) -> bool:
    return cell.standing is not None and cell.standing.distinguishable is True


def _equals(cell: Cell) -> bool:
    return cell.standing is not None and cell.standing.word == "equal"


def _not_worse(cell: Cell) -> bool:
    return cell.standing is not None and cell.standing.word in ("best", "equal", "level")


def _lower(label: str) -> str:
    return label[0].lower() + label[1:]
