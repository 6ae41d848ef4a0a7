"""The validation of appendix A.3: Figures A.3 to A.7."""

from collections.abc import Callable, Sequence

from gauntlet.studies.charts import against
from gauntlet.studies.model import Chart, Figure, Panel
from gauntlet.studies.restp.figures.shared import MEANS, rates, runs_of
from gauntlet.studies.restp.measures import RATE_FROM_START
from gauntlet.studies.summary import Summary

HANDSHAKE = "handshake"
HANDSHAKE_RUNS = runs_of(("tcp-reno", "restp-3wh-arq", "restp-opt-arq"), "delay-100ms")


def figures() -> tuple[Figure, ...]:
    """All of them."""
    return (
        Figure(
            "A.3",
            "UDP and ResTP without services: throughput against the packet error rate",
            "1,400 bytes at 1.12 Mbit/s for 100 s.",
            ("cbr-loss",),
            _datagrams,
        ),
        Figure(
            "A.4",
            "ResTP with the algorithms of TCP: throughput against the packet error rate",
            "Greedy senders for 100 s at 2 Mbit/s with a round trip of 90 ms.",
            ("bulk-loss",),
            _bulk("tcp-reno", "restp-3wh-arq"),
        ),
        Figure(
            "A.5",
            "ResTP without congestion control: throughput against the packet error rate",
            "The same, with a constant window of 32 packets, and ResTP's preset of today beside it.",
            ("bulk-loss",),
            _bulk("tcp-reno", "restp-3wh-arq", "restp-arq-open", "restp-file"),
        ),
        Figure(
            "A.6",
            "Mean throughput when the first SYN is lost",
            "Greedy senders for 100 s at 5 Mbit/s, against the delay of one direction. The time of the "
            "handshake counts.",
            (HANDSHAKE,),
            _against_delay,
        ),
        Figure(
            "A.7",
            "Throughput over time when the first SYN is lost",
            "The first 15 s of the runs with 100 ms, in windows of 1 s. One message in 44 is kept: steps are "
            "coarse.",
            (HANDSHAKE,),
            _over_time,
        ),
    )


def _datagrams(summary: Summary) -> Sequence[Panel]:
    chart = against(summary, "cbr-loss", "throughput_bps", x="loss", dash=None, even=True)
    return [Chart(f"{MEANS}.", chart)]


def _bulk(*protocols: str) -> Callable[[Summary], Sequence[Panel]]:
    def draw(summary: Summary) -> Sequence[Panel]:
        of = {"protocol": list(protocols)}
        chart = against(summary, "bulk-loss", "throughput_bps", x="loss", of=of, dash=None, even=True)
        return [Chart(f"{MEANS}.", chart)]

    return draw


def _against_delay(summary: Summary) -> Sequence[Panel]:
    return [Chart(f"{MEANS}.", against(summary, HANDSHAKE, RATE_FROM_START, dash=None))]


def _over_time(summary: Summary) -> Sequence[Panel]:
    chart = rates(summary, HANDSHAKE, HANDSHAKE_RUNS, bin_s=1.0, until_s=15.0, bytes_=1400)
    return [Chart("Repetition 1; the flows start at 1 s.", chart)]
