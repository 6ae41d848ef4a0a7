"""What to use, by one experiment: what was played, held against the classes of service that it is of."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gauntlet import units
from gauntlet.advice import services, words
from gauntlet.advice.classes import Need, ServiceClass
from gauntlet.advice.grid import Grid, Variant, grid, unknown_last
from gauntlet.advice.readings import Readings
from gauntlet.advice.serves import Condition as Place
from gauntlet.advice.services import Services, Work
from gauntlet.advice.use import Advice
from gauntlet.advice.varied import GREEDY, within
from gauntlet.errors import NotMeasured
from gauntlet.experiment.services import Limit, Service
from gauntlet.figures.style import OF_SUBJECT
from gauntlet.metrics.asked import Asked
from gauntlet.metrics.flow_rows import JUDGED_BY
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.numbers import listed
from gauntlet.metrics.observation import Observation, State, averaged, common_limit, restricted
from gauntlet.metrics.quantity import DISTRIBUTIONS, MESSAGES, Quantity, of_distribution, seen, shown
from gauntlet.metrics.registry import registry
from gauntlet.metrics.selected import Selected
from gauntlet.metrics.steps import Floats
from gauntlet.report.channel import FACTORS, OF_CONSTANT, Channel, common
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.factors import Condition
from gauntlet.report.rows import Row
from gauntlet.report.samples import Samples
from gauntlet.report.tails import quantiles_of_due
from gauntlet.results import layout

_OF_WORK = {"app", "size_bytes", "interval_s", "page", "rate", "rate_bps"}
"""Factors that make another work: flows that differ in one are of different classes."""

_Places = Mapping[tuple[float | None, float | None, Variant], Condition]
"""Where each condition stands in the grid: channel delay, loss, and all else in which they differ."""

OF_LOAD = "The datagrams of [load] measure the line; they are of no class of service."
ABOVE = "What was asked of the datagrams of [load] is answered above."
JUDGE = "the flow's own judge"
NO_TRUST = "No run can be trusted: see Trust for the reasons."


def advice(evaluation: Evaluation, classes: Path | None = None) -> Advice:
    """What the experiment says of the classes that its flows are of, and of the settings that it varies.

    Classes of the file `classes` count before those of the experiment, these before what is asked of a flow
    itself (`judge`), and that before our classes. Raises UserError when a class is wrong.
    """
    known = _known(evaluation, classes)
    if not any(row.trusted for row in evaluation.rows):
        return Advice((), (), (), (), (NO_TRUST,))
    found: list[Grid] = []
    silent: list[str] = []
    above = ""
    whose: list[str] = []
    samples = evaluation.samples
    matters = max(words.NO_DIFFERENCE, evaluation.about.matters)
    judged = [part for part in evaluation.parts if not part.background]
    if evaluation.about.has_load:
        services_beside = [part for part in judged if part.apps != {"cbr"}]
        above = ABOVE if any(part.asked for part in judged) else ""
        silent += [OF_LOAD] if len(services_beside) < len(judged) and not above else []
        judged = services_beside
    for part in judged:
        for work, conditions in _works(part).items():
            fitting = _fitting(part, work, known)
            if fitting is None:
                silent.append(_no_class(part, work))
                continue
            of, those = fitting
            places = _places(part, conditions)
            for service in those:
                bound = _bound(part, service, work, places, of.by)
                if isinstance(bound, str):
                    silent.append(bound)
                    continue
                measured = _Measured(part, places, samples, judge=of.by == JUDGE)
                found.append(grid(measured, bound, "", every_variant=True, matters=matters))
                whose += [of.by] if of.by not in whose else []
    settings = tuple(change for part in judged for change in within(_Played(part, samples)))
    none = ((),) * len(found)
    return Advice(
        tuple(found), settings, none, none, tuple(silent), listed(whose) if whose else "", above=above
    )


def _known(evaluation: Evaluation, classes: Path | None) -> list[Services]:
    """The classes that count, those that come first before the others."""
    own = services.of_experiment(
        evaluation.results.experiment, str(evaluation.results.folder / layout.EXPERIMENT)
    )
    given = [] if classes is None else [services.load(classes)]
    return [*given, own, services.default()]


def _fitting(
    part: Evaluation, work: Work, known: Sequence[Services]
) -> tuple[Services, Sequence[Service]] | None:
    """The classes that a work is held against, and whose they are: ours only where the user asks nothing."""
    *given, _ = known
    if part.asked is None or part.of_safety:
        return services.fitting(work, known)
    return services.fitting(work, given) or _of_judge(part.asked, work)


def _of_judge(asked: Asked, work: Work) -> tuple[Services, Sequence[Service]]:
    """What is asked of a flow, as a class of its own; what is lost is late, so any transport takes part."""
    words = asked.question.rstrip("?")
    limit = Limit(
        words=words[0].lower() + words[1:],
        kpi=asked.column if asked.level == 1 else asked.distribution or asked.named,
        quantile=None if asked.level == 1 else asked.level,
        most=None if asked.kpi.higher_is_better else asked.bound,
        least=asked.bound if asked.kpi.higher_is_better else None,
        source=JUDGE,
    )
    service = Service(name="As judged", apps=[work.app], reliable=False, need=[limit])
    return Services(JUDGE, (service,)), [service]


def _works(part: Evaluation) -> dict[Work, list[Condition]]:
    """What its flows have to do, and under which conditions."""
    found: dict[Work, list[Condition]] = {}
    every = _by_condition(part)
    for condition in part.conditions:
        # What is carried by a transport that holds its sender back says whether all there is was sent.
        first = next((row for row in every[condition] if row.greedy), every[condition][0])
        work = Work.of({**first.asked, "app": first.app}, greedy=first.greedy)
        found.setdefault(work, []).append(condition)
    return found


def _by_condition(part: Evaluation) -> dict[Condition, list[Row]]:
    found: dict[Condition, list[Row]] = {}
    for row in part.rows:
        found.setdefault(row.condition, []).append(row)
    return found


def _bound(part: Evaluation, service: Service, work: Work, places: _Places, whose: str) -> ServiceClass | str:
    """A class with its needs under the conditions at these places; or why nothing is to be said of it.
    `whose` it is.
    """
    name = _name(part, service.name, work)
    taking_part = [style for style in part.styles if style.reliable or not service.reliable]
    candidates = [style.key.rpartition(OF_SUBJECT)[2] for style in taking_part]
    if not candidates:
        those = [words.label(style.key.rpartition(OF_SUBJECT)[2]) for style in part.styles]
        verb = "does" if len(those) == 1 else "do"
        return f"{name}: all that is sent must arrive, and {listed(those)} {verb} not repeat what is lost."
    limits = [it for it in service.need if it.of_best is None or len(candidates) > 1]
    if not limits:
        return (
            f"{name}: only {words.label(candidates[0])} was played, and the class asks how far a "
            "transport is from the best one; play another beside it, or name a class with a limit of its own."
        )
    needs = tuple(
        Need(
            **limit.model_dump(),
            experiment=part.results.manifest.name or "experiment",
            losses=sorted({loss for _, loss, _ in places}, key=unknown_last),
            delays_s=sorted({delay_s for delay_s, _, _ in places}, key=unknown_last),
        )
        for limit in limits
    )
    return ServiceClass(name, (), tuple(candidates), needs, whose=whose)


def _places(part: Evaluation, conditions: Sequence[Condition]) -> _Places:
    every = _by_condition(part)
    channels = {it: common({row.channel for row in every[it]}) for it in conditions}
    told = FACTORS | OF_CONSTANT
    for factor in part.factors:
        # What the channel tells of a link of one's own network (its loss, say) need not be told twice.
        fewer = told | {factor.name}
        if factor.name.startswith("network."):
            alone = {_place(part, it, channels[it], fewer) for it in conditions}
            told = fewer if len(alone) == len(conditions) else told
    found = {_place(part, it, channels[it], told): it for it in conditions}
    if len(found) < len(conditions):
        # What no channel tells of (each run drew its own) has the words of the factor.
        found = {_place(part, it, channels[it], {"channel_delay_s", "loss"}): it for it in conditions}
    return found


def _place(
    part: Evaluation, condition: Condition, channel: Channel, told: set[str]
) -> tuple[float | None, float | None, Variant]:
    besides = [*filter(None, (channel.one_way, channel.bursts, channel.added))]
    besides += [
        f"{factor.words} {factor.label(value)}"
        for factor, value in zip(part.factors, condition, strict=True)
        if factor.name not in told | _OF_WORK
    ]
    queue = "" if channel.queue_bytes is None else units.spaced(units.format_size(channel.queue_bytes))
    return channel.delay_s, channel.loss, Variant(queue, ", ".join(besides))


@dataclass(frozen=True)
class _Measured(Readings):
    """What the grid asks for, out of an evaluation of flows with the same work."""

    part: Evaluation
    places: _Places
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


def _of_row(
    row: Row, of: Quantity, told: float | None, kept: Mapping[tuple[str, int], tuple[Floats, Floats]]
) -> float | None:
    if of.kpi in DISTRIBUTIONS:
        key = (row.run, row.flow)
        return of_distribution(of, *kept[key]) if key in kept else None
    if told is None or of.between is None:
        return told
    low, high = of.between
    return float(low <= told <= high)


@dataclass(frozen=True)
class _Played:
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


def _name(part: Evaluation, of: str, work: Work) -> str:
    """A class with what was sent: Signalling message (200 B every 3 s)."""
    details = ", ".join(_details(work))
    return part.titled(f"{of} ({details})" if details else of)


def _details(work: Work) -> Iterator[str]:
    if work.size_bytes is not None and not work.page:
        every = (
            "" if work.interval_s is None else f" every {units.spaced(units.format_time(work.interval_s))}"
        )
        yield f"{units.spaced(units.format_size(work.size_bytes))}{every}"
    if work.page:
        yield work.page
    if work.rate_bps is not None:
        yield units.spaced(units.format_rate(work.rate_bps))


def _no_class(part: Evaluation, work: Work) -> str:
    what = _name(part, work.app or "What was sent", work)
    return (
        f"{what}: no class of service is of this application, size and rate; name one by [[class]] in the "
        "experiment or with --classes FILE."
    )
