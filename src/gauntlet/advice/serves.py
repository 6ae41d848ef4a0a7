"""Whether a protocol serves a class: every need's limit against what was measured, worst condition first."""

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from gauntlet.advice import lateness
from gauntlet.advice.classes import Need, ServiceClass
from gauntlet.metrics.intervals import Mean
from gauntlet.metrics.kpi import Kpi

Condition = tuple[float | None, float | None]
"""Channel delay (s) and loss (a share); None where it is not one that is known."""


class Measured(Protocol):
    """Results, as advice asks for them."""

    def kpi(self, need: Need) -> Kpi:
        """Label, unit and direction of what a need asks for. Raises UserError for an unknown one."""

    def value(self, need: Need, protocol: str, condition: Condition) -> float | None:
        """The mean over repetitions, None where nothing arrived in some repetition. Raises NotMeasured when
        the condition was not run.
        """

    def missed(self, need: Need, protocol: str, condition: Condition, deadline_s: float) -> Mean | None:
        """The share of messages that were late or lost; None where it is not known."""


@dataclass(frozen=True)
class Finding:
    """How a protocol stands to one need: its worst condition first of those where it fails."""

    protocol: str
    need: Need
    kpi: Kpi
    kept: bool
    kept_without_loss: bool
    worst: float
    """The value that is furthest from the limit (seconds, bit/s, shares)."""
    worst_limit: float
    worst_delay_s: float | None
    worst_loss: float | None
    by_missed: bool = False
    """Whether the worst value is the share of messages that were late or lost: the KPI keeps its limit."""


class _Distance(NamedTuple):
    """How far a protocol is from a need under a condition."""

    excess: float
    value: float
    limit: float
    delay_s: float | None
    loss: float | None
    by_missed: bool = False


@dataclass(frozen=True)
class Recommendation:
    """A row of the regenerated table."""

    service: ServiceClass
    always: tuple[str, ...]
    without_loss: tuple[str, ...]
    """Further protocols, which serve the class only where the channel loses nothing."""
    findings: tuple[Finding, ...]

    @property
    def share_served(self) -> float:
        """Share of the protocols that the study recommends, and that take part, which serve the class."""
        study = [it for it in self.service.study if it in self.service.candidates]
        return sum(it in self.always for it in study) / len(study)


def of_class(measured: Measured, service: ServiceClass) -> Recommendation:
    """One row. Raises what `measured` raises."""
    findings = [finding for need in service.needs for finding in _findings(measured, service, need)]

    def all_kept(protocol: str, *, lossless: bool) -> bool:
        mine = [finding for finding in findings if finding.protocol == protocol]
        return all(finding.kept_without_loss if lossless else finding.kept for finding in mine)

    always = tuple(it for it in service.candidates if all_kept(it, lossless=False))
    without = tuple(it for it in service.candidates if it not in always and all_kept(it, lossless=True))
    return Recommendation(service, always, without, tuple(findings))


def _findings(measured: Measured, service: ServiceClass, need: Need) -> list[Finding]:
    kpi = measured.kpi(need)
    conditions = [(delay_s, loss) for loss in need.losses for delay_s in need.delays_s]
    values = {
        (protocol, condition): _value(measured, need, kpi, protocol, condition)
        for protocol in service.candidates
        for condition in conditions
    }
    found = []
    for protocol in service.candidates:
        distances = []
        for condition in conditions:
            value = values[protocol, condition]
            limit = _limit(need, kpi, [values[other, condition] for other in service.candidates])
            of_value = _Distance(_excess(kpi, value, limit), value, limit, *condition)
            of_missed = None if of_value.excess > 0 else _missed(measured, need, protocol, condition)
            distances.append(of_missed or of_value)
        worst = max(distances)
        found.append(
            Finding(
                protocol,
                need,
                kpi,
                kept=worst.excess <= 0,
                kept_without_loss=all(each.excess <= 0 for each in distances if each.loss == 0),
                worst=worst.value,
                worst_limit=worst.limit,
                worst_delay_s=worst.delay_s,
                worst_loss=worst.loss,
                by_missed=worst.by_missed,
            )
        )
    return found


def _missed(measured: Measured, need: Need, protocol: str, condition: Condition) -> _Distance | None:
    """Where more messages were late or lost than the need lets be, by how much; else None."""
    allowed, deadline_s = lateness.may_miss(need), lateness.deadline_s(need, condition[0])
    if allowed is None or deadline_s is None:
        return None
    share = measured.missed(need, protocol, condition, deadline_s)
    if share is None or (times := lateness.times(share.value, allowed)) <= 1:
        return None
    return _Distance(times - 1, share.value, allowed, *condition, by_missed=True)


def _value(measured: Measured, need: Need, kpi: Kpi, protocol: str, condition: Condition) -> float:
    value = measured.value(need, protocol, condition)
    if value is None:
        return 0.0 if kpi.higher_is_better else math.inf
    return value - (condition[0] or 0.0) if need.above_channel else value


def _limit(need: Need, kpi: Kpi, of_candidates: list[float]) -> float:
    if need.of_best is None:
        assert need.bound is not None
        return need.bound
    return max(of_candidates) / need.of_best if kpi.higher_is_better else min(of_candidates) * need.of_best


def _excess(kpi: Kpi, value: float, limit: float) -> float:
    """How far beyond its limit a value is, as a share of the limit; not above 0 when it is kept. Nothing at
    all keeps no limit, though it be the best of nothing.
    """
    if math.isinf(value) or (kpi.higher_is_better and value == 0):
        return math.inf
    beyond = limit - value if kpi.higher_is_better else value - limit
    return beyond / limit
