"""Which transport serves each class of application, from measurements and by a stated rule.

A study recommends and gives its reasons in words. Here each reason is a *need*: a KPI of an experiment, the
delays and losses of the channel under which it counts, and a limit, either absolute or against the best
protocol. A protocol serves a class when the mean over repetitions keeps the limit of every need under every
channel delay and loss; it serves the class *without loss* when it does so where the channel loses nothing.
What did not end counts with its limit; a protocol that delivers nothing in some repetition keeps no limit.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gauntlet.metrics.kpi import Kpi
from gauntlet.report.numbers import listed, number
from gauntlet.report.style import styles
from gauntlet.studies.joined import JOINED, joined
from gauntlet.studies.model import NotMeasured, Panel, Table, Value
from gauntlet.studies.select import Quantity, by_repetition, shown
from gauntlet.studies.summary import Summary

CHANNEL_DELAYS_S = (0.025, 0.05, 0.15)
"""D3.4, section 6.2.1; D3.5, section 4.4."""

AS_GOOD = 1.10
"""A protocol is as good as the best when it is within this factor: the studies' "similar", "practically the
same" (docs/studies/d34.md, "Words and thresholds").
"""
NOT_FAR_OFF = 1.25
"""Enough where the service is not critical: "comparable"."""

TOLERABLE_LOSS = 0.03
"""Lost packets that voice and video bear: the lower of the 3 to 5 % of D3.4, section 4.4.1."""

JITTER_S = 0.03
"""Variation of the delay in a good network: D3.4, Table 6. For voice the 95th percentile may lie this far
above the channel's own delay.
"""


@dataclass(frozen=True)
class Need:
    """What a class asks of a transport."""

    words: str
    experiment: str | tuple[str, ...]
    """Where it is measured; several experiments count as one."""
    kpi: str
    losses: tuple[float, ...]
    delays_s: tuple[float, ...] = CHANNEL_DELAYS_S
    """The channel delays under which it counts."""
    most: float | None = None
    """The largest value that will do."""
    above_channel: bool = False
    """Whether the channel's own delay is taken off first."""
    of_best: float | None = None
    """How far from the best of the class's candidates it may be, as a factor."""
    higher_is_better: bool = False
    where: Mapping[str, Any] = field(default_factory=dict)
    """Further factors of the selection."""
    fixed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Factors that an experiment of several has, but not in its matrix: experiment -> factor -> value."""

    @property
    def experiments(self) -> tuple[str, ...]:
        """Their names."""
        return (self.experiment,) if isinstance(self.experiment, str) else self.experiment


@dataclass(frozen=True)
class ServiceClass:
    """A row of the study's table."""

    name: str
    study: tuple[str, ...]
    """What the study recommends."""
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
    conditions = [(delay_s, loss) for loss in need.losses for delay_s in need.delays_s]
    if isinstance(need.experiment, str):
        source, experiment = summary, need.experiment
    else:
        source, experiment = joined(summary, need.experiment, need.fixed), JOINED
    values = {
        (protocol, condition): _value(source, experiment, need, protocol, condition)
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
    """How far beyond its limit a value is, as a share of the limit; not above 0 when it is kept. Nothing at
    all keeps no limit, though it be the best of nothing.
    """
    if math.isinf(value) or (need.higher_is_better and value == 0):
        return math.inf
    beyond = limit - value if need.higher_is_better else value - limit
    return beyond / limit


def _value(
    summary: Summary, experiment: str, need: Need, protocol: str, condition: tuple[float, float]
) -> float:
    delay_s, loss = condition
    selection = {"protocol": protocol, "channel_delay_s": delay_s, "loss": loss, **need.where}
    selected = by_repetition(summary, experiment, selection, Quantity(need.kpi))
    if selected.never:
        return 0.0 if need.higher_is_better else math.inf
    if not selected.values:
        raise NotMeasured(
            f"No trusted run of {protocol} at {delay_s:g} s and a loss of {loss:g} tells of: {need.words}."
        )
    value = selected.mean().value
    return value - delay_s if need.above_channel else value


def share_served(service: ServiceClass) -> Value:
    """Share of the protocols that a study recommends for a class, and that take part, which serve it."""
    study = [it for it in service.study if it in service.candidates]

    def served(summary: Summary) -> float:
        return sum(it in of_class(summary, service).always for it in study) / len(study)

    return served


def panels(found: Sequence[Recommendation], study: str, measures: Mapping[str, Kpi]) -> list[Panel]:
    """The table beside the study's own, and every need behind it."""
    rows = tuple(
        (
            it.service.name,
            _names(it.service.study),
            _names(it.always),
            _names(it.without_loss),
            _difference(it),
        )
        for it in found
    )
    needs = tuple(
        (
            it.service.name,
            finding.need.words,
            _names((finding.protocol,)),
            *_worst(finding, measures),
            _kept(finding),
        )
        for it in found
        for finding in it.findings
    )
    return [
        Table(
            "What serves each class, as the study says and as measured.",
            ("Class", f"{study} recommends", "Measured: serves it", "Only without loss", "Difference"),
            rows,
        ),
        Table(
            "Every need, and how each protocol does under the worst of its conditions.",
            ("Class", "Need", "Protocol", "Worst value", "Limit", "Channel delay", "Loss", "Kept"),
            needs,
        ),
    ]


def _difference(found: Recommendation) -> str:
    """What the study recommends and the measurement does not, and the other way round."""
    study = [it for it in found.service.study if it in found.service.candidates]
    missing = [it for it in study if it not in found.always]
    more = [it for it in found.always if it not in study]
    words = []
    if missing:
        words.append(f"without {_names(tuple(missing))}")
    if more:
        words.append(f"with {_names(tuple(more))}")
    return "; ".join(words) or "none"


def _names(protocols: Sequence[str]) -> str:
    return listed([styles([it])[0].label for it in protocols]) if protocols else "–"


def _worst(finding: Finding, measures: Mapping[str, Kpi]) -> tuple[str, str, str, str]:
    """The worst value of a protocol, its limit there, and under which delay and loss that was."""
    kpi = shown(Quantity(finding.need.kpi), measures)
    sign = "at least" if finding.need.higher_is_better else "at most"
    nothing = math.isinf(finding.worst) or (finding.need.higher_is_better and finding.worst == 0)
    return (
        "nothing arrived" if nothing else f"{number(finding.worst * kpi.shown_factor)} {kpi.shown_unit}",
        f"{sign} {number(finding.worst_limit * kpi.shown_factor)}",
        f"{1e3 * finding.worst_delay_s:g} ms",
        f"{100 * finding.worst_loss:g} %",
    )


def _kept(finding: Finding) -> str:
    return "yes" if finding.kept else "without loss" if finding.kept_without_loss else "no"
