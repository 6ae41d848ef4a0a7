"""Which is quickest? Delays where an application feels them."""

from collections.abc import Collection

from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.numbers import listed, with_unit
from gauntlet.metrics.observation import State
from gauntlet.report.answer.ranking import overall
from gauntlet.report.answer.wording import Sentence
from gauntlet.report.evaluation import Evaluation


def quickest(evaluation: Evaluation, kpi: Kpi) -> list[Sentence]:
    """Who has the lowest and the highest delay over all conditions, where the application feels it: a flow
    that sends all it can fills its own sender's buffer, and its delay is how large that is. Who did not bring
    everything is named, and not ranked by what arrived.
    """
    means = overall(evaluation, kpi)
    keys = [style.key for style in evaluation.styles]
    greedy = {row.protocol for row in evaluation.rows if row.greedy}
    dead, cut = (
        {key for key in keys if _has(evaluation, kpi, key, state)} for state in (State.NEVER, State.CENSORED)
    )
    told = {key: it for key, it in means.items() if key not in greedy | dead | cut}
    felt = {key: it for key, it in told.items() if key in evaluation.ranked}
    parts = []
    if len(felt) > 1:
        low, high = min(felt, key=lambda key: felt[key].value), max(felt, key=lambda key: felt[key].value)
        alike = with_unit(kpi, felt[low]) == with_unit(kpi, felt[high])
        parts.append(
            f"{kpi.label}, over all conditions: {with_unit(kpi, felt[low])} for "
            f"{listed([evaluation.style(key).label for key in felt])} alike (n = {felt[low].n})."
            if alike
            else f"{kpi.label}, over all conditions: lowest for {evaluation.style(low).label} with "
            f"{with_unit(kpi, felt[low])}, highest for {evaluation.style(high).label} with "
            f"{with_unit(kpi, felt[high])} (n = {felt[low].n})."
        )
    if beside := [key for key in told if key not in felt]:
        named = listed([f"{evaluation.style(key).label} {with_unit(kpi, told[key])}" for key in beside])
        parts.append(f"Not ranked, since it is the delay of what arrived, and the rest was lost: {named}.")
    if dead:
        parts.append(
            f"{_labels(evaluation, dead)}: in some repetitions nothing arrived, so there is no delay to rank."
        )
    if failed := cut - dead - greedy:
        parts.append(
            f"{_labels(evaluation, failed)}: flows failed, and what they did not bring is in no delay, so "
            "they are not ranked."
        )
    if buffered := [key for key in means if key in greedy]:
        send = "it sends all it can" if len(buffered) == 1 else "they send all they can"
        parts.append(
            f"Not judged for {_labels(evaluation, buffered)}: {send}, so a message waits in its own sender's "
            "buffer, and its delay measures that. Give the flow a rate below the line's to see what an "
            "application feels."
        )
    return [Sentence("Which is quickest?", " ".join(parts))] if parts else []


def _has(evaluation: Evaluation, kpi: Kpi, key: str, state: State) -> bool:
    """Whether some repetition of a protocol says no more than this."""
    return any(
        it.state == state
        for condition in evaluation.conditions
        for it in evaluation.values(kpi, key, condition).values()
    )


def _labels(evaluation: Evaluation, keys: Collection[str]) -> str:
    return listed([style.label for style in evaluation.styles if style.key in keys])
