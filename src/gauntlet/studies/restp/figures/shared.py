"""What several figures of the study share: means as cells of a table, rates over time of example runs."""

from collections.abc import Mapping, Sequence

import altair as alt

from gauntlet.metrics.intervals import Mean
from gauntlet.metrics.kpi import registry
from gauntlet.report.figures.figure import PAGE_WIDTH, Look, data, table
from gauntlet.report.numbers import MISSING, interval_text, mean_text, number
from gauntlet.report.style import styles
from gauntlet.studies.model import NotMeasured
from gauntlet.studies.restp.measures import OUTAGE_MEASURES, PAGE_TIME, RATE_FROM_START
from gauntlet.studies.select import Quantity, Selection, by_repetition
from gauntlet.studies.summary import Summary

MEANS = "Means with 95 % intervals"
_MEASURES = {kpi.name: kpi for kpi in (PAGE_TIME, RATE_FROM_START, *OUTAGE_MEASURES)}


def measured(summary: Summary, experiment: str, kpi: str, of: Selection) -> Mean | None:
    """The mean over repetitions; None when some run of the selection does not have this number."""
    try:
        return by_repetition(summary, experiment, of, Quantity(kpi), measures=_MEASURES).mean()
    except NotMeasured:
        return None


def cell(summary: Summary, experiment: str, kpi: str, of: Selection) -> str:
    """The mean with its interval as a cell of a table, in the unit in which the KPI is shown."""
    found = measured(summary, experiment, kpi, of)
    if found is None:
        return MISSING
    factor = {**registry(), **_MEASURES}[kpi].shown_factor
    interval = interval_text(found, factor) if found.low != found.high else ""
    return mean_text(found, factor) + (f" [{interval}]" if interval else "")


def over(summary: Summary, experiment: str, kpi: str, this: Selection, that: Selection) -> str:
    """The mean of `this` over that of `that`."""
    one, other = (measured(summary, experiment, kpi, of) for of in (this, that))
    return MISSING if one is None or other is None or not other.value else number(one.value / other.value)


def saved(summary: Summary, experiment: str, kpi: str, this: Selection, that: Selection) -> str:
    """By which share the mean of `this` is smaller than that of `that`, in per cent."""
    one, other = (measured(summary, experiment, kpi, of) for of in (this, that))
    if one is None or other is None or not other.value:
        return MISSING
    return f"{number(100 * (1 - one.value / other.value), 1)} %"


def some(*cells: str) -> None:
    """Raise NotMeasured when a table would have no number at all."""
    if all(cell == MISSING for cell in cells):
        raise NotMeasured("No run that this table needs is among these results.")


def label(protocol: str) -> str:
    """A protocol's name for people."""
    return styles([protocol])[0].label


def rates(
    summary: Summary, experiment: str, runs: Mapping[str, str], *, bin_s: float, until_s: float, bytes_: int
) -> alt.Chart:
    """Rate at which messages of `bytes_` arrive in whole bins until `until_s`; `runs` are example runs with
    their protocols.

    Runs that are not among the results are left out; raises NotMeasured when none is.
    """
    kept = summary.series(experiment).to_pylist()
    played = {row["run"] for row in kept}
    runs = {run: protocol for run, protocol in runs.items() if run in played}
    if not runs:
        raise NotMeasured(f"No example run of {experiment} is among these results.")
    bins = int(until_s / bin_s)
    columns: dict[str, list[object]] = {"protocol": [], "t": [], "mbps": []}
    for run, protocol in runs.items():
        counts = [0.0] * bins
        for row in kept:
            if row["run"] == run and row["received_s"] is not None and row["received_s"] < bins * bin_s:
                counts[int(row["received_s"] / bin_s)] += row["every"]
        for place, count in enumerate([*counts, counts[-1]]):
            entry = (label(protocol), place * bin_s, count * 8 * bytes_ / bin_s / 1e6)
            for column, item in zip(columns.values(), entry, strict=True):
                column.append(item)
    look = Look(styles(list(runs.values())))
    chart: alt.Chart = (
        alt.Chart(data(table(columns)))
        .mark_line(strokeWidth=1.6, interpolate="step-after")
        .encode(
            x=alt.X(
                "t:Q", title="time in the run (s)", axis=alt.Axis(tickCount=15), scale=alt.Scale(nice=False)
            ),
            y=alt.Y("mbps:Q", title="throughput (Mbit/s)", scale=alt.Scale(zero=True)),
            color=look.colour,
            strokeDash=look.dash,
        )
        .properties(width=PAGE_WIDTH - 220, height=240)
    )
    return chart


def runs_of(protocols: Sequence[str], condition: str = "") -> dict[str, str]:
    """First repetitions under a condition as a run's id has it: run -> protocol."""
    middle = f"_{condition}" if condition else ""
    return {f"{protocol}{middle}_rep-001": protocol for protocol in protocols}
