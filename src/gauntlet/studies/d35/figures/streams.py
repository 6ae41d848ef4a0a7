"""Throughput of streams over secure transports: Figures 5 to 8."""

from collections.abc import Sequence

from gauntlet.studies.charts import against
from gauntlet.studies.model import Chart, Figure, Panel, Printed
from gauntlet.studies.summary import Summary

TH = "throughput_with_setup_bps"
"""The study's throughput: D3.5, section 4.4, divides by the entire duration."""


def figures() -> tuple[Figure, ...]:
    """All of them, in the study's order."""
    return (_against_delay(),)


def _against_delay() -> Figure:
    def draw(summary: Summary) -> Sequence[Panel]:
        return [
            Chart(
                "Means of the stretches with 95 % intervals.",
                against(summary, "streams-delay", TH, dash=None, facet="loss"),
            )
        ]

    return Figure(
        "5",
        "Throughput against channel delay",
        "Streams of 1 MB, set-up included.",
        ("streams-delay",),
        draw,
        (
            Printed("TLS over TCP, 25 ms, no loss", "about 2 Mbit/s", "section 6.1"),
            Printed("TLS over TCP, 150 ms, no loss", "about 1 Mbit/s", "section 6.1"),
        ),
    )
