"""Tables 8 and 9, and RaSTA's throughput (the study's appendix)."""

from collections.abc import Sequence

import altair as alt
import numpy as np

from gauntlet.metrics.intervals import mean
from gauntlet.report.figures.figure import data, table
from gauntlet.report.numbers import listed, number
from gauntlet.report.style import styles
from gauntlet.studies.d34 import rasta
from gauntlet.studies.d34.overflow import TABLE_8, overflow, packets_with_headers, steady_loss
from gauntlet.studies.d34.recommend import CLASSES, Finding, Recommendation, recommend
from gauntlet.studies.model import Chart, Figure, NotMeasured, Panel, Printed, Table
from gauntlet.studies.select import Quantity, by_repetition
from gauntlet.studies.summary import Summary

OVERFLOW = "overflow"


def figures() -> tuple[Figure, ...]:
    """All three."""
    return (
        Figure(
            "table-8",
            "UDP into a full buffer: packets before the first loss",
            "The study's formula, the same with the headers of UDP and of the tunnel, and the measurement. "
            "The line's rate is constant here; in the study the train moves on while the buffer fills.",
            (OVERFLOW,),
            _table_8,
            tuple(
                Printed(
                    f"{row.channel_bps / 1e6:g} Mbit/s",
                    f"{row.packets:g} by formula, {row.emulated_packets:g} emulated",
                    "Table 8",
                )
                for row in TABLE_8
            ),
        ),
        Figure(
            "table-9",
            "Transport protocol for each class of railway application",
            "Recommended is what keeps the limit of every need of the class (second table) under every "
            "channel delay and loss of the need.",
            tuple(sorted({need.experiment for service in CLASSES for need in service.needs})),
            _table_9,
        ),
        Figure(
            "rasta",
            "RaSTA against TCP by formula",
            "The appendix compares by calculation; the model is in gauntlet.studies.d34.rasta. Both have a "
            "window of 20 messages of 1055 bytes.",
            (),
            _rasta,
            (
                Printed(
                    "RaSTA's loss of throughput",
                    "in proportion to round trip over acknowledgement interval",
                    "appendix",
                ),
            ),
            beyond=True,
        ),
    )


def _table_8(summary: Summary) -> Sequence[Panel]:
    rows = []
    for row in TABLE_8:
        of = {"scenario.rate": f"{row.channel_bps / 1e6:g}Mbit/s"}
        before, lost = (_measured(summary, of, kpi) for kpi in ("packets_before_loss", "message_loss_ratio"))
        rows.append(
            (
                f"{row.channel_bps / 1e6:g}",
                number(row.packets, 0),
                number(row.emulated_packets, 0),
                number(overflow(row.channel_bps).packets, 0),
                number(packets_with_headers(row.channel_bps), 0),
                number(before, 0),
                f"{100 * steady_loss(row.channel_bps):.0f} %",
                f"{100 * lost:.0f} %",
            )
        )
    header = (
        "Channel (Mbit/s)",
        "Table 8, formula",
        "Table 8, emulator",
        "Formula again",
        "With headers",
        "Measured",
        "Loss, full buffer",
        "Loss in 30 s",
    )
    return [Table("Packets of 1448 bytes at 5.2 Mbit/s; buffer 512 kB.", header, tuple(rows))]


def _measured(summary: Summary, of: dict[str, str], kpi: str) -> float:
    values = by_repetition(summary, OVERFLOW, of, Quantity(kpi)).values
    if not values:
        raise NotMeasured(f"{OVERFLOW} has no trusted run with {of}.")
    return mean(list(values.values())).value


def _table_9(summary: Summary) -> Sequence[Panel]:
    found = recommend(summary)
    rows = tuple(
        (
            it.service.name,
            _names(it.service.study),
            _names(it.always),
            _names(it.without_loss),
            _difference(it),
        )
        for it in found
    )
    header = ("Class", "D3.4", "Measured: serves it", "Only without loss", "Difference")
    needs = tuple(
        (it.service.name, finding.need.words, _names((finding.protocol,)), _worst(finding), _kept(finding))
        for it in found
        for finding in it.findings
    )
    return [
        Table("Recommendations.", header, rows),
        Table(
            "Every need, and how each protocol does under the worst of its conditions.",
            ("Class", "Need", "Protocol", "Worst value, limit, where", "Kept"),
            needs,
        ),
    ]


def _difference(found: Recommendation) -> str:
    """What the study recommends and the measurement does not, and the other way round."""
    study = [it for it in found.service.study if it in found.service.candidates]
    missing = [it for it in study if it not in found.always]
    more = [it for it in found.always if it not in study]
    words = []
    if missing:
        words.append(f"not {_names(tuple(missing))}")
    if more:
        words.append(f"also {_names(tuple(more))}")
    return "; ".join(words) or "none"


def _names(protocols: Sequence[str]) -> str:
    return listed([styles([it])[0].label for it in protocols]) if protocols else "–"


def _worst(finding: Finding) -> str:
    factor, unit = {
        "delay_p95_s": (1e3, "ms"),
        "download_time_s": (1.0, "s"),
        "throughput_bps": (1e-6, "Mbit/s"),
        "message_loss_ratio": (100.0, "%"),
    }[finding.need.kpi]
    sign = "at least" if finding.need.higher_is_better else "at most"
    return (
        f"{number(finding.worst * factor)} {unit}, {sign} {number(finding.worst_limit * factor)}, at "
        f"{1e3 * finding.worst_delay_s:g} ms and {100 * finding.worst_loss:g} %"
    )


def _kept(finding: Finding) -> str:
    return "yes" if finding.kept else "without loss" if finding.kept_without_loss else "no"


def _rasta(_: Summary) -> Sequence[Panel]:
    intervals_s = np.linspace(0.02, 0.6, 59)
    columns: dict[str, list[object]] = {"rtt": [], "x": [], "ratio": []}
    for rtt_s in (0.05, 0.1, 0.3):
        for interval_s in intervals_s.tolist():
            values = (f"round trip {1e3 * rtt_s:g} ms", 1e3 * interval_s, rasta.ratio(rtt_s, interval_s))
            for column, value in zip(columns.values(), values, strict=True):
                column.append(value)
    losses = np.geomspace(1e-4, 0.1, 61)
    curves: dict[str, list[object]] = {"who": [], "x": [], "mbps": []}
    for loss in losses.tolist():
        for who, rate_bps in (
            ("RaSTA, acknowledged each 300 ms", rasta.rasta_throughput_bps(0.1, loss=loss)),
            ("RaSTA, acknowledged at once", rasta.rasta_throughput_bps(0.1, 0.0, loss)),
            ("TCP", rasta.tcp_throughput_bps(0.1, loss)),
        ):
            for column, value in zip(curves.values(), (who, 100 * loss, rate_bps / 1e6), strict=True):
                column.append(value)
    return [
        Chart(
            "No loss: RaSTA's throughput over TCP's against the time between acknowledgements.",
            _lines(columns, "rtt", "ratio", "acknowledgement interval (ms)", "RaSTA over TCP"),
        ),
        Chart(
            "A round trip of 100 ms, against the loss.",
            _lines(curves, "who", "mbps", "loss (%, log axis)", "throughput (Mbit/s)", log=True),
        ),
    ]


def _lines(
    columns: dict[str, list[object]], colour: str, y: str, x_title: str, y_title: str, *, log: bool = False
) -> alt.Chart:
    scale = alt.Scale(type="log", nice=False) if log else alt.Scale(zero=True, nice=False)
    axis = alt.Axis(values=[0.01, 0.1, 1, 10], labelExpr="'' + datum.value") if log else alt.Axis(grid=False)
    chart: alt.Chart = (
        alt.Chart(data(table(columns)))
        .mark_line(strokeWidth=1.8)
        .encode(
            x=alt.X("x:Q", title=x_title, scale=scale, axis=axis),
            y=alt.Y(f"{y}:Q", title=y_title, scale=alt.Scale(zero=True)),
            color=alt.Color(
                f"{colour}:N",
                sort=None,
                scale=alt.Scale(range=["#0072B2", "#E69F00", "#009E73"]),
                legend=alt.Legend(title=None, symbolType="stroke", labelLimit=260),
            ),
        )
        .properties(width=560, height=220)
    )
    return chart
