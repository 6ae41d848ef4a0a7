"""What to use, by one experiment: what was played, held against the classes of service that it is of."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from gauntlet import units
from gauntlet.advice import services, words
from gauntlet.advice.classes import Need, ServiceClass
from gauntlet.advice.grid import Grid, Variant, grid, unknown_last
from gauntlet.advice.services import Services, Work
from gauntlet.advice.use import Advice
from gauntlet.advice.varied import within
from gauntlet.experiment.services import Limit, Service
from gauntlet.figures.style import OF_SUBJECT
from gauntlet.metrics.asked import Asked
from gauntlet.metrics.numbers import listed
from gauntlet.report.channel import FACTORS, OF_CONSTANT, Channel, common
from gauntlet.report.evaluation import Evaluation
from gauntlet.report.factors import Condition
from gauntlet.report.readings import Measured, Places, Played
from gauntlet.report.rows import Row
from gauntlet.results import layout

_OF_WORK = {"app", "size_bytes", "interval_s", "page", "rate", "rate_bps"}
"""Factors that make another work: flows that differ in one are of different classes."""

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
                measured = Measured(part, places, samples, judge=of.by == JUDGE)
                found.append(grid(measured, bound, "", every_variant=True, matters=matters))
                whose += [of.by] if of.by not in whose else []
    settings = tuple(change for part in judged for change in within(Played(part, samples)))
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


def _bound(part: Evaluation, service: Service, work: Work, places: Places, whose: str) -> ServiceClass | str:
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


def _places(part: Evaluation, conditions: Sequence[Condition]) -> Places:
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
