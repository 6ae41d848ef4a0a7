"""A KPI against a numeric condition (delay, loss): means with intervals, small multiples by the others."""

from gauntlet.figures import against as chart
from gauntlet.figures.look import Look, facet_columns, facet_width
from gauntlet.figures.tidy import Quantity, add
from gauntlet.metrics.kpi import Kpi
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.factors import Condition, Factor
from gauntlet.report.figures.figure import Figure, figure


def against(evaluation: Evaluation, kpi: Kpi, factor: Factor) -> Figure | None:
    """One KPI against one factor; None when no trusted run has it."""
    keys = ("condition", "protocol", "level", "value", "low", "high", "n", "completed", "whole")
    rows: dict[str, list[object]] = {key: [] for key in keys}
    position = evaluation.factors.index(factor)
    for condition in evaluation.conditions:
        cells = evaluation.cells(kpi, condition)
        level = factor.shown(condition[position])
        for style in evaluation.styles:
            found = cells[style.key]
            if found.mean is None or not found.trusted:
                continue
            value, low, high = (
                found.mean.value if end is None else end
                for end in (found.mean.value, found.mean.low, found.mean.high)
            )
            shown = [number * kpi.shown_factor for number in (value, low, high)]
            others = _others(evaluation, condition, position)
            done = (f"{found.completed} of {found.flows}", int(found.completed == found.flows))
            add(rows, others, style.label, level, *shown, found.repetitions, *done)
    if not rows["value"]:
        return None
    words = factor.words[0].upper() + factor.words[1:]
    count = len(set(rows["condition"]))
    drawn = chart.against(
        rows,
        Quantity(words, factor.unit),
        Quantity(kpi.label, kpi.shown_unit),
        look=Look.of_styles(evaluation.styles),
        width=facet_width(max(facet_columns(count), 2)),
        named={factor.shown(value): factor.label(value) for value in factor.values},
    )
    return figure(
        name=evaluation.named(f"{kpi.name}-against-{factor.name}".replace("_", "-")),
        title=evaluation.titled(f"{kpi.label} against {factor.words}"),
        caption=f"Means over repetitions of trusted runs, each with its {evaluation.interval}; protocols at "
        "one level are drawn side by side. Hollow: not all flows completed; what did not end counts with its "
        f"limit, and what has no number is not in the mean. {kpi.definition}",
        chart=drawn,
        columns=rows,
    )


def _others(evaluation: Evaluation, condition: Condition, position: int) -> str:
    """The condition without one factor, for people."""
    parts = [
        f"{factor.words} {factor.label(value)}"
        for place, (factor, value) in enumerate(zip(evaluation.factors, condition, strict=True))
        if place != position
    ]
    return ", ".join(parts) or "all runs"
