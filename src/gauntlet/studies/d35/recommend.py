"""The performance half of Table 11 from measurements: what each class needs of its transport, in numbers.

D3.5's Table 11 gives its reasons in words; the rule that they become is in `gauntlet.studies.recommend`. It
names transports in clear beside those under TLS; here all are secured, but for UDP, and quinn stands for
LSQUIC. For video D3.5 has no traffic of its own, and its row rests on D3.4: it is in that study's Table 9.
"""

from collections.abc import Sequence

from gauntlet.studies.d35.measures import THROUGHPUT_WITH_SETUP
from gauntlet.studies.recommend import (
    AS_GOOD,
    JITTER_S,
    NOT_FAR_OFF,
    TOLERABLE_LOSS,
    Need,
    Recommendation,
    ServiceClass,
    of_class,
)
from gauntlet.studies.summary import Summary

QUIC = ("quic-aioquic-newreno", "quic-quinn-cubic", "quic-quinn-bbr", "quic-s2n-cubic", "quic-s2n-bbr")
RELIABLE = ("tls-sctp", "tls-bbr", "tls-cubic", *QUIC)
LSQUIC = "quic-quinn-bbr"
"""What stands for the study's production library."""
_DELAY = ("streams-delay", "streams-aioquic", "streams-s2n")
_FRESH = ("messages-fresh", "messages-fresh-aioquic", "messages-fresh-s2n")
_VOICE = ("messages-kept", "messages-kept-s2n", "messages-datagrams")
_VOICE_SIZE = {"messages-datagrams": {"size_bytes": 1000}}
_SHORT_AND_LONG_S = (0.025, 0.15)
_BOTH = (0.0, 0.01)
_SMALL = {"size_bytes": 1000}
_TH = THROUGHPUT_WITH_SETUP.name

CLASSES = (
    ServiceClass(
        "Signalling",
        ("tls-sctp", "tls-bbr", "tls-cubic", LSQUIC),
        RELIABLE,
        (
            Need(
                "1 kB over a fresh connection not much later than with the best at low delay",
                _FRESH,
                "message_delay_with_setup_s",
                _BOTH,
                delays_s=(0.025,),
                of_best=NOT_FAR_OFF,
                where=_SMALL,
            ),
            Need(
                "1 kB about as soon as with the best once the connection is there",
                _FRESH,
                "message_delay_s",
                _BOTH,
                of_best=AS_GOOD,
                where=_SMALL,
            ),
        ),
    ),
    ServiceClass(
        "Critical voice",
        ("udp", "tls-bbr"),
        ("udp", "quic-quinn-datagram", "tls-bbr", "tls-cubic", "tls-sctp", *QUIC[1:]),
        (
            Need(
                "95 % of messages of 1 kB within 30 ms above the channel's delay, the connection being there",
                _VOICE,
                "delay_p95_s",
                _BOTH,
                delays_s=_SHORT_AND_LONG_S,
                most=JITTER_S,
                above_channel=True,
                where=_SMALL,
                fixed=_VOICE_SIZE,
            ),
            Need(
                "at most 3 % of them lost",
                _VOICE,
                "message_loss_ratio",
                _BOTH,
                delays_s=_SHORT_AND_LONG_S,
                most=TOLERABLE_LOSS,
                where=_SMALL,
                fixed=_VOICE_SIZE,
            ),
        ),
    ),
    ServiceClass(
        "Critical data",
        ("tls-bbr", LSQUIC),
        RELIABLE,
        (
            Need(
                "throughput of 1 MB about the best",
                _DELAY,
                _TH,
                _BOTH,
                of_best=AS_GOOD,
                higher_is_better=True,
            ),
        ),
    ),
    ServiceClass(
        "Non-critical data",
        ("tls-bbr", "tls-cubic"),
        RELIABLE,
        (
            Need(
                "throughput of 1 MB not far below the best, without loss and at 0.1 %",
                (*_DELAY, "streams-loss", "streams-loss-aioquic", "streams-loss-s2n"),
                _TH,
                (0.0, 0.001),
                delays_s=_SHORT_AND_LONG_S,
                of_best=NOT_FAR_OFF,
                higher_is_better=True,
            ),
        ),
    ),
    ServiceClass(
        "Internet connectivity",
        (LSQUIC, "tls-bbr", "tls-cubic"),
        RELIABLE,
        (
            Need(
                "throughput of 0.5 MB not far below the best at low delay",
                ("streams-size", "streams-size-aioquic", "streams-size-s2n"),
                _TH,
                _BOTH,
                delays_s=(0.025,),
                of_best=NOT_FAR_OFF,
                higher_is_better=True,
                where={"size_bytes": 500_000},
            ),
            Need(
                "throughput of 1 MB not far below the best without loss",
                _DELAY,
                _TH,
                (0.0,),
                of_best=NOT_FAR_OFF,
                higher_is_better=True,
            ),
        ),
    ),
)
"""Rows of Table 11 in its order."""


def recommend(summary: Summary) -> Sequence[Recommendation]:
    """Every row from the results at hand. Raises NotMeasured when a condition is missing."""
    return [of_class(summary, service) for service in CLASSES]
