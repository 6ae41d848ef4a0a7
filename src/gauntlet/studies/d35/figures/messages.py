"""Delays of short messages: Figures 27 to 34; kept and resumed connections and datagrams beyond the study."""

from collections.abc import Sequence
from typing import Any

from gauntlet.studies.charts import Mark, against, cdf
from gauntlet.studies.joined import JOINED, joined
from gauntlet.studies.model import Chart, Figure, Panel, Printed
from gauntlet.studies.summary import Summary

STUDIED = ["tls-cubic", "tls-bbr", "tls-sctp", "quic-aioquic-newreno", "quic-quinn-cubic", "quic-quinn-bbr"]
"""The study's protocols, with quinn in the place of LSQUIC."""
TLS = ["tls-cubic", "tls-bbr", "tls-sctp"]
QUIC = ["quic-aioquic-newreno", "quic-quinn-cubic", "quic-quinn-bbr", "quic-s2n-cubic", "quic-s2n-bbr"]
FRESH = ("messages-fresh", "messages-fresh-aioquic", "messages-fresh-s2n")
LOSS = (*FRESH, "messages-loss", "messages-loss-aioquic", "messages-loss-s2n")
SIZES = ((1000, "1 kB"), (10_000, "10 kB"))
WITH, WITHOUT = "each_message_delay_with_setup_s", "each_message_delay_s"
_MEANS = "Means over stretches with 95 % intervals"
_DASHES = "solid: no loss, broken: 1 %"
_FRESH = "A message each 3 s from the train to the trackside, each over a connection of its own"

TCP_MEANS: dict[int, tuple[float, float]] = {1000: (0.15, 0.8), 10_000: (0.185, 0.83)}
"""Mean delays (s) that section 6.3.1 prints for TLS over TCP without loss, 25 and 150 ms, by size."""
SCTP_MEANS: dict[int, tuple[float, float]] = {1000: (0.195, 0.85), 10_000: (0.3, 0.97)}
"""The same for TLS over SCTP at 25 ms, without loss and at 5 %."""


def figures() -> tuple[Figure, ...]:
    """All of them, in the study's order."""
    return (
        _against_delay(),
        _against_loss(),
        _distributions("29", 0.025, with_setup=True),
        _distributions("30", 0.15, with_setup=True),
        _distributions("31", 0.025, with_setup=False),
        _distributions("32", 0.15, with_setup=False),
        _comparison("33", 0.025),
        _comparison("34", 0.15),
        _libraries(),
        _kept(),
        _resumed(),
        _datagrams(),
    )


def _against_delay() -> Figure:
    def draw(summary: Summary) -> Sequence[Panel]:
        whole = joined(summary, FRESH)
        return [
            Chart(
                f"{words}. {_MEANS}; {_DASHES}.",
                against(
                    whole,
                    JOINED,
                    "message_delay_with_setup_s",
                    of={"protocol": STUDIED, "size_bytes": size_bytes},
                    printed=[
                        Mark(delay_s, value_s, colour="tls-bbr", label=f"{1e3 * value_s:g} ms")
                        for delay_s, value_s in zip((0.025, 0.15), TCP_MEANS[size_bytes], strict=True)
                    ],
                ),
            )
            for size_bytes, words in SIZES
        ]

    return Figure(
        "27",
        "Message delay against channel delay",
        f"{_FRESH}; set-up included. Stars: what is printed for TLS over TCP without loss.",
        FRESH,
        draw,
        tuple(
            Printed(
                f"TLS over TCP, {words}, no loss, 25 and 150 ms",
                " and ".join(f"{1e3 * value_s:g} ms" for value_s in TCP_MEANS[size_bytes]),
                "section 6.3.1",
            )
            for size_bytes, words in SIZES
        ),
    )


def _against_loss() -> Figure:
    def draw(summary: Summary) -> Sequence[Panel]:
        whole = joined(summary, LOSS)
        return [
            Chart(
                f"{words}. {_MEANS}.",
                against(
                    whole,
                    JOINED,
                    "message_delay_with_setup_s",
                    x="loss",
                    of={"protocol": STUDIED, "size_bytes": size_bytes, "channel_delay_s": [0.025, 0.15]},
                    dash=None,
                    facet="channel_delay_s",
                    even=True,
                    printed=[
                        Mark(loss, value_s, colour="tls-sctp", facet=0.025, label=f"{1e3 * value_s:g} ms")
                        for loss, value_s in zip((0.0, 0.05), SCTP_MEANS[size_bytes], strict=True)
                    ],
                ),
            )
            for size_bytes, words in SIZES
        ]

    return Figure(
        "28",
        "Message delay against loss",
        f"{_FRESH}; set-up included. Stars: what is printed for TLS over SCTP.",
        LOSS,
        draw,
        tuple(
            Printed(
                f"TLS over SCTP, {words}, 25 ms, no loss and 5 %",
                " and ".join(f"{1e3 * value_s:g} ms" for value_s in SCTP_MEANS[size_bytes]),
                "section 6.3.1",
            )
            for size_bytes, words in SIZES
        ),
    )


def _panels(
    summary: Summary, of: dict[str, Any], quantities: Sequence[tuple[str, str]], dash: str | None, words: str
) -> list[Panel]:
    """A distribution a size and quantity."""
    return [
        Chart(
            f"{size}{what}. {words}",
            cdf(
                summary,
                JOINED,
                quantity,
                of={**of, "size_bytes": size_bytes},
                dash=dash,
                facet=None,
                log=True,
            ),
        )
        for size_bytes, size in SIZES
        for quantity, what in quantities
    ]


def _distributions(key: str, delay_s: float, *, with_setup: bool) -> Figure:
    protocols = STUDIED if with_setup else TLS

    def draw(summary: Summary) -> Sequence[Panel]:
        of = {"protocol": protocols, "channel_delay_s": delay_s, "loss": [0.0, 0.01]}
        quantities = [(WITH if with_setup else WITHOUT, "")]
        return _panels(joined(summary, FRESH), of, quantities, "loss", f"{_DASHES.capitalize()}.")

    part = "included" if with_setup else "left out"
    return Figure(
        key,
        f"Distribution of the message delay at {1e3 * delay_s:g} ms, set-up {part}",
        f"{_FRESH}; all messages of all stretches, bands by stretch.",
        FRESH,
        draw,
    )


def _comparison(key: str, delay_s: float) -> Figure:
    def draw(summary: Summary) -> Sequence[Panel]:
        of = {"protocol": STUDIED, "channel_delay_s": delay_s, "loss": 0.0}
        quantities = [(WITHOUT, ", set-up left out"), (WITH, ", set-up included")]
        return _panels(joined(summary, FRESH), of, quantities, None, "No loss.")

    return Figure(
        key,
        f"Message delay with and without set-up at {1e3 * delay_s:g} ms",
        f"{_FRESH}. The study draws both into one panel; its text calls Figure 34 Figure 35.",
        FRESH,
        draw,
    )


def _libraries() -> Figure:
    def draw(summary: Summary) -> Sequence[Panel]:
        whole = joined(summary, FRESH)
        return [
            Chart(
                f"{words}. {_MEANS}; {_DASHES}.",
                against(whole, JOINED, "message_delay_s", of={"protocol": QUIC, "size_bytes": size_bytes}),
            )
            for size_bytes, words in SIZES
        ]

    return Figure(
        "messages-quic",
        "Message delay over QUIC libraries, set-up left out",
        f"{_FRESH}. What is left when the handshake is over differs by how a library begins to send.",
        FRESH,
        draw,
        beyond=True,
    )


def _kept() -> Figure:
    def draw(summary: Summary) -> Sequence[Panel]:
        protocols = ["tcp-cubic", "sctp", "tls-cubic", "tls-bbr", "tls-sctp", "quic-quinn-cubic", "restp-web"]
        return [
            Chart(
                f"{words}. {_DASHES.capitalize()}.",
                cdf(
                    summary,
                    "messages-kept",
                    WITHOUT,
                    of={"size_bytes": size_bytes, "protocol": protocols},
                    log=True,
                ),
            )
            for size_bytes, words in SIZES
        ]

    return Figure(
        "messages-kept",
        "Distribution of the message delay over a connection that is kept",
        "A message each 3 s over one connection; all messages of all stretches, bands by stretch.",
        ("messages-kept",),
        draw,
        beyond=True,
    )


def _resumed() -> Figure:
    def draw(summary: Summary) -> Sequence[Panel]:
        return [
            Chart(
                f"{words}, no loss. Solid: resumed, broken: resumed with data in the first flight.",
                cdf(
                    summary,
                    "messages-resumed",
                    WITH,
                    of={"size_bytes": size_bytes, "loss": 0.0},
                    dash="early_data",
                    log=True,
                ),
            )
            for size_bytes, words in SIZES
        ]

    return Figure(
        "messages-resumed",
        "Distribution of the message delay over resumed connections, set-up included",
        "Each connection but the first resumes the one before. With 0-RTT data do not wait for it.",
        ("messages-resumed",),
        draw,
        beyond=True,
    )


def _datagrams() -> Figure:
    def draw(summary: Summary) -> Sequence[Panel]:
        chart = cdf(summary, "messages-datagrams", WITHOUT, log=True)
        return [Chart(f"1 kB. {_DASHES.capitalize()}; what was lost has no delay.", chart)]

    return Figure(
        "messages-datagrams",
        "Distribution of the message delay as datagrams",
        "A message of 1 kB each 3 s that nobody repeats: the line's own delay.",
        ("messages-datagrams",),
        draw,
        beyond=True,
    )
