"""Table 11, and what each protocol puts on the wire for a byte of the application."""

from collections.abc import Mapping, Sequence
from typing import Any

from gauntlet.report.numbers import number
from gauntlet.report.style import styles
from gauntlet.studies.charts import against
from gauntlet.studies.d35.measures import THROUGHPUT_WITH_SETUP
from gauntlet.studies.d35.recommend import CLASSES, recommend
from gauntlet.studies.joined import JOINED, joined
from gauntlet.studies.model import Chart, Figure, NotMeasured, Panel, Table
from gauntlet.studies.recommend import panels
from gauntlet.studies.select import Quantity, by_repetition
from gauntlet.studies.summary import Summary

_NEEDED = tuple(
    dict.fromkeys(name for service in CLASSES for need in service.needs for name in need.experiments)
)
_STREAMS = (
    "streams-delay",
    "streams-aioquic",
    "streams-s2n",
    "streams-clear",
    "streams-loss",
    "streams-loss-aioquic",
    "streams-loss-s2n",
)
_MESSAGES = ("messages-fresh", "messages-fresh-aioquic", "messages-fresh-s2n")
_KEPT = ("messages-kept", "messages-kept-s2n", "messages-datagrams")
WIRE = "wire_bytes_per_byte"

Column = tuple[str, tuple[str, ...], Mapping[str, Any]]
"""A head, the experiments, and the condition."""

_AT_25_MS = {"channel_delay_s": 0.025, "loss": 0.0}
COLUMNS: tuple[Column, ...] = (
    ("Stream of 1 MB", _STREAMS[:4], _AT_25_MS),
    ("10 kB, fresh", _MESSAGES, {**_AT_25_MS, "size_bytes": 10_000}),
    ("1 kB, fresh", _MESSAGES, {**_AT_25_MS, "size_bytes": 1000}),
    ("10 kB, kept", _KEPT, {**_AT_25_MS, "size_bytes": 10_000}),
    ("1 kB, kept", _KEPT, {**_AT_25_MS, "size_bytes": 1000}),
)


def figures() -> tuple[Figure, ...]:
    """Both."""
    return (
        Figure(
            "table-11",
            "Which transport for which class of application",
            "Its performance half; quinn with BBR stands for the study's QUIC. Voice is judged by "
            "messages of 1 kB. Video is not among D3.5's traffic: see Table 9 of D3.4.",
            _NEEDED,
            lambda summary: panels(
                recommend(summary), "D3.5", {THROUGHPUT_WITH_SETUP.name: THROUGHPUT_WITH_SETUP}
            ),
        ),
        Figure(
            "wire",
            "Bytes on the wire for a byte of the application",
            "All IP packets that entered the line in both directions: headers, those of the tunnel, set-up, "
            "acknowledgements and repeats.",
            (*_STREAMS, *_MESSAGES, *_KEPT),
            _wire,
            beyond=True,
        ),
    )


def _wire(summary: Summary) -> Sequence[Panel]:
    sources = {
        names: joined(summary, names, {"messages-datagrams": {"size_bytes": 1000}})
        for names in dict.fromkeys(column[1] for column in COLUMNS)
    }
    protocols = list(
        dict.fromkeys(
            protocol for source in sources.values() for protocol in source.factors(JOINED)["protocol"]
        )
    )
    cells = [[_cell(sources[names], protocol, of) for _, names, of in COLUMNS] for protocol in protocols]
    rows = tuple((styles([protocol])[0].label, *row) for protocol, row in zip(protocols, cells, strict=True))
    chart = against(
        joined(summary, _STREAMS),
        JOINED,
        WIRE,
        x="loss",
        of={
            "protocol": [
                "tls-cubic",
                "tls-bbr",
                "tls-sctp",
                "quic-quinn-cubic",
                "quic-quinn-bbr",
                "quic-s2n-bbr",
            ],
            "channel_delay_s": [0.025, 0.15],
        },
        dash=None,
        facet="channel_delay_s",
        even=True,
    )
    return [
        Table(
            "Mean bytes for a byte, without loss at 25 ms.", ("Protocol", *(it[0] for it in COLUMNS)), rows
        ),
        Chart("Streams of 1 MB against loss. Means over stretches with 95 % intervals.", chart),
    ]


def _cell(summary: Summary, protocol: str, of: Mapping[str, Any]) -> str:
    """The mean over repetitions; a dash where this was not played."""
    if protocol not in summary.factors(JOINED)["protocol"]:
        return "–"
    try:
        return number(
            by_repetition(summary, JOINED, {**of, "protocol": protocol}, Quantity(WIRE)).mean().value
        )
    except NotMeasured:
        return "–"
