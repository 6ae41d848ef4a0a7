"""Every repetition of what flows are judged by: as a dot beside mean and median, and what was over by when.

A mean can lie where no repetition does: four of 2 s and one outage of 60 s are 14 s on average. The dots show
it.
"""

import altair as alt

from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.observation import State, finished
from gauntlet.report.campaign import Campaign
from gauntlet.report.figures import cdfs, figure
from gauntlet.report.figures.figure import INK, Figure, Look, data, small_multiples, table

STATES = {
    State.MEASURED: "measured",
    State.CENSORED: "did not end (at its limit)",
    State.NEVER: "nothing came to be",
}
ROW_PX = 34


def dots(campaign: Campaign, kpi: Kpi) -> Figure | None:
    """One dot a repetition, protocols below each other; None when no trusted run has anything."""
    keys = ("condition", "protocol", "kind", "value", "low", "high", "repetition", "n")
    rows: dict[str, list[object]] = {key: [] for key in keys}
    for condition in campaign.conditions:
        for name, cell in campaign.cells(kpi, condition).items():
            if not cell.trusted or not cell.observations:
                continue
            place = (campaign.label(condition), campaign.style(name).label)
            for repetition, seen in cell.observations.items():
                # What never came to be has no place on the axis; it stands in the row's data.
                value = "" if seen.state == State.NEVER else seen.value * kpi.shown_factor
                _add(rows, (*place, STATES[seen.state], value, "", "", repetition, cell.repetitions))
            for kind, number in (("mean", cell.mean), ("median", cell.median)):
                if number is None or (kind == "median" and cell.median and cell.median.state == State.NEVER):
                    continue
                ends: list[object] = ["", ""]
                if cell.mean and kind == "mean" and cell.mean.low is not None and cell.mean.high is not None:
                    ends = [end * kpi.shown_factor for end in (cell.mean.low, cell.mean.high)]
                entry = (*place, kind, number.value * kpi.shown_factor, *ends, "", cell.repetitions)
                _add(rows, entry)
    if not rows["value"]:
        return None
    text = table(rows)
    return Figure(
        name=campaign.named("repetitions"),
        title=campaign.titled(f"{kpi.label}, every repetition"),
        caption="One dot a repetition of trusted runs, the first on top; a cross is one that did not end and "
        "stands at its limit. The upright stroke is the mean with its 95 % interval, the diamond the median. "
        + kpi.definition,
        spec=figure.finished(_dots_chart(campaign, kpi, text)),
        csv=text,
    )


def _add(rows: dict[str, list[object]], entry: tuple[object, ...]) -> None:
    for key, item in zip(rows, entry, strict=True):
        rows[key].append(item)


def _dots_chart(campaign: Campaign, kpi: Kpi, text: str) -> alt.FacetChart:
    order = [campaign.label(condition) for condition in campaign.conditions]
    labels = [style.label for style in campaign.styles]
    colours = alt.Scale(domain=labels, range=[style.colour for style in campaign.styles])
    colour = alt.Color("protocol:N", scale=colours, legend=None)
    title = f"{kpi.label} ({kpi.shown_unit})" if kpi.shown_unit else kpi.label
    base = alt.Chart().encode(
        y=alt.Y("protocol:N", sort=labels, title=None, scale=alt.Scale(domain=labels)), color=colour
    )
    x = alt.X("value:Q", title=title, scale=alt.Scale(zero=True, nice=True))
    tooltip = [
        alt.Tooltip("protocol:N"),
        alt.Tooltip("kind:N", title="what"),
        alt.Tooltip("value:Q", title=kpi.label, format=".3~s"),
        alt.Tooltip("repetition:N"),
        alt.Tooltip("n:Q"),
    ]

    def only(kind: str) -> alt.Chart:
        found: alt.Chart = base.transform_filter(f"datum.kind === {kind!r}")
        return found

    # Below each other within their row: repetitions that are alike would hide each other.
    apart = alt.YOffset("repetition:O", scale=alt.Scale(paddingOuter=0.5))
    dots, crosses = (
        only(STATES[state]).encode(x=x, yOffset=apart, tooltip=tooltip) for state in list(State)[:2]
    )
    layers = (
        only("mean").mark_rule(strokeWidth=1.6).encode(x=alt.X("low:Q", title=title), x2="high:Q"),
        only("mean").mark_tick(thickness=2.4, height=ROW_PX * 0.6).encode(x=x, tooltip=tooltip),
        dots.mark_point(size=32, filled=True, fillOpacity=0.45, opacity=1),
        crosses.mark_point(shape="cross", size=44, filled=True, opacity=1),
        only("median")
        .mark_point(shape="diamond", size=70, filled=False, opacity=1, strokeWidth=1.6)
        .encode(x=x, color=alt.value(INK), tooltip=tooltip),
    )
    width = figure.multiple_width(len(order)) if len(order) > 1 else figure.facet_width(1)
    layered = alt.layer(*layers, data=data(text)).properties(width=width, height=ROW_PX * len(labels))
    return small_multiples(layered, "condition", order)


def over_by(campaign: Campaign, kpi: Kpi) -> Figure | None:
    """For a time until something is over: which share of the repetitions was over by when; None for all
    other KPIs, and where there are no two repetitions.
    """
    if not kpi.censored:
        return None
    keys = ("condition", "protocol", "value", "share", "low", "high", "n")
    rows: dict[str, list[object]] = {key: [] for key in keys}
    several = False
    for condition in campaign.conditions:
        for name, cell in campaign.cells(kpi, condition).items():
            if not cell.trusted or not cell.observations:
                continue
            several = several or cell.repetitions > 1
            place = (campaign.label(condition), campaign.style(name).label)
            found = finished(list(cell.observations.values()))
            ends = max(it.value for it in cell.observations.values() if it.state != State.NEVER)
            steps = [(0.0, 0.0), *zip(found.times.tolist(), found.share.tolist(), strict=True)]
            for time, share in [*steps, (ends, steps[-1][1])]:
                _add(rows, (*place, time * kpi.shown_factor, share, "", "", cell.repetitions))
    if not several:
        return None
    text = table(rows)
    look = Look(campaign.styles)
    order = [campaign.label(condition) for condition in campaign.conditions]
    title = f"{kpi.label} ({kpi.shown_unit})"
    chart = cdfs.curves(
        text,
        alt.X("value:Q", title=title, scale=alt.Scale(zero=True, nice=True)),
        order,
        colour=look.colour,
        dash=look.dash,
        share_title="share of repetitions over by then",
    )
    return Figure(
        name=campaign.named("over-by"),
        title=campaign.titled(f"{kpi.label}: what was over by when"),
        caption="Share of the repetitions of trusted runs that were over by then (Kaplan-Meier); a line that "
        "ends below 100 % is of a protocol of which some never were.",
        spec=figure.finished(chart),
        csv=text,
    )
