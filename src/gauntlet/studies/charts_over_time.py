"""Charts of example runs over time: packet traces, and quantities in windows."""

from collections.abc import Sequence

import altair as alt

from gauntlet.report.figures.figure import (
    CAPACITY,
    PAGE_WIDTH,
    data,
    multiple_width,
    small_multiples,
    table,
)
from gauntlet.report.style import styles
from gauntlet.studies.model import NotMeasured
from gauntlet.studies.summary import Summary


def arrivals(
    summary: Summary, experiment: str, runs: Sequence[str], titles: Sequence[str] = ()
) -> alt.FacetChart:
    """Message numbers over time of example runs, one small multiple a run: thin when handed over, thick when
    received. Raises NotMeasured when one of the runs is not kept in the summary.
    """
    kept = summary.series(experiment).to_pylist()
    missing = sorted(set(runs) - {row["run"] for row in kept})
    if missing:
        raise NotMeasured(f"The example run {missing[0]} of {experiment} is not among these results.")
    names = dict(zip(runs, titles or runs, strict=True))
    columns: dict[str, list[object]] = {key: [] for key in ("condition", "protocol", "dash", "t", "seq")}
    for row in kept:
        for event, t_s in (("handed over", row["sent_s"]), ("received", row["received_s"])):
            if row["run"] in names and t_s is not None:
                entry = (names[row["run"]], row["protocol"], event, round(t_s, 4), row["seq"])
                for column, item in zip(columns.values(), entry, strict=True):
                    column.append(item)
    looks = styles({str(row["protocol"]) for row in kept if row["run"] in names})
    labels = {style.key: style.label for style in looks}
    columns["protocol"] = [labels[str(key)] for key in columns["protocol"]]
    colour = alt.Color(
        "protocol:N",
        scale=alt.Scale(domain=list(labels.values()), range=[style.colour for style in looks]),
        legend=alt.Legend(title=None, symbolType="stroke"),
    )
    dash = alt.StrokeDash(
        "dash:N",
        scale=alt.Scale(domain=["received", "handed over"], range=[[1, 0], [2, 2]]),
        legend=alt.Legend(title=None, symbolType="stroke"),
    )
    lines = (
        alt.Chart()
        .mark_line(strokeWidth=1.6, interpolate="step-after")
        .encode(
            x=alt.X("t:Q", title="time in the run (s)", scale=alt.Scale(zero=False)),
            y=alt.Y("seq:Q", title="message number"),
            color=colour,
            strokeDash=dash,
        )
    )
    width = multiple_width(len(names))
    layered = alt.layer(lines, data=data(table(columns))).properties(width=width, height=240)
    return small_multiples(layered, "condition", list(names.values()))


def over_time(
    summary: Summary, experiment: str, runs: Sequence[str], *, column: str, title: str, factor: float = 1.0
) -> alt.LayerChart:
    """A column of `Summary.history` of example runs over time, one line a flow, and behind a throughput the
    link's capacity. Raises NotMeasured when none of the runs is kept.
    """
    flows = {(row["run"], row["flow"]): row["protocol"] for row in summary.flows(experiment).to_pylist()}
    found = [row for row in summary.history(experiment).to_pylist() if row["run"] in set(runs)]
    if not found:
        raise NotMeasured(f"No example run of {experiment} is among these results.")
    looks = styles({flows[row["run"], row["flow"]] for row in found})
    labels = {style.key: style.label for style in looks}
    lines = {
        "protocol": [labels[flows[row["run"], row["flow"]]] for row in found],
        "flow": [f"{row['run']} {row['flow']}" for row in found],
        "t": [row["start_s"] for row in found],
        "value": ["" if row[column] is None else row[column] * factor for row in found],
        "capacity": ["" if row["capacity_bps"] is None else row["capacity_bps"] * factor for row in found],
    }
    base = alt.Chart(data(table(lines))).encode(x=alt.X("t:Q", title="time in the run (s)"))
    drawn = (
        base.transform_filter("datum.value !== ''")
        .mark_line(strokeWidth=1.6)
        .encode(
            y=alt.Y("value:Q", title=title),
            detail="flow:N",
            color=alt.Color(
                "protocol:N",
                scale=alt.Scale(domain=list(labels.values()), range=[style.colour for style in looks]),
                legend=alt.Legend(title=None, symbolType="stroke"),
            ),
        )
    )
    layers: list[alt.Chart] = [drawn]
    if column == "throughput_bps":
        behind = base.transform_filter(f"datum.flow === {lines['flow'][0]!r} && datum.capacity !== ''")
        area = behind.mark_area(color=CAPACITY, opacity=1, fillOpacity=0.35, interpolate="step-after")
        layers.insert(0, area.encode(y=alt.Y("capacity:Q", title=title)))
    return alt.LayerChart(layer=layers).properties(width=PAGE_WIDTH - 190, height=220)
