"""Packet traces: delay of each packet of example runs, Figures 15 and 16."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from gauntlet.report.figures.figure import INK, PAGE_WIDTH, data, facet_width, small_multiples, table
from gauntlet.report.style import styles
from gauntlet.studies.model import Chart, Figure, NotMeasured, Panel, Printed
from gauntlet.studies.summary import Summary

EXPERIMENT = "cbr-hsr"
_CONDITION = "delay-25ms_loss-0pct"

PROTOCOL_RUNS = tuple(
    f"{protocol}_{_CONDITION}_rep-001" for protocol in ("tcp-cubic", "tcp-bbr", "udp", "sctp")
)
"""Figure 15: one stretch under four protocols."""

UDP_RUNS = tuple(f"udp_{_CONDITION}_rep-{repetition:03}" for repetition in (4, 3, 9, 1, 2))
"""Figure 16: the first three that were played. The first of these lose much, little and much, as the study's
examples do; a quick run has the last.
"""


def figures() -> tuple[Figure, ...]:
    """Both."""
    return (
        Figure(
            "15",
            "Delay of each packet under four protocols",
            "One stretch of the high-speed line, greedy sources, channel delay 25 ms, no loss on the "
            "channel. Packets that were lost in the full buffer (UDP) have no delay.",
            (EXPERIMENT,),
            _protocols,
        ),
        Figure(
            "16",
            "Delay of each UDP packet: three stretches",
            "Upright line: the first packet that the full buffer did not take. The source sends at the "
            "line's highest IP rate, 4.15 Mbit/s, where D3.4 sends 5.2 Mbit/s.",
            (EXPERIMENT,),
            _udp,
            (Printed("Packets lost in the three examples", "71 %, 75 % and 27 %", "section 6.1"),),
        ),
    )


def _protocols(summary: Summary) -> Sequence[Panel]:
    rows = _rows(summary, PROTOCOL_RUNS)
    looks = styles({row["protocol"] for row in rows})
    labels = {style.key: style.label for style in looks}
    text = table(
        {
            "protocol": [labels[row["protocol"]] for row in rows],
            "packet": [row["packet"] for row in rows],
            "delay": [row["delay_s"] for row in rows],
        }
    )
    chart = (
        alt.Chart(data(text))
        .mark_line(strokeWidth=1.5)
        .encode(
            x=alt.X("packet:Q", title="packet"),
            y=alt.Y("delay:Q", title="one-way delay (s, log axis)", scale=alt.Scale(type="log")),
            color=alt.Color(
                "protocol:N",
                scale=alt.Scale(domain=list(labels.values()), range=[style.colour for style in looks]),
                legend=alt.Legend(title=None, symbolType="stroke"),
            ),
        )
        .properties(width=PAGE_WIDTH - 190, height=260)
    )
    return [Chart(f"Repetition 1; one packet in {rows[0]['every']} is drawn.", chart)]


def _udp(summary: Summary) -> Sequence[Panel]:
    flows = {row["run"]: row for row in summary.flows(EXPERIMENT).to_pylist() if row["run"] in UDP_RUNS}
    played = [run for run in UDP_RUNS if run in flows][:3]
    rows = _rows(summary, played)
    names = {
        run: f"repetition {flows[run]['repetition']}: {100 * flows[run]['message_loss_ratio']:.0f} % lost"
        for run in played
    }
    text = table(
        {
            "condition": [names[row["run"]] for row in rows],
            "packet": [row["packet"] for row in rows],
            "delay": [row["delay_s"] for row in rows],
            "first": [flows[row["run"]]["packets_before_loss"] for row in rows],
        }
    )
    base = alt.Chart()
    points = base.mark_point(size=5, filled=True, opacity=0.8, color=styles(["udp"])[0].colour).encode(
        x=alt.X("packet:Q", title="packet"), y=alt.Y("delay:Q", title="one-way delay (s)")
    )
    rule = base.mark_rule(color=INK, strokeDash=[3, 3]).encode(x="max(first):Q")
    layered = alt.layer(points, rule, data=data(text)).properties(width=facet_width(3), height=210)
    chart = small_multiples(layered, "condition", list(names.values()))
    before = ", ".join(f"{flows[run]['packets_before_loss']:.0f}" for run in names)
    return [Chart(f"Packets before the first loss: {before}.", chart)]


def _rows(summary: Summary, runs: Sequence[str]) -> list[dict[str, Any]]:
    """Kept packets of the runs that arrived: run, protocol, packet, delay_s, every."""
    kept = [row for row in summary.series(EXPERIMENT).to_pylist() if row["run"] in runs]
    missing = sorted(set(runs) - {row["run"] for row in kept})
    if not kept or missing:
        raise NotMeasured(
            f"Example runs of {EXPERIMENT} are not among these results: {', '.join(missing) or 'all'}."
        )
    return [
        {
            "run": row["run"],
            "protocol": row["protocol"],
            "packet": row["seq"],
            "delay_s": row["received_s"] - row["sent_s"],
            "every": row["every"],
        }
        for row in kept
        if row["received_s"] is not None
    ]
