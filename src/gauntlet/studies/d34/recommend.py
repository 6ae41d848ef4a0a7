"""Table 9 from measurements: what each class of railway application needs of its transport, in numbers.

D3.4's Table 9 gives its reasons in words; the rule that they become is in `gauntlet.studies.recommend`.
"""

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

VIDEO_BUFFER_S = 0.1
"""The variation of the delay that video bears, which can be buffered: from the 50 ms of a good network (D3.4,
Table 6) to the 150 ms that section 4.4 calls almost bad.
"""

RELIABLE = ("tcp-cubic", "tcp-bbr", "sctp")
ALL = (*RELIABLE, "udp")
_BOTH = (0.0, 0.01)
_SLIGHT = (0.0, 0.001)
_BIG = {"size_bytes": 10_000_000}
_SMALL = {"size_bytes": 1_000_000}

CLASSES = (
    ServiceClass(
        "Signalling",
        ("sctp", "tcp-bbr"),
        RELIABLE,
        (
            Need(
                "95 % of messages of a slow on-off source about as soon as with the best",
                "vbr-low-hsr",
                "delay_p95_s",
                _BOTH,
                of_best=AS_GOOD,
            ),
        ),
    ),
    ServiceClass(
        "Critical voice",
        ("tcp-bbr", "udp"),
        ALL,
        (
            Need(
                "95 % of messages of a slow on-off source within 30 ms above the channel's delay",
                "vbr-low-hsr",
                "delay_p95_s",
                _BOTH,
                most=JITTER_S,
                above_channel=True,
            ),
            Need("at most 3 % of them lost", "vbr-low-hsr", "message_loss_ratio", _BOTH, most=TOLERABLE_LOSS),
        ),
    ),
    ServiceClass(
        "Critical data",
        ("tcp-bbr",),
        RELIABLE,
        (
            Need(
                "throughput of a greedy source about the best",
                "cbr-hsr",
                "throughput_bps",
                _BOTH,
                of_best=AS_GOOD,
                higher_is_better=True,
            ),
            Need(
                "10 MB about as soon as with the best",
                "files-hsr",
                "download_time_s",
                _BOTH,
                of_best=AS_GOOD,
                where=_BIG,
            ),
        ),
    ),
    ServiceClass(
        "Critical video",
        ("udp", "tcp-bbr"),
        ALL,
        (
            Need(
                "95 % of messages of a steady source of 0.5 Mbit/s within 100 ms above the channel's delay",
                "video-hsr",
                "delay_p95_s",
                _BOTH,
                most=VIDEO_BUFFER_S,
                above_channel=True,
            ),
            Need("at most 3 % of them lost", "video-hsr", "message_loss_ratio", _BOTH, most=TOLERABLE_LOSS),
        ),
    ),
    ServiceClass(
        "Non-critical data",
        ("tcp-bbr", "tcp-cubic"),
        RELIABLE,
        (
            Need(
                "10 MB not much later than with the best",
                "files-hsr",
                "download_time_s",
                _SLIGHT,
                of_best=NOT_FAR_OFF,
                where=_BIG,
            ),
        ),
    ),
    ServiceClass(
        "Internet connectivity",
        ("tcp-bbr", "tcp-cubic", "udp"),
        RELIABLE,
        (
            Need(
                "1 MB not much later than with the best",
                "files-hsr",
                "download_time_s",
                _SLIGHT,
                of_best=NOT_FAR_OFF,
                where=_SMALL,
            ),
            Need(
                "throughput of a fast on-off source not far below the best",
                "vbr-high-hsr",
                "throughput_bps",
                (0.0,),
                of_best=NOT_FAR_OFF,
                higher_is_better=True,
            ),
        ),
    ),
)
"""Rows of Table 9 in its order. UDP takes no part where all that is sent must arrive."""


def recommend(summary: Summary) -> list[Recommendation]:
    """Every row from the results at hand. Raises NotMeasured when a condition is missing."""
    return [of_class(summary, service) for service in CLASSES]
