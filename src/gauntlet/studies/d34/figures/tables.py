"""Tables 8 and 9, and RaSTA's throughput (the study's appendix)."""

from collections.abc import Sequence

import altair as alt
import numpy as np

from gauntlet.report.figures.figure import data, table
from gauntlet.report.numbers import number
from gauntlet.studies.d34 import rasta
from gauntlet.studies.d34.overflow import TABLE_8, overflow, packets_with_headers, steady_loss
from gauntlet.studies.d34.recommend import CLASSES, recommend
from gauntlet.studies.model import Chart, Figure, Panel, Printed, Table
from gauntlet.studies.recommend import panels
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
            tuple(sorted({it for service in CLASSES for need in service.needs for it in need.experiments})),
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
    return by_repetition(summary, OVERFLOW, of, Quantity(kpi)).mean().value


def _table_9(summary: Summary) -> Sequence[Panel]:
    return panels(recommend(summary), "D3.4", {})


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
