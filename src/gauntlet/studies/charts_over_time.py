"""Charts of example runs over time: packet traces."""

from collections.abc import Sequence

import altair as alt

from gauntlet.report.figures.figure import (
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
