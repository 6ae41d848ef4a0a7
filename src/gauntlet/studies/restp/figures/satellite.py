"""A satellite link that goes away: Figures 4.8 to 4.11."""

from collections.abc import Callable, Sequence

from gauntlet.studies.charts_over_time import arrivals
from gauntlet.studies.model import Chart, Figure, Panel, Printed, Table
from gauntlet.studies.restp.figures.shared import MEANS, cell, label, rates, runs_of, some
from gauntlet.studies.summary import Summary

EXPERIMENT = "satellite"
PROTOCOLS = ("tcp-reno", "tcp-cubic", "restp-3wh-arq", "restp-outage-arq", "restp-satellite")
RUNS = runs_of(PROTOCOLS)
_SENT_BYTES = 1448
_WINDOW_S = 50.0
"""Over which the study's tracker takes throughput (section 4.4.1)."""


def figures() -> tuple[Figure, ...]:
    """All of them."""
    return (
        Figure(
            "4.8",
            "Throughput over time with three outages of a satellite link",
            "Throughput at the receiver in windows of 50 s. The link is gone from 21 to 31 s, 201 to 301 s "
            "and 601 to 651 s.",
            (EXPERIMENT,),
            _over_time,
            (Printed("TCP after the second outage", "0, its connection was aborted", "section 4.4.3"),),
        ),
        Figure(
            "4.9",
            "What arrives of ResTP",
            "Messages of example runs as the receiver gets them.",
            (EXPERIMENT,),
            _arrivals("restp-outage-arq", "restp-satellite"),
        ),
        Figure(
            "4.10",
            "What arrives of TCP",
            "Messages of example runs as the receiver gets them.",
            (EXPERIMENT,),
            _arrivals("tcp-reno", "tcp-cubic"),
            (Printed("Outages survived", "1 of 3", "section 4.4.3"),),
        ),
        Figure(
            "4.11",
            "Timeouts and probes during the outages",
            "The study plots every timeout and its value. What they do on the line is counted here: packets "
            "sent again while the link was gone, and how soon something arrives when it is back.",
            (EXPERIMENT,),
            _timeouts,
        ),
    )


def _over_time(summary: Summary) -> Sequence[Panel]:
    chart = rates(summary, EXPERIMENT, RUNS, bin_s=_WINDOW_S, until_s=1001.0, bytes_=_SENT_BYTES)
    return [Chart("Repetition 1.", chart)]


def _arrivals(*protocols: str) -> Callable[[Summary], Sequence[Panel]]:
    def draw(summary: Summary) -> Sequence[Panel]:
        titles = [label(it) for it in protocols]
        return [Chart("Repetition 1.", arrivals(summary, EXPERIMENT, list(runs_of(protocols)), titles))]

    return draw


def _timeouts(summary: Summary) -> Sequence[Panel]:
    columns = (
        "outages_survived",
        "back_after_s",
        "rate_after_outage_bps",
        "repeated_in_outages",
        "throughput_bps",
    )
    rows = [
        (label(it), *(cell(summary, EXPERIMENT, kpi, {"protocol": it}) for kpi in columns))
        for it in PROTOCOLS
    ]
    some(*(text for row in rows for text in row[1:]))
    header = (
        "Protocol",
        "Outages survived",
        "First arrival after an outage (s)",
        "Throughput in the 25 s after (Mbit/s)",
        "Sent again during outages",
        "Throughput over all (Mbit/s)",
    )
    return [Table(f"{MEANS}.", header, tuple(rows))]
