"""Does everything arrive? Which protocols lost messages, and what of that their own senders dropped."""

from collections.abc import Collection, Mapping

from gauntlet.metrics.intervals import Mean
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.numbers import listed, with_unit
from gauntlet.metrics.registry import registry
from gauntlet.report.answer.ranking import overall
from gauntlet.report.answer.wording import Sentence
from gauntlet.report.evaluation import Evaluation


def losses(evaluation: Evaluation, kpi: Kpi) -> list[Sentence]:
    """Which protocols lost messages."""
    means = overall(evaluation, kpi)
    lossy: Mapping[str, Mean] = {key: value for key, value in means.items() if value.value > 0}
    if not means:
        return []
    whole = [evaluation.style(key).label for key in means if key not in lossy]
    if not lossy:
        failed = any(not row.completed for row in evaluation.rows if row.trusted)
        what = "that was handed over " if failed else ""
        return [Sentence("Does everything arrive?", f"Every message {what}of every trusted run arrived.")]
    named = [
        f"{evaluation.style(key).label} {with_unit(kpi, value)}"
        for key, value in sorted(lossy.items(), key=lambda item: -item[1].value)
    ]
    text = f"Messages lost, over all conditions: {listed(named)}"
    if whole:
        text += f"; none for {listed(whole)}"
    text += _dropped_by_senders(evaluation)
    text += _broken_off(evaluation, lossy)
    counts = {it.n for it in means.values()}
    n = str(min(counts)) if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
    return [Sentence("Does everything arrive?", f"{text} (n = {n}).")]


def _dropped_by_senders(evaluation: Evaluation) -> str:
    """Which part of the losses is none of the network's; nothing to say where there is none."""
    kpi = registry()["sender_drop_ratio"]
    means = overall(evaluation, kpi) if kpi in evaluation.kpis else {}
    named = [
        f"{evaluation.style(key).label} {with_unit(kpi, value)}"
        for key, value in means.items()
        if value.value > 0
    ]
    return f"; of that, dropped by the sender's own queue: {listed(named)}" if named else ""


def _broken_off(evaluation: Evaluation, lossy: Collection[str]) -> str:
    """Whose receivers stopped where their flows failed; nothing to say where none did."""
    named = []
    for style in evaluation.styles:
        flows = [row for row in evaluation.rows if row.trusted and row.protocol == style.key]
        stopped = sum(bool(row.reason) and not row.completed and row.received_bytes > 0 for row in flows)
        if style.key in lossy and stopped:
            named.append(f"{style.label} {stopped} of {len(flows)}")
    if not named:
        return ""
    return (
        "; the receiver of a flow that fails takes nothing more, so what comes after counts as lost here, "
        f"whether or not the path carries it (flows that failed underway: {listed(named)})"
    )
