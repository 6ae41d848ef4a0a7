"""A KPI against a numeric condition (delay, loss): means with intervals, small multiples by the others."""

from gauntlet.figures import against as chart
from gauntlet.figures.look import Look, facet_columns, facet_width
from gauntlet.figures.tidy import Quantity, add
from gauntlet.metrics.kpi import Kpi
from gauntlet.report.axes import Axis, Condition
from gauntlet.report.campaign import Campaign
from gauntlet.report.figures.figure import Figure, figure


def against(campaign: Campaign, kpi: Kpi, axis: Axis) -> Figure | None:
    """One KPI against one axis; None when no trusted run has it."""
    keys = ("condition", "protocol", "level", "value", "low", "high", "n", "completed", "whole")
    rows: dict[str, list[object]] = {key: [] for key in keys}
    position = campaign.axes.index(axis)
    for condition in campaign.conditions:
        cells = campaign.cells(kpi, condition)
        level = axis.shown(condition[position])
        for style in campaign.styles:
            found = cells[style.key]
            if found.mean is None or not found.trusted:
                continue
            value, low, high = (
                found.mean.value if end is None else end
                for end in (found.mean.value, found.mean.low, found.mean.high)
            )
            shown = [number * kpi.shown_factor for number in (value, low, high)]
            others = _others(campaign, condition, position)
            done = (f"{found.completed} of {found.flows}", int(found.completed == found.flows))
            add(rows, others, style.label, level, *shown, found.repetitions, *done)
    if not rows["value"]:
        return None
    words = axis.words[0].upper() + axis.words[1:]
    count = len(set(rows["condition"]))
    drawn = chart.against(
        rows,
        Quantity(words, axis.unit),
        Quantity(kpi.label, kpi.shown_unit),
        look=Look.of_styles(campaign.styles),
        width=facet_width(max(facet_columns(count), 2)),
    )
    return figure(
        name=campaign.named(f"{kpi.name}-against-{axis.name}".replace("_", "-")),
        title=campaign.titled(f"{kpi.label} against {axis.words}"),
        caption="Means over repetitions of trusted runs, 95 % intervals; protocols at one level are drawn "
        "side by side. Hollow: not all flows completed; what did not end counts with its limit, and what has "
        f"no number is not in the mean. {kpi.definition}",
        chart=drawn,
        columns=rows,
    )


def _others(campaign: Campaign, condition: Condition, position: int) -> str:
    """The condition without one axis, for people."""
    parts = [
        f"{axis.words} {axis.label(value)}"
        for place, (axis, value) in enumerate(zip(campaign.axes, condition, strict=True))
        if place != position
    ]
    return ", ".join(parts) or "all runs"
