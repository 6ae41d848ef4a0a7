"""Table 9 from measurements: which transport serves each class of railway application, by a stated rule.

D3.4's Table 9 gives its reasons in words. Here each reason is a *need*: a KPI of one experiment, the losses
of the channel under which it counts, and a limit, either absolute or against the best protocol. A protocol
serves a class when the mean over repetitions keeps the limit of every need under every channel delay and
loss; it serves the class *without loss* when it does so where the channel loses nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gauntlet.metrics.intervals import mean
from gauntlet.studies.model import NotMeasured
from gauntlet.studies.select import Quantity, by_repetition
from gauntlet.studies.summary import Summary

CHANNEL_DELAYS_S = (0.025, 0.05, 0.15)
"""D3.4, section 6.2.1."""

AS_GOOD = 1.10
"""A protocol is as good as the best when it is within this factor: D3.4's "similar", "practically the same"
(docs/studies/d34.md, "Words and thresholds").
"""
NOT_FAR_OFF = 1.25
"""Enough where the service is not critical: D3.4's "comparable"."""

TOLERABLE_LOSS = 0.03
"""Lost packets that voice and video bear: the lower of the 3 to 5 % of D3.4, section 4.4.1."""

JITTER_S = 0.03
"""Variation of the delay in a good network: D3.4, Table 6. For voice the 95th percentile may lie this far
above the channel's own delay.
"""

VIDEO_BUFFER_S = 0.1
"""The same for video, which can be buffered: from the 50 ms of a good network (Table 6) to the 150 ms
that section 4.4 calls almost bad.
"""


@dataclass(frozen=True)
class Need:
    """What a class asks of a transport."""

    words: str
    experiment: str
    kpi: str
    losses: tuple[float, ...]
    most: float | None = None
    """The largest value that will do."""
    above_channel: bool = False
    """Whether the channel's own delay is taken off first."""
    of_best: float | None = None
    """How far from the best of the class's candidates it may be, as a factor."""
    higher_is_better: bool = False
    where: Mapping[str, Any] = field(default_factory=dict)
    """Further factors of the selection."""


@dataclass(frozen=True)
class ServiceClass:
    """A row of Table 9."""

    name: str
    study: tuple[str, ...]
    """What D3.4 recommends."""
    candidates: tuple[str, ...]
    needs: tuple[Need, ...]


@dataclass(frozen=True)
class Finding:
    """How a protocol stands to one need: its worst condition first of those where it fails."""

    protocol: str
    need: Need
    kept: bool
    kept_without_loss: bool
    worst: float
    """The value of the condition in which it is furthest from the limit (seconds, bit/s, shares)."""
    worst_limit: float
    worst_delay_s: float
    worst_loss: float


@dataclass(frozen=True)
class Recommendation:
    """A row of the regenerated table."""

    service: ServiceClass
    always: tuple[str, ...]
    without_loss: tuple[str, ...]
    """Further protocols, which serve the class only where the channel loses nothing."""
    findings: tuple[Finding, ...]


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


def of_class(summary: Summary, service: ServiceClass) -> Recommendation:
    """One row. Raises NotMeasured when a condition is missing."""
    findings = [finding for need in service.needs for finding in _findings(summary, service, need)]

    def all_kept(protocol: str, *, lossless: bool) -> bool:
        mine = [finding for finding in findings if finding.protocol == protocol]
        return all(finding.kept_without_loss if lossless else finding.kept for finding in mine)

    always = tuple(it for it in service.candidates if all_kept(it, lossless=False))
    without = tuple(it for it in service.candidates if it not in always and all_kept(it, lossless=True))
    return Recommendation(service, always, without, tuple(findings))


def _findings(summary: Summary, service: ServiceClass, need: Need) -> list[Finding]:
    conditions = [(delay_s, loss) for loss in need.losses for delay_s in CHANNEL_DELAYS_S]
    values = {
        (protocol, condition): _value(summary, need, protocol, *condition)
        for protocol in service.candidates
        for condition in conditions
    }
    found = []
    for protocol in service.candidates:
        distances = []
        for condition in conditions:
            value = values[protocol, condition]
            limit = _limit(need, [values[other, condition] for other in service.candidates])
            distances.append((_excess(need, value, limit), value, limit, *condition))
        worst = max(distances)
        found.append(
            Finding(
                protocol,
                need,
                kept=worst[0] <= 0,
                kept_without_loss=all(each[0] <= 0 for each in distances if each[4] == 0),
                worst=worst[1],
                worst_limit=worst[2],
                worst_delay_s=worst[3],
                worst_loss=worst[4],
            )
        )
    return found


def _limit(need: Need, of_candidates: list[float]) -> float:
    if need.of_best is None:
        assert need.most is not None
        return need.most
    return max(of_candidates) / need.of_best if need.higher_is_better else min(of_candidates) * need.of_best


def _excess(need: Need, value: float, limit: float) -> float:
    """How far beyond its limit a value is, as a share of the limit; not above 0 when it is kept."""
    beyond = limit - value if need.higher_is_better else value - limit
    return beyond / limit


def _value(summary: Summary, need: Need, protocol: str, delay_s: float, loss: float) -> float:
    selection = {"protocol": protocol, "channel_delay_s": delay_s, "loss": loss, **need.where}
    selected = by_repetition(summary, need.experiment, selection, Quantity(need.kpi))
    if not selected.values:
        raise NotMeasured(
            f"{need.experiment} has no trusted run of {protocol} at {delay_s:g} s and a loss of {loss:g}."
        )
    value = mean(list(selected.values.values())).value
    return value - delay_s if need.above_channel else value
