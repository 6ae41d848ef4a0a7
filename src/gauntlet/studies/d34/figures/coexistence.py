"""Two flows at once: Figures 41 to 43, and beyond the study two tunnels, the regional line and every pair."""

import math
from collections.abc import Callable, Sequence

from gauntlet.report.numbers import interval_text, mean_text
from gauntlet.report.style import styles
from gauntlet.studies.charts import Mark, against
from gauntlet.studies.charts_over_time import arrivals
from gauntlet.studies.model import Chart, Figure, NotMeasured, Panel, Printed, Table
from gauntlet.studies.select import Quantity, by_repetition
from gauntlet.studies.summary import Summary

WITH_CUBIC, WITH_SCTP = "tcp-bbr+tcp-cubic", "tcp-bbr+sctp"
EXPERIMENT = "coexist-hsr"

ARRIVAL_RUNS = tuple(f"tcp-bbr-with-tcp-cubic_delay-50ms_loss-{loss}_rep-001" for loss in ("0pct", "1pct"))
"""Figure 43: the study does not say at which delay."""

_MOST = {"jain_index": 1.0}
"""What a number that is no KPI can be at most."""

_LINES = "Means over stretches with 95 % intervals; solid: no loss, broken: 1 %."

Drawing = Callable[[Summary], Sequence[Panel]]


def figures() -> tuple[Figure, ...]:
    """All of them, the study's own first."""
    return (
        Figure(
            "41",
            "BBR beside CUBIC in one tunnel: high-speed line",
            "Each source offers 6.5 MB at 2.6 Mbit/s. Stars: both ends of printed ranges.",
            (EXPERIMENT,),
            _pair(EXPERIMENT, WITH_CUBIC, _MARKS_CUBIC),
            (
                Printed("BBR", "32 to 38 s, 1.6 to 1.8 Mbit/s"),
                Printed("CUBIC without loss", "26 to 28 s"),
                Printed("CUBIC with 1 % loss", "about 70 s, 0.8 Mbit/s"),
            ),
        ),
        Figure(
            "42",
            "BBR beside SCTP in one tunnel: high-speed line",
            "As Figure 41.",
            (EXPERIMENT,),
            _pair(EXPERIMENT, WITH_SCTP, _MARKS_SCTP),
            (
                Printed("BBR", "28 to 38 s, 1.5 to 1.8 Mbit/s"),
                Printed("SCTP without loss", "32 to 40 s, 1.2 to 1.6 Mbit/s"),
                Printed("SCTP with 1 % loss", "about 120 s, 0.4 Mbit/s"),
            ),
        ),
        Figure(
            "43",
            "Packets of BBR and CUBIC over time, side by side in one tunnel",
            "One stretch at a channel delay of 50 ms. The sources offer the same packets at the same time.",
            (EXPERIMENT,),
            _arrivals,
        ),
        Figure(
            "coexist-regional",
            "BBR beside CUBIC and beside SCTP: regional line",
            "D3.4 says that it studied the regional line too and shows nothing of it.",
            ("coexist-regional",),
            _both("coexist-regional"),
            beyond=True,
        ),
        Figure(
            "coexist-tunnels",
            "BBR beside CUBIC and beside SCTP in two tunnels: high-speed line",
            "Both tunnels share the radio path and so the queue in front of it (D3.4, section 5.2, "
            "announces this case).",
            ("coexist-tunnels-hsr",),
            _both("coexist-tunnels-hsr"),
            beyond=True,
        ),
        Figure(
            "coexist-pairs",
            "Every pair of four protocols in one tunnel: high-speed line",
            "Download times of both flows, and Jain's index of their throughputs (1: equal shares). Channel "
            "delay 50 ms, five stretches.",
            ("coexist-pairs",),
            _pairs,
            beyond=True,
        ),
    )


_MARKS_CUBIC = {
    "download_time_s": (
        *(Mark(0.05, value, colour="tcp-bbr", label="BBR: 32 to 38 s") for value in (32, 38)),
        *(Mark(0.05, value, colour="tcp-cubic", label="CUBIC, no loss: 26 to 28 s") for value in (26, 28)),
        Mark(0.05, 70, colour="tcp-cubic", label="CUBIC, 1 %: about 70 s"),
    ),
    "throughput_bps": (
        *(Mark(0.05, value, colour="tcp-bbr", label="BBR: 1.6 to 1.8 Mbit/s") for value in (1.6e6, 1.8e6)),
        Mark(0.05, 0.8e6, colour="tcp-cubic", label="CUBIC, 1 %: 0.8 Mbit/s"),
    ),
}
_MARKS_SCTP = {
    "download_time_s": (
        *(Mark(0.05, value, colour="tcp-bbr", label="BBR: 28 to 38 s") for value in (28, 38)),
        *(Mark(0.05, value, colour="sctp", label="SCTP, no loss: 32 to 40 s") for value in (32, 40)),
        Mark(0.05, 120, colour="sctp", label="SCTP, 1 %: about 120 s"),
    ),
    "throughput_bps": (
        *(Mark(0.05, value, colour="tcp-bbr", label="BBR: 1.5 to 1.8 Mbit/s") for value in (1.5e6, 1.8e6)),
        *(
            Mark(0.05, value, colour="sctp", label="SCTP, no loss: 1.2 to 1.6 Mbit/s")
            for value in (1.2e6, 1.6e6)
        ),
        Mark(0.05, 0.4e6, colour="sctp", label="SCTP, 1 %: 0.4 Mbit/s"),
    ),
}
"""Printed values of sections 6.6.1.1 and 6.6.1.2, drawn at 50 ms: the text gives them for all delays."""


def _pair(experiment: str, protocols: str, marks: dict[str, tuple[Mark, ...]] | None = None) -> Drawing:
    def draw(summary: Summary) -> Sequence[Panel]:
        return [
            Chart(
                f"{words}. {_LINES}",
                against(
                    summary,
                    experiment,
                    kpi,
                    of={"protocols": protocols},
                    printed=(marks or {}).get(kpi, ()),
                ),
            )
            for kpi, words in (("download_time_s", "Download time"), ("throughput_bps", "Throughput"))
        ]

    return draw


def _both(experiment: str) -> Drawing:
    def draw(summary: Summary) -> Sequence[Panel]:
        return [
            panel for protocols in (WITH_CUBIC, WITH_SCTP) for panel in _pair(experiment, protocols)(summary)
        ]

    return draw


def _arrivals(summary: Summary) -> Sequence[Panel]:
    chart = arrivals(summary, EXPERIMENT, ARRIVAL_RUNS, ("no loss", "1 % loss"))
    return [Chart("Repetition 1. A level line: the protocol gets nothing through.", chart)]


def _pairs(summary: Summary) -> Sequence[Panel]:
    rows = []
    for loss in summary.factors("coexist-pairs")["loss"]:
        for protocols in summary.factors("coexist-pairs")["protocols"]:
            keys = str(protocols).split("+")
            of = {"protocols": protocols, "loss": loss}
            cells = [_cell(summary, {**of, "flow": flow}, "download_time_s") for flow in range(len(keys))]
            fairness = _cell(summary, of, "jain_index")
            names = [styles([key])[0].label for key in keys]
            rows.append((summary.label("coexist-pairs", "loss", loss), *names, *cells, fairness))
    if not rows:
        raise NotMeasured("No pair of protocols is among these results.")
    header = ("Loss", "First flow", "Second flow", "First (s)", "Second (s)", "Jain's index")
    return [Table("Means over repetitions with 95 % intervals.", header, tuple(rows))]


def _cell(summary: Summary, of: dict[str, object], kpi: str) -> str:
    try:
        found = by_repetition(summary, "coexist-pairs", of, Quantity(kpi)).mean()
    except NotMeasured:
        return "–"
    found = found.within(0.0, _MOST.get(kpi, math.inf))
    interval = interval_text(found)
    return mean_text(found) + (f" [{interval}]" if interval else "")
