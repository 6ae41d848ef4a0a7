"""What to use: every class of service under every delay, loss and queue that was measured, best first.

A cell holds its transports against each need of the class that counts there. What decides for a transport is
the need that it is furthest from keeping.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from gauntlet.advice import lateness
from gauntlet.advice.classes import Need, ServiceClass
from gauntlet.advice.serves import Condition
from gauntlet.advice.standing import Grade, Standing, Tail, less, stands, unmeasured
from gauntlet.errors import NotMeasured
from gauntlet.metrics.intervals import Mean, mean
from gauntlet.metrics.kpi import Kpi

TAILS = (0.99, 0.999)
"""Quantiles of delays that are told beside the judged value: railways ask for both."""


@dataclass(frozen=True)
class Sample:
    """What was measured of a transport under a condition, the channel's own delay included."""

    mean: Mean
    values: Mapping[int, float]
    """By repetition."""


class Sampled(Protocol):
    """Results, as the grid asks for them."""

    def kpi(self, need: Need) -> Kpi:
        """Label, unit and direction of what a need asks for. Raises UserError for an unknown one."""

    def sample(self, need: Need, protocol: str, condition: Condition) -> Sample | None:
        """None where nothing arrived in some repetition. Raises NotMeasured when it was not run."""

    def tail(self, need: Need, protocol: str, condition: Condition, deadline_s: float | None) -> Tail | None:
        """What the slowest messages say where the need is one of messages; `deadline_s` has the channel's
        delay in it, and is None where the need has none. None where nothing is known.
        """

    def completed(self, need: Need, protocol: str, condition: Condition) -> tuple[int, int]:
        """How many flows did what they were to do, and of how many."""

    def kept(self, need: Need, protocol: str, condition: Condition) -> tuple[int, int] | None:
        """How many flows kept what is asked of each of them, and of how many; None where the need is not
        what was asked of flows.
        """

    def variants(self, need: Need) -> Mapping["Variant", Need]:
        """The need under all else that was measured besides delay and loss, with the delays and losses that
        go with it; its own first.
        """


@dataclass(frozen=True)
class Variant:
    """What cells differ in besides delay and loss, as people read it."""

    queue: str = ""
    """Before the line; empty where it is not known."""
    besides: str = ""
    """What else was varied; empty for nothing."""


@dataclass(frozen=True)
class Candidate:
    """A transport in a cell."""

    protocol: str
    standings: tuple[Standing, ...]
    """One a need that counts here, the one that decides first."""

    @property
    def deciding(self) -> Standing:
        """Of the need that it is furthest from keeping."""
        return self.standings[0]

    @property
    def grade(self) -> Grade:
        """Of the need that decides."""
        return self.deciding.grade

    @property
    def completed(self) -> tuple[int, int]:
        """Flows that did what they were to do, of all that the needs are measured from."""
        flows = {repr((it.need.experiment, it.need.where)): it.completed for it in self.standings}
        return sum(done for done, _ in flows.values()), sum(of for _, of in flows.values())


@dataclass(frozen=True)
class Cell:
    """A class under one condition."""

    delay_s: float | None
    loss: float | None
    variant: Variant
    candidates: tuple[Candidate, ...]
    """Best first."""
    judged: int
    """How many of the needs that count here were measured."""
    of: int
    own: bool = True
    """Whether the answer rests on it, and not only a comparison."""

    @property
    def queue(self) -> str:
        """As people read it; empty where it is not known."""
        return self.variant.queue

    @property
    def serving(self) -> tuple[Candidate, ...]:
        """The transports that serve the class here, as far as it was measured."""
        return tuple(it for it in self.candidates if it.grade.serving)


@dataclass(frozen=True)
class Grid:
    """A class under every condition under which it counts."""

    service: ServiceClass
    by: str
    """Whose class it is, as a table's head names it; empty for a class that the study does not have."""
    cells: tuple[Cell, ...]

    @property
    def own(self) -> tuple[Cell, ...]:
        """The cells that the answer rests on."""
        return tuple(it for it in self.cells if it.own)

    @property
    def by_flows(self) -> bool:
        """Whether flows decide, each of which has to keep what is asked of it."""
        return any(it.kept for cell in self.cells for each in cell.candidates for it in each.standings)

    def overall(self) -> tuple[Candidate, ...]:
        """Every transport by its worst cell of those that the answer rests on, best first; where flows decide
        those before the others that serve under more conditions, then those of which more flows do.
        """
        worst: dict[str, Candidate] = {}
        for cell in self.own:
            for it in cell.candidates:
                if it.protocol not in worst or _order(worst[it.protocol]) < _order(it):
                    worst[it.protocol] = it
        return tuple(sorted(worst.values(), key=lambda it: (*self._unkept(it.protocol), *_order(it))))

    def _unkept(self, protocol: str) -> tuple[int, float]:
        """Under how many conditions not all flows of a transport keep what is asked of them, and the shares
        that do not, summed up; zeros where nothing is asked of flows.
        """
        those = [it for cell in self.own for it in cell.candidates if it.protocol == protocol]
        shares = [max(each.unkept for each in it.standings) for it in those]
        return sum(share > 0 for share in shares), sum(shares)

    def where(self, candidate: Candidate) -> Cell:
        """The cell that a candidate of `overall` is of."""
        return next(cell for cell in self.own if any(it is candidate for it in cell.candidates))


def grid(
    results: Sampled,
    service: ServiceClass,
    by: str,
    *,
    every_variant: bool = False,
    matters: float | None = None,
) -> Grid:
    """A class under every condition. What was not measured stays in it as such.

    The answer rests on the variant that the needs themselves name, on all of them with `every_variant`. Those
    nearer to the best than the share `matters` are level with it.
    """
    variants = [results.variants(need) for need in service.needs]
    there_are = list(dict.fromkeys(it for each in variants for it in each)) or [Variant()]
    cells = []
    for variant in there_are:
        needs = [each.get(variant) for each in variants]
        for delay_s, loss in _conditions(service.needs):
            counting = [
                (own, here)
                for own, here in zip(service.needs, needs, strict=True)
                if delay_s in (here or own).delays_s and loss in (here or own).losses
            ]
            there = [here for _, here in counting if here is not None]
            if counting and there:
                found = _cell(results, service.candidates, there, (delay_s, loss), variant, matters=matters)
                own = every_variant or variant == there_are[0]
                cells.append(replace(found, of=len(counting), own=own))
    return Grid(service, by, tuple(it for it in cells if it.judged or it.own))


def _conditions(needs: Sequence[Need]) -> list[Condition]:
    delays = sorted({it for need in needs for it in need.delays_s}, key=unknown_last)
    losses = sorted({it for need in needs for it in need.losses}, key=unknown_last)
    return list(itertools.product(delays, losses))


def unknown_last(value: float | None) -> float:
    """A key to sort delays or losses by."""
    return math.inf if value is None else value


def _cell(
    results: Sampled,
    protocols: Sequence[str],
    needs: Sequence[Need],
    condition: Condition,
    variant: Variant,
    *,
    matters: float | None,
) -> Cell:
    every = [_level(_standings(results, protocols, need, condition), matters) for need in needs]
    measured = [each for each in every if any(it.grade != Grade.UNMEASURED for it in each)]
    candidates = [
        Candidate(of_one[0].protocol, tuple(sorted(of_one, key=_severity, reverse=True)))
        for of_one in zip(*(measured or every), strict=True)
    ]
    return Cell(*condition, variant, tuple(sorted(candidates, key=_order)), len(measured), len(needs))


def _standings(
    results: Sampled, protocols: Sequence[str], need: Need, condition: Condition
) -> list[Standing]:
    kpi = results.kpi(need)
    own_s = (condition[0] or 0.0) if need.above_channel else 0.0
    samples: dict[str, Sample | None] = {}
    for protocol in protocols:
        try:
            samples[protocol] = results.sample(need, protocol, condition)
        except NotMeasured:
            continue
    known = {protocol: it for protocol, it in samples.items() if it is not None}
    best = _best(kpi, known)
    found = []
    for protocol in protocols:
        limit = _limit(need, kpi, known.get(best))
        if protocol not in samples or limit is None:
            found.append(unmeasured(protocol, need, kpi))
            continue
        mine = samples[protocol]
        deadline_s = lateness.deadline_s(need, condition[0])
        found.append(
            stands(
                protocol,
                need,
                kpi,
                None if mine is None else less(mine.mean, own_s),
                limit,
                beyond=None if mine is None else _beyond(need, kpi, mine, known[best], own_s),
                completed=results.completed(need, protocol, condition),
                tail=results.tail(need, protocol, condition, deadline_s),
                kept=results.kept(need, protocol, condition),
            )
        )
    return found


def _level(found: list[Standing], matters: float | None) -> list[Standing]:
    """The same, those that are as near to the best as `matters` marked, where there is more than the best."""
    if matters is None:
        return found
    near = [it.need.of_best is not None and it.times * it.need.of_best <= 1 + matters for it in found]
    if sum(near) < 2:
        return found
    return [replace(it, level=matters) if close else it for it, close in zip(found, near, strict=True)]


def _best(kpi: Kpi, known: Mapping[str, Sample]) -> str:
    """Who has the best mean; empty when nobody has any."""
    ordered = sorted(known, key=lambda it: known[it].mean.value, reverse=kpi.higher_is_better)
    return ordered[0] if ordered else ""


def _limit(need: Need, kpi: Kpi, best: Sample | None) -> float | None:
    """What the need allows; None where it is against the best and there is none."""
    if need.of_best is None:
        return need.bound
    return None if best is None else best.mean.value * _factor(need, kpi)


def _factor(need: Need, kpi: Kpi) -> float:
    """What the best is multiplied with for the limit."""
    assert need.of_best is not None
    return 1 / need.of_best if kpi.higher_is_better else need.of_best


def _beyond(need: Need, kpi: Kpi, mine: Sample, best: Sample, own_s: float) -> Mean:
    """By how much the limit is exceeded, below 0 when it is kept. Against the best it is paired: in one
    repetition both rode on the same stretch.
    """
    sign = -1 if kpi.higher_is_better else 1
    if need.bound is not None:
        allowed = need.bound + own_s
        excess = [sign * (it - allowed) for it in mine.values.values()]
    else:
        factor = _factor(need, kpi)
        shared = sorted(mine.values.keys() & best.values.keys())
        excess = [sign * (mine.values[it] - factor * best.values[it]) for it in shared]
    return mean(excess) if excess else Mean(sign * mine.mean.value, None, None, 0, "none")


def _severity(standing: Standing) -> tuple[Any, ...]:
    return (standing.grade.rank, standing.unkept, standing.times)


def _order(candidate: Candidate) -> tuple[Any, ...]:
    return _severity(candidate.deciding)
