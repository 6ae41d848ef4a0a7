"""What the study left open: other protocols, SCTP's options, a source that the line can carry."""

from collections.abc import Callable, Sequence

from gauntlet.studies.charts import against
from gauntlet.studies.model import Chart, Figure, Panel
from gauntlet.studies.summary import Summary

_LINES = "Means over stretches with 95 % intervals; solid: no loss, broken: 1 %."
_KPIS = (("throughput_bps", "Throughput"), ("delay_median_s", "One-way delay, median"))


def figures() -> tuple[Figure, ...]:
    """All of them."""
    return (
        Figure(
            "reno",
            "TCP Reno beside CUBIC and SCTP: high-speed line",
            "SCTP's congestion control is Reno's; what differs from TCP Reno is the rest of SCTP, its "
            "buffers first.",
            ("cbr-hsr",),
            _against("cbr-hsr", {"protocol": ["tcp-cubic", "tcp-reno", "sctp"]}),
            beyond=True,
        ),
        Figure(
            "mptcp",
            "MPTCP over two tunnels: high-speed line",
            "Both tunnels share the radio path, so two subflows have no more capacity than one, but two "
            "congestion windows.",
            ("beyond-hsr",),
            _against("beyond-hsr", {}),
            beyond=True,
        ),
        Figure(
            "sctp-buffers",
            "SCTP with default and with enlarged buffers: high-speed line",
            "Greedy sources. 106.496 kB is what a program asks for to have the kernel's default of 212,992 "
            "bytes.",
            ("sctp-buffers-hsr",),
            _by("sctp-buffers-hsr", "receive_buffer_bytes", "send_buffer_bytes"),
            beyond=True,
        ),
        Figure(
            "sctp-streams",
            "SCTP with several streams and with two homes: high-speed line",
            "Greedy sources over the network in which the trackside is reached through both tunnels.",
            ("sctp-streams-hsr",),
            _by("sctp-streams-hsr", "streams", "homes"),
            beyond=True,
        ),
        Figure(
            "video",
            "A steady source that the line can always carry: high-speed line",
            "0.5 Mbit/s: what Table 9 needs to judge video.",
            ("video-hsr",),
            _steady,
            beyond=True,
        ),
    )


def _against(experiment: str, of: dict[str, object]) -> Callable[[Summary], Sequence[Panel]]:
    def draw(summary: Summary) -> Sequence[Panel]:
        return [Chart(f"{words}. {_LINES}", against(summary, experiment, kpi, of=of)) for kpi, words in _KPIS]

    return draw


def _by(experiment: str, colour: str, facet: str) -> Callable[[Summary], Sequence[Panel]]:
    def draw(summary: Summary) -> Sequence[Panel]:
        return [
            Chart(f"{words}. {_LINES}", against(summary, experiment, kpi, colour=colour, facet=facet))
            for kpi, words in _KPIS
        ]

    return draw


def _steady(summary: Summary) -> Sequence[Panel]:
    kpis = (("delay_p95_s", "One-way delay, 95th percentile"), ("message_loss_ratio", "Messages lost"))
    return [Chart(f"{words}. {_LINES}", against(summary, "video-hsr", kpi)) for kpi, words in kpis]
