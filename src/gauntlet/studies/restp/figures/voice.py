"""Calls: Table 4.18, Figures 4.13 and 4.14."""

from collections.abc import Callable, Sequence

import altair as alt

from gauntlet.report.figures.figure import PAGE_WIDTH, Look, data, table
from gauntlet.report.style import styles
from gauntlet.studies.model import Chart, Figure, NotMeasured, Panel, Table
from gauntlet.studies.restp.figures.shared import MEANS, cell, label, runs_of, some
from gauntlet.studies.summary import Summary

CLEAN = "voice-clean"
PROTOCOLS = (
    "udp",
    "restp-datagram",
    "tcp-cubic",
    "restp-ful-arq",
    "restp-par-arq",
    "restp-opt-par-arq",
    "restp-voice",
)
CLEAN_RUNS = runs_of(("tcp-cubic", "restp-par-arq", "restp-opt-par-arq"))

PACKETS = 4949
PRINTED = (
    ("UDP", 87, 0, 32.046, 0.0),
    ("ResTP-unreliable", 87, 0, 32.048, 0.0),
    ("TCP (without SACK)", 559, 212, 49.015, 55.709),
    ("TCP (with SACK)", 459, 96, 41.924, 35.627),
    ("ResTP-3WH-FUL-ARQ", 0, 176, 52.096, 73.228),
    ("ResTP-3WH-PAR-ARQ", 3, 24, 37.130, 19.440),
)
"""Table 4.18: name, packets lost and delayed of 4,949, mean and standard deviation of the delay in ms."""

_KPIS = ("voip_lost_ratio", "voip_late_ratio", "delay_mean_s", "voip_delay_deviation_s", "voip_mos")
_FIRST = 60
"""Packets at the beginning of a call that the figures of lateness show: 1.2 s."""


def figures() -> tuple[Figure, ...]:
    """All of them."""
    return (
        Figure(
            "table-4.18",
            "A call over 30 ms and 2 % loss",
            "Late is what takes more than 160 ms. Of the study's protocols 4,949 packets are sent; it counts "
            "packets as lost that its application could no longer tell apart in TCP's stream. The opinion "
            "score is ours (ITU-T G.107).",
            ("voice", "voice-tcp"),
            _calls,
        ),
        _lateness("4.13", "the three-way handshake", ("tcp-cubic", "restp-par-arq")),
        _lateness("4.14", "the opportunistic handshake", ("restp-par-arq", "restp-opt-par-arq")),
    )


def _calls(summary: Summary) -> Sequence[Panel]:
    printed = tuple(
        (name, f"{100 * lost / PACKETS:.2f}", f"{100 * late / PACKETS:.2f}", f"{mean:g}", f"{deviation:g}")
        for name, lost, late, mean, deviation in PRINTED
    )
    rows = [
        (label(it), *(cell(summary, "voice", kpi, {"protocol": it}) for kpi in _KPIS)) for it in PROTOCOLS
    ]
    for sack, words in ((0, "without"), (1, "with")):
        of = {"sysctl.net.ipv4.tcp_sack": sack}
        cells = (cell(summary, "voice-tcp", kpi, of) for kpi in _KPIS)
        rows.append((f"{label('tcp-cubic')}, {words} SACK", *cells))
    some(*(text for row in rows for text in row[1:]))
    header = ("Protocol", "Lost (%)", "Late (%)", "Delay, mean (ms)", "Standard deviation (ms)")
    return [
        Table("As printed in Table 4.18.", header, printed),
        Table(f"Measured. {MEANS} of 20 calls.", (*header, "Opinion score"), tuple(rows)),
    ]


def _lateness(key: str, words: str, protocols: Sequence[str]) -> Figure:
    return Figure(
        key,
        f"Delay of the first packets of a call with {words}",
        "A call without errors. The delay counts from the moment at which the application has the packet for "
        "the transport, so what it waits for the handshake shows as a missing beginning: the sending "
        "application opens its session first.",
        (CLEAN,),
        _delays(protocols),
    )


def _delays(protocols: Sequence[str]) -> Callable[[Summary], Sequence[Panel]]:
    runs = runs_of(protocols)

    def draw(summary: Summary) -> Sequence[Panel]:
        kept = [row for row in summary.series(CLEAN).to_pylist() if row["run"] in runs]
        kept.sort(key=lambda row: protocols.index(row["protocol"]))
        missing = sorted(set(runs) - {row["run"] for row in kept})
        if missing:
            raise NotMeasured(f"The example run {missing[0]} of {CLEAN} is not among these results.")
        columns: dict[str, list[object]] = {"protocol": [], "packet": [], "delay": []}
        for row in kept:
            if row["received_s"] is None or row["seq"] > _FIRST * row["every"]:
                continue
            entry = (label(row["protocol"]), row["seq"], 1e3 * (row["received_s"] - row["sent_s"]))
            for column, item in zip(columns.values(), entry, strict=True):
                column.append(item)
        look = Look(styles(list(protocols)))
        chart: alt.Chart = (
            alt.Chart(data(table(columns)))
            .mark_line(strokeWidth=2.2)
            .encode(
                x=alt.X("packet:Q", title="packet", axis=alt.Axis(tickCount=15)),
                y=alt.Y("delay:Q", title="one-way delay (ms)", scale=alt.Scale(zero=True)),
                color=look.colour,
                strokeDash=look.dash,
            )
            .properties(width=PAGE_WIDTH - 220, height=220)
        )
        return [Chart("Repetition 1. Where lines lie on each other the last is on top.", chart)]

    return draw
