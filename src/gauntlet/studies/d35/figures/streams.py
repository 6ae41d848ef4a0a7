"""Throughput of streams over secure transports: Figures 5 to 8; set-up and transports in clear beyond."""

from collections.abc import Sequence

from gauntlet.studies.charts import Mark, against, cdf
from gauntlet.studies.d35.measures import THROUGHPUT_WITH_SETUP
from gauntlet.studies.joined import JOINED, joined
from gauntlet.studies.model import Chart, Figure, Panel, Printed
from gauntlet.studies.summary import Summary

SETS = (
    (
        "TLS over TCP and SCTP, quinn in the place of LSQUIC, aioquic",
        ["tls-cubic", "tls-bbr", "tls-sctp", "quic-quinn-cubic", "quic-quinn-bbr", "quic-aioquic-newreno"],
    ),
    (
        "QUIC libraries",
        [
            "quic-aioquic-newreno",
            "quic-quinn-newreno",
            "quic-quinn-cubic",
            "quic-quinn-bbr",
            "quic-s2n-cubic",
            "quic-s2n-bbr",
        ],
    ),
)
"""What stands in one chart."""
DELAY = ("streams-delay", "streams-aioquic", "streams-s2n")
LOSS = (*DELAY, "streams-loss", "streams-loss-aioquic", "streams-loss-s2n")
SIZE = (*DELAY, "streams-size", "streams-size-aioquic", "streams-size-s2n")
SECURE_AND_CLEAR = (*DELAY, "streams-clear")
ONE_MB = 1_000_000
_MEANS = "Means over stretches with 95 % intervals."
_PRINTED = (
    Printed("TLS over TCP, 25 ms", "about 2 Mbit/s", "section 6.1"),
    Printed("TLS over TCP, 150 ms", "about 1 Mbit/s", "section 6.1"),
)


def figures() -> tuple[Figure, ...]:
    """All of them, in the study's order."""
    return (_against_delay(), _against_loss(), _against_size(), _distributions(), _setup(), _clear())


def _against_delay() -> Figure:
    def draw(summary: Summary) -> Sequence[Panel]:
        stars = [
            Mark(0.025, 2e6, colour="tls-bbr", facet=0.0, label="about 2 Mbit/s"),
            Mark(0.15, 1e6, colour="tls-bbr", facet=0.0, label="about 1 Mbit/s"),
        ]
        return [
            Chart(
                f"{words}. {_MEANS}",
                against(
                    joined(summary, DELAY),
                    JOINED,
                    THROUGHPUT_WITH_SETUP,
                    of={"protocol": protocols},
                    dash=None,
                    facet="loss",
                    printed=stars if protocols is SETS[0][1] else (),
                ),
            )
            for words, protocols in SETS
        ]

    return Figure(
        "5",
        "Throughput against channel delay",
        "Streams of 1 MB, train to trackside, set-up included. Stars: what is printed for TLS over TCP.",
        DELAY,
        draw,
        _PRINTED,
    )


def _against_loss() -> Figure:
    def draw(summary: Summary) -> Sequence[Panel]:
        return [
            Chart(
                f"{words}. {_MEANS}",
                against(
                    joined(summary, LOSS),
                    JOINED,
                    THROUGHPUT_WITH_SETUP,
                    x="loss",
                    of={"protocol": protocols, "channel_delay_s": [0.025, 0.15]},
                    dash=None,
                    facet="channel_delay_s",
                    even=True,
                ),
            )
            for words, protocols in SETS
        ]

    return Figure(
        "6",
        "Throughput against loss",
        "Streams of 1 MB, set-up included, over the stretches that all were played on. Loss strikes both "
        "directions alike.",
        LOSS,
        draw,
    )


def _against_size() -> Figure:
    def draw(summary: Summary) -> Sequence[Panel]:
        fixed = {name: {"size_bytes": ONE_MB} for name in DELAY}
        return [
            Chart(
                f"{words}. {_MEANS}",
                against(
                    joined(summary, SIZE, fixed),
                    JOINED,
                    THROUGHPUT_WITH_SETUP,
                    x="size_bytes",
                    of={"protocol": protocols, "channel_delay_s": 0.025},
                    dash=None,
                    facet="loss",
                ),
            )
            for words, protocols in SETS
        ]

    return Figure(
        "7",
        "Throughput against the length of the stream",
        "Channel delay 25 ms, set-up included.",
        SIZE,
        draw,
    )


def _distributions() -> Figure:
    def draw(summary: Summary) -> Sequence[Panel]:
        return [
            Chart(
                f"{words}. Solid: no loss, broken: 1 %.",
                cdf(
                    joined(summary, DELAY),
                    JOINED,
                    THROUGHPUT_WITH_SETUP,
                    of={"protocol": protocols, "channel_delay_s": [0.025, 0.15]},
                ),
            )
            for words, protocols in SETS
        ]

    return Figure(
        "8",
        "Distribution of the throughput",
        "Streams of 1 MB, set-up included; one value a stretch.",
        DELAY,
        draw,
    )


def _setup() -> Figure:
    def draw(summary: Summary) -> Sequence[Panel]:
        of = {"loss": 0.0, "protocol": ["tcp-cubic", "sctp", "restp-file", *SETS[0][1], "quic-s2n-cubic"]}
        whole = joined(summary, SECURE_AND_CLEAR)
        return [Chart(f"Without loss. {_MEANS}", against(whole, JOINED, "setup_time_s", of=of, dash=None))]

    return Figure(
        "setup",
        "What a secure session costs before its first byte",
        "Round trips until data can flow: TCP, QUIC and ResTP one, SCTP and TLS over TCP two, TLS over SCTP "
        "three.",
        SECURE_AND_CLEAR,
        draw,
        beyond=True,
    )


def _clear() -> Figure:
    pairs = (
        (["tcp-cubic", "tls-cubic", "tcp-bbr", "tls-bbr", "sctp", "tls-sctp"], "In clear and under TLS"),
        (
            ["restp-file", "restp-file-bbr", "quic-quinn-cubic", "quic-quinn-bbr", "tls-cubic", "tls-bbr"],
            "ResTP, QUIC and TLS over TCP",
        ),
    )

    def draw(summary: Summary) -> Sequence[Panel]:
        return [
            Chart(
                f"{words}. {_MEANS}",
                against(
                    joined(summary, SECURE_AND_CLEAR),
                    JOINED,
                    THROUGHPUT_WITH_SETUP,
                    of={"protocol": protocols},
                    dash=None,
                    facet="loss",
                ),
            )
            for protocols, words in pairs
        ]

    return Figure(
        "clear",
        "Throughput in clear and secured",
        "Streams of 1 MB, set-up included. ResTP is neither encrypted nor authenticated here.",
        SECURE_AND_CLEAR,
        draw,
        beyond=True,
    )
