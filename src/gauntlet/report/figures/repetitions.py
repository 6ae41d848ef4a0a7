"""Every repetition of what flows are judged by: as a dot beside mean and median, and what was over by when.

A mean can lie where no repetition does: four of 2 s and one outage of 60 s are 14 s on average. The dots show
it.
"""

import itertools
from collections.abc import Sequence
from dataclasses import replace

from gauntlet.figures import cdf as chart
from gauntlet.figures.look import Look, facet_columns, facet_width
from gauntlet.figures.repetitions import AT_LIMIT, MEAN, MEASURED, MEDIAN, repetitions
from gauntlet.figures.style import OF_SUBJECT, Style
from gauntlet.figures.tidy import Quantity, add
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.numbers import counted
from gauntlet.metrics.observation import State, finished
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.figures.figure import Figure, figure

STATES = {
    State.MEASURED: MEASURED,
    State.CENSORED: AT_LIMIT,
    State.NEVER: "nothing came to be",
}


MOST_DOTS = 10_000
"""Dots in a figure; of a larger campaign the first repetitions of each cell are drawn, as many of each."""

MOST_STEPS = 24_000
"""Steps over all curves of a figure."""


def dots(parts: Sequence[Evaluation], kpi: Kpi) -> Figure | None:
    """One dot a repetition of flows that are judged by the same, those of each part and their protocols below
    each other; None when no trusted run has anything.
    """
    looks = _rows(parts)
    keys = ("condition", "protocol", "kind", "value", "low", "high", "repetition", "n")
    rows: dict[str, list[object]] = {key: [] for key in keys}
    each = max(MOST_DOTS // max(sum(len(it.conditions) * len(it.styles) for it in parts), 1), 1)
    left_out = False
    cells = (
        (part, condition, name, cell)
        for part in parts
        for condition in part.conditions
        for name, cell in part.cells(kpi, condition).items()
    )
    for part, condition, name, cell in cells:
        if cell.trusted and cell.observations:
            place = (part.label(condition), looks[part.subject, name].label)
            left_out = left_out or len(cell.observations) > each
            for repetition, seen in itertools.islice(cell.observations.items(), each):
                # What never came to be has no place on the axis; it stands in the row's data.
                value = "" if seen.state == State.NEVER else seen.value * kpi.shown_factor
                add(rows, *place, STATES[seen.state], value, "", "", repetition, cell.repetitions)
            for kind, number in ((MEAN, cell.mean), (MEDIAN, cell.median)):
                if number is None or (kind == MEDIAN and cell.median and cell.median.state == State.NEVER):
                    continue
                ends: list[object] = ["", ""]
                if cell.mean and kind == MEAN and cell.mean.low is not None and cell.mean.high is not None:
                    ends = [end * kpi.shown_factor for end in (cell.mean.low, cell.mean.high)]
                add(rows, *place, kind, number.value * kpi.shown_factor, *ends, "", cell.repetitions)
    if not rows["value"]:
        return None
    title, first = f"{kpi.label}, every repetition", parts[0]
    return figure(
        name=first.named("repetitions"),
        title=first.titled(title) if len(parts) == 1 else title,
        caption=(
            f"The first {counted(each, 'repetition')} of each cell as dots (the table of the flows has all), "
            if left_out
            else "One dot a repetition "
        )
        + "of trusted runs, the first on top; a cross is one that did not end and "
        f"stands at its limit. The upright stroke is the mean with its {first.interval}, the diamond the "
        "median. " + kpi.definition,
        chart=repetitions(
            rows, Quantity(kpi.label, kpi.shown_unit), look=Look.of_styles(list(looks.values()))
        ),
        columns=rows,
    )


def _rows(parts: Sequence[Evaluation]) -> dict[tuple[str, str], Style]:
    """How each protocol of each part looks and what its row is called: by the flow, too, where there are
    several, and by that alone where it was played over one protocol.
    """
    found = {}
    for part in parts:
        for style in part.styles:
            called = part.subject if len(part.styles) == 1 else f"{part.subject}{OF_SUBJECT}{style.label}"
            label = style.label if len(parts) == 1 else called
            found[part.subject, style.key] = replace(style, label=label)
    return found


def over_by(evaluation: Evaluation, kpi: Kpi) -> Figure | None:
    """For a time until something is over: which share of the repetitions was over by when; None for all
    other KPIs, and where there are no two repetitions.
    """
    if not kpi.censored:
        return None
    keys = ("condition", "protocol", "value", "share", "low", "high", "n")
    rows: dict[str, list[object]] = {key: [] for key in keys}
    several = False
    most = max(MOST_STEPS // max(len(evaluation.conditions) * len(evaluation.styles), 1), 20)
    for condition in evaluation.conditions:
        for name, cell in evaluation.cells(kpi, condition).items():
            if not cell.trusted or not cell.observations:
                continue
            several = several or cell.repetitions > 1
            place = (evaluation.label(condition), evaluation.style(name).label)
            found = finished(list(cell.observations.values()))
            ends = max(it.value for it in cell.observations.values() if it.state != State.NEVER)
            steps = [(0.0, 0.0), *zip(found.times.tolist(), found.share.tolist(), strict=True)]
            for time, share in [*_thinned(steps, most), (ends, steps[-1][1])]:
                add(rows, *place, time * kpi.shown_factor, share, "", "", cell.repetitions)
    if not several:
        return None
    drawn = chart.cdf(
        rows,
        Quantity(kpi.label, kpi.shown_unit),
        look=Look.of_styles(evaluation.styles),
        width=facet_width(max(facet_columns(len(set(rows["condition"]))), 2)),
        share="share of repetitions over by then",
    )
    return figure(
        name=evaluation.named("over-by"),
        title=evaluation.titled(f"{kpi.label}: what was over by when"),
        caption="Share of the repetitions of trusted runs that were over by then (Kaplan-Meier); a line that "
        "ends below 100 % is of a protocol of which some never were.",
        chart=drawn,
        columns=rows,
    )


def _thinned(steps: Sequence[tuple[float, float]], most: int) -> list[tuple[float, float]]:
    """At most so many steps of a curve, the first and the last among them."""
    if len(steps) <= most:
        return list(steps)
    return [steps[place * (len(steps) - 1) // (most - 1)] for place in range(most)]
