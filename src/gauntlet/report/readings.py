"""What advice reads of one experiment: values by repetition, for the grid of classes and for settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gauntlet.advice.classes import Need
from gauntlet.advice.grid import Variant
from gauntlet.advice.readings import Readings
from gauntlet.advice.serves import Condition as Place
from gauntlet.advice.varied import GREEDY
from gauntlet.errors import NotMeasured
from gauntlet.figures.style import OF_SUBJECT
from gauntlet.metrics.flow_rows import JUDGED_BY
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.observation import Observation, State, averaged, common_limit, restricted
from gauntlet.metrics.quantity import DISTRIBUTIONS, MESSAGES, Kept, Quantity, of_distribution, seen, shown
from gauntlet.metrics.registry import registry
from gauntlet.metrics.selected import Selected
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.factors import Condition
from gauntlet.report.rows import Row
from gauntlet.report.samples import Samples
from gauntlet.report.tails import quantiles_of_due

Places = Mapping[tuple[float | None, float | None, Variant], Condition]
"""Where each condition stands in the grid: channel delay, loss, and all else in which they differ."""


@dataclass(frozen=True)
class Measured(Readings):
    """What the grid asks for, out of an evaluation of flows with the same work."""

    part: Evaluation
    places: Places
    samples: Samples
    judge: bool = False
    """Whether the need is what is asked of these flows themselves: each of them has to keep it, and a
    quantile is one of all messages that were due.
    """

    def kpi(self, need: Need) -> Kpi:
        """See `Readings`."""
        return self.part.called(shown(Quantity(need.kpi, need.quantile), {}))

    def completed(self, need: Need, protocol: str, condition: Place) -> tuple[int, int]:
        """See `Readings`."""
        try:
            return self.part.done(self._key(protocol), self._at(need, condition))
        except NotMeasured:
            return 0, 0

    def kept(self, need: Need, protocol: str, condition: Place) -> tuple[int, int] | None:
        """See `Readings`."""
        if not self.judge:
            return None
        kept, judged = self.part.kept(self._key(protocol), self._at(need, condition))
        return (kept, judged) if judged else None

    def variants(self, need: Need) -> Mapping[Variant, Need]:
        """See `Readings`: each is named in `where`, and has the delays and losses that go with it: where
        losses of one direction are words, those of both are numbers.
        """
        delays_s: dict[Variant, set[float | None]] = {}
        losses: dict[Variant, set[float | None]] = {}
        for delay_s, loss, variant in self.places:
            delays_s.setdefault(variant, set()).add(delay_s)
            losses.setdefault(variant, set()).add(loss)
        return {
            variant: need.model_copy(
                update={
                    "where": {"queue": variant.queue, "besides": variant.besides},
                    "delays_s": [it for it in need.delays_s if it in delays_s[variant]],
                    "losses": [it for it in need.losses if it in losses[variant]],
                }
            )
            for variant in losses
        }

    def read(self, need: Need, protocol: str, condition: Place, of: Quantity) -> Selected:
        """See `Readings`."""
        if need.above_channel and condition[0] is None:
            raise NotMeasured("The channel's own delay is no single number, so it cannot be taken off.")
        place, key = self._at(need, condition), self._key(protocol)
        if self.judge and of.quantile is not None and of.kpi in MESSAGES:
            # Also those that stand beside what is asked: a page has one p99.
            each = quantiles_of_due(self.part, key, place, of.kpi, of.quantile)
            found = _as_selected(self.part, key, place, each, common_limit(each.values()))
            if found.never and of != Quantity(need.kpi, need.quantile):
                raise NotMeasured("In some repetition so many messages never came that there is no such one.")
            return found
        return _selected(self.part, key, place, of, self.samples)

    def _key(self, protocol: str) -> str:
        """A protocol by the name that it has in the evaluation."""
        return f"{self.part.subject}{OF_SUBJECT}{protocol}" if self.part.subject else protocol

    def _at(self, need: Need, condition: Place) -> Condition:
        place = (*condition, Variant(**need.where))
        if place not in self.places:
            raise NotMeasured("The experiment does not have this condition.")
        return self.places[place]


def _selected(
    part: Evaluation, protocol: str, condition: Condition, of: Quantity, samples: Samples
) -> Selected:
    """A quantity of a protocol's flows by repetition. Raises NotMeasured as `Samples`."""
    kpi = registry().get(of.kpi)
    if kpi is not None and of.between is None:
        each = part.values(kpi, protocol, condition)
        limit = part.limit(kpi, condition)
    else:
        each = _by_repetition(part, protocol, condition, of, samples)
        limit = common_limit(each.values())
    return _as_selected(part, protocol, condition, each, limit)


def _as_selected(
    part: Evaluation,
    protocol: str,
    condition: Condition,
    each: Mapping[int, Observation],
    limit: float | None,
) -> Selected:
    values = {
        repetition: float(restricted([it], limit)[0])
        for repetition, it in each.items()
        if it.state != State.NEVER
    }
    return Selected(
        values,
        deterministic=len(values) > 1 and part.deterministic(protocol, condition),
        never=len(each) - len(values),
    )


def _by_repetition(
    part: Evaluation, protocol: str, condition: Condition, of: Quantity, samples: Samples
) -> dict[int, Observation]:
    """A quantile or a share; a repetition of which a flow says nothing is left out."""
    kept = samples.of(of.kpi) if of.kpi in DISTRIBUTIONS else {}
    found: dict[int, list[Observation | None]] = {}
    for row in part.trusted_rows(protocol, condition):
        told = row.kpis.get(of.kpi)
        value = _of_row(row, of, told, kept)
        said = seen(of, registry().get(of.kpi), value, told=told, done=row.completed, given_s=row.given_s)
        found.setdefault(row.repetition, []).append(said)
    return {
        repetition: averaged([it for it in each if it is not None])
        for repetition, each in sorted(found.items())
        if None not in each
    }


def _of_row(row: Row, of: Quantity, told: float | None, kept: Mapping[tuple[str, int], Kept]) -> float | None:
    if of.kpi in DISTRIBUTIONS:
        key = (row.run, row.flow)
        return of_distribution(of, *kept[key]) if key in kept else None
    if told is None or of.between is None:
        return told
    low, high = of.between
    return float(low <= told <= high)


@dataclass(frozen=True)
class Played:
    """Flows with the same work, as `gauntlet.advice.varied.Played`."""

    part: Evaluation
    samples: Samples

    @property
    def name(self) -> str:
        """See `Played`."""
        return self.part.results.manifest.name or "this experiment"

    def factors(self) -> Mapping[str, Sequence[Any]]:
        """See `Played`."""
        return {factor.name: factor.values for factor in self.part.factors}

    def label(self, factor: str, value: Any) -> str:
        """See `Played`."""
        return next(it for it in self.part.factors if it.name == factor).label(value)

    def transports(self) -> Sequence[str]:
        """See `Played`."""
        return [style.key for style in self.part.styles if " beside " not in style.key]

    def judged_by(self) -> Sequence[Kpi]:
        """See `Played`."""
        if self.part.asked is not None:
            return [] if self.part.main_kpi is None else [self.part.main_kpi]
        named = {JUDGED_BY.get(app) for app in self.part.apps}
        if len(named) != 1:
            return []
        (name,) = named
        return [self.part.called(registry()[it]) for it in (GREEDY if name is None else (name,))]

    def by_repetition(self, kpi: Kpi, protocol: str, chosen: Mapping[str, Any]) -> Selected:
        """See `Played`."""
        condition = tuple(chosen[factor.name] for factor in self.part.factors)
        return _selected(self.part, protocol, condition, Quantity(kpi.name), self.samples)
