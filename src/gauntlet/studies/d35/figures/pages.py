"""Download times of pages: Figures 9 to 12 (HTTP) and 13 to 16 (HTTPS and HTTP/3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gauntlet.report.style import styles
from gauntlet.studies.charts import Mark
from gauntlet.studies.d35.figures.compared import compared, each_protocol
from gauntlet.studies.d35.figures.times import (
    LONG_S,
    SHORT_S,
    TIME,
    against_delay,
    against_loss,
    distribution,
    words,
)
from gauntlet.studies.model import Figure, Panel, Printed
from gauntlet.studies.summary import Summary

_PAGES = (("kepler", "ETSI Kepler page"), ("newspaper", "Newspaper page"))


@dataclass(frozen=True)
class Family:
    """HTTP in clear or secured: four figures of one kind."""

    name: str
    first: int
    """Number of its first figure."""
    section: str
    experiments: tuple[str, ...]
    under_loss: tuple[str, ...]
    """Those with the other losses."""
    remark: str


FAMILIES = (
    Family("HTTP", 9, "section 6.2.1", ("pages-http",), ("pages-http-loss",), "HTTP/1.1."),
    Family(
        "HTTPS",
        13,
        "section 6.2.2",
        ("pages-https", "pages-http3"),
        ("pages-https-loss", "pages-http3-loss"),
        "HTTP/1.1 over TLS, HTTP/3 over quinn in the place of LSQUIC.",
    ),
)

Place = tuple[str, float, float]
"""Protocol, channel delay (s), loss."""

PRINTED_S: Mapping[tuple[str, str], Mapping[Place, float]] = {
    ("HTTP", "kepler"): {
        ("tcp-cubic", SHORT_S, 0.0): 10.0,
        ("tcp-cubic", LONG_S, 0.0): 50.0,
        ("tcp-cubic", SHORT_S, 0.05): 15.0,
        ("sctp", LONG_S, 0.0): 73.0,
        ("sctp", LONG_S, 0.05): 113.0,
    },
    ("HTTP", "newspaper"): {
        ("tcp-cubic", SHORT_S, 0.0): 38.0,
        ("tcp-cubic", LONG_S, 0.0): 135.0,
        ("tcp-cubic", SHORT_S, 0.05): 52.0,
        ("sctp", LONG_S, 0.0): 202.0,
        ("sctp", LONG_S, 0.05): 348.0,
    },
    ("HTTPS", "kepler"): {
        ("tls-cubic", SHORT_S, 0.0): 15.0,
        ("tls-cubic", LONG_S, 0.0): 70.0,
        ("quic-quinn-bbr", LONG_S, 0.0): 46.0,
    },
    ("HTTPS", "newspaper"): {
        ("tls-cubic", SHORT_S, 0.0): 46.0,
        ("tls-cubic", LONG_S, 0.0): 165.0,
        ("quic-quinn-bbr", LONG_S, 0.0): 112.0,
    },
}
"""Mean times (s) that sections 6.2.1 and 6.2.2 print. Ends of ranges stand at the ends of their axis, what is
said of both TCPs stands with CUBIC, what is said of LSQUIC with quinn.
"""


def figures() -> tuple[Figure, ...]:
    """All of them, in the study's order."""
    every = [
        figure
        for family in FAMILIES
        for figure in (
            _of_delay(family),
            _of_loss(family),
            _distributed(family, SHORT_S, 2),
            _distributed(family, LONG_S, 3),
        )
    ]
    return (*every, _with_kept_connections())


def _printed(family: Family, losses: Sequence[float]) -> tuple[Printed, ...]:
    return tuple(
        Printed(
            f"{name}, {styles([protocol])[0].label}, {words(delay_s)}, loss {100 * loss:g} %",
            f"{value:g} s",
            family.section,
        )
        for page, name in _PAGES
        for (protocol, delay_s, loss), value in PRINTED_S[family.name, page].items()
        if loss in losses
    )


def _of_delay(family: Family) -> Figure:
    def draw(summary: Summary) -> Sequence[Panel]:
        panels = []
        for page, name in _PAGES:
            stars = [
                Mark(delay_s, value, colour=protocol, label=f"{value:g} s")
                for (protocol, delay_s, loss), value in PRINTED_S[family.name, page].items()
                if loss == 0.0
            ]
            panels.append(
                against_delay(summary, family.experiments, TIME, {"page": page}, name, printed=stars)
            )
        return panels

    return Figure(
        str(family.first),
        f"{family.name}: page download time against channel delay",
        f"{family.remark} A new session for each object, one after the other. Stars: printed values without "
        "loss.",
        family.experiments,
        draw,
        _printed(family, [0.0]),
    )


def _of_loss(family: Family) -> Figure:
    experiments = (*family.experiments, *family.under_loss)

    def draw(summary: Summary) -> Sequence[Panel]:
        panels = []
        for page, name in _PAGES:
            stars = [
                Mark(loss, value, colour=protocol, label=f"{value:g} s")
                for (protocol, _, loss), value in PRINTED_S[family.name, page].items()
            ]
            panels.append(against_loss(summary, experiments, TIME, {"page": page}, name, printed=stars))
        return panels

    return Figure(
        str(family.first + 1),
        f"{family.name}: page download time against loss",
        f"{family.remark} Losses in both directions. Stars: printed values.",
        experiments,
        draw,
        _printed(family, [0.0, 0.05]),
    )


def _distributed(family: Family, delay_s: float, place: int) -> Figure:
    def draw(summary: Summary) -> Sequence[Panel]:
        return [
            distribution(summary, family.experiments, TIME, {"page": page, "channel_delay_s": delay_s}, name)
            for page, name in _PAGES
        ]

    return Figure(
        str(family.first + place),
        f"{family.name}: distribution of page download times at {words(delay_s)}",
        f"{family.remark} One value a stretch.",
        family.experiments,
        draw,
    )


def _with_kept_connections() -> Figure:
    def draw(summary: Summary) -> Sequence[Panel]:
        ways = [
            *each_protocol(summary, "pages-https", "HTTP/1.1, a new session for each object,"),
            *each_protocol(summary, "pages-kept", "HTTP/1.1, one connection,", {"connections": 1}),
            *each_protocol(summary, "pages-kept", "HTTP/1.1, six connections,", {"connections": 6}),
            *each_protocol(summary, "pages-http2", "HTTP/2, one connection,"),
            *each_protocol(summary, "pages-http3", "HTTP/3, a new connection for each object,"),
            *each_protocol(summary, "pages-http3-kept", "HTTP/3, one connection,"),
        ]
        return [compared(summary, ways, {"page": page}, name) for page, name in _PAGES]

    return Figure(
        "kept-connections",
        "Pages as browsers load them: connections that are kept, requests in parallel",
        "The study opens a session for each object, so round trips dominate its times. Over HTTP/2 and "
        "HTTP/3 all that the first file names is asked for at once.",
        ("pages-https", "pages-http3", "pages-kept", "pages-http2", "pages-http3-kept"),
        draw,
        beyond=True,
    )
