"""What settings change: within an experiment that varies one, and between two that differ in one."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gauntlet import units
from gauntlet.advice.settings import Change, Effect, Setting, setting_of
from gauntlet.errors import NotMeasured, UserError
from gauntlet.metrics.intervals import the_same
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.quantity import Quantity, shown
from gauntlet.metrics.ratios import ratio
from gauntlet.report.evaluation import JUDGED_BY
from gauntlet.studies.model import PROTOCOLS, Study
from gauntlet.studies.select import by_repetition
from gauntlet.studies.siblings import QUEUES, Sibling, queue_of, siblings
from gauntlet.studies.summary import Summary

_GREEDY = ("throughput_bps", "delay_p95_s")
"""What flows that send all they can are told by: what they carry, and how long it waits."""

_NOT_CONDITIONS = ("repetition", "protocol", PROTOCOLS)


@dataclass(frozen=True)
class _Side:
    """One of the two that are compared: an experiment and what is chosen of it."""

    experiment: str
    chosen: Mapping[str, Any]


def changes(study: Study, summary: Summary) -> list[Change]:
    """Every setting that was measured, by the order of the study's experiments; nothing for the others."""
    found = [*_within(study, summary), *_between(study, summary)]
    order = {it.name: place for place, it in enumerate(study.experiments)}
    return sorted(found, key=lambda it: min(order[name] for name in it.where.split(" and ")))


def _within(study: Study, summary: Summary) -> Iterator[Change]:
    """Experiments whose matrix varies a setting: its last value against its first, other settings at their
    last.
    """
    for experiment in summary.experiments:
        factors = summary.factors(experiment)
        settings = {name: setting for name in factors if (setting := setting_of(name)) is not None}
        for name, setting in settings.items():
            if len(factors[name]) < 2:
                continue
            others = {other: factors[other][-1] for other in settings if other != name}
            first, last = factors[name][0], factors[name][-1]
            besides = ", ".join(
                f"{settings[other].words} {summary.label(experiment, other, value)}"
                for other, value in others.items()
            )
            sides = (
                _Side(experiment, {**others, name: last}),
                _Side(experiment, {**others, name: first}),
            )
            values = (summary.label(experiment, name, last), summary.label(experiment, name, first))
            yield from _of_pair(study, summary, setting, sides, values=values, besides=besides)


def _between(study: Study, summary: Summary) -> Iterator[Change]:
    """Experiments that differ in one setting and were played with the same seed, on the same stretches."""
    manifest = summary.manifest()
    for pair in siblings(study):
        setting = setting_of(pair.key)
        if setting is None or not {pair.one.name, pair.other.name} <= manifest.keys():
            continue
        if manifest[pair.one.name].get("seed") != manifest[pair.other.name].get("seed"):
            continue
        sides = (_Side(pair.other.name, {}), _Side(pair.one.name, {}))
        yield from _of_pair(study, summary, setting, sides, values=_values(pair, setting))


def _values(pair: Sibling, setting: Setting) -> tuple[str, str]:
    if pair.key in QUEUES:
        return queue_of(pair.other), queue_of(pair.one)
    one, other = (_value(it, setting) for it in pair.values)
    return other, one


def _value(given: Any, setting: Setting) -> str:
    if given is None:
        return setting.unset
    return f"{given} {setting.unit}" if isinstance(given, int | float) else units.spaced(str(given))


def _of_pair(
    study: Study,
    summary: Summary,
    setting: Setting,
    sides: tuple[_Side, _Side],
    *,
    values: tuple[str, str],
    besides: str = "",
) -> Iterator[Change]:
    """A change for each transport that both have alone, and each KPI that it is judged by."""
    names = list(dict.fromkeys(side.experiment for side in reversed(sides)))
    for protocol in _alone(summary, names):
        for name in _judged_by(summary, names):
            try:
                kpi = shown(Quantity(name), study.measures)
            except UserError:
                continue
            effects = tuple(_effects(study, summary, sides, protocol, kpi))
            if effects:
                where = " and ".join(names)
                yield Change(setting, protocol, *values, besides, kpi, effects, where)


def _alone(summary: Summary, names: Sequence[str]) -> list[str]:
    """The protocols that run by themselves in all of these experiments."""
    each = [summary.factors(name).get(PROTOCOLS, []) for name in names]
    return [str(it) for it in each[0] if "+" not in str(it) and all(it in others for others in each)]


def _judged_by(summary: Summary, names: Sequence[str]) -> tuple[str, ...]:
    """The KPIs that flows of these experiments are judged by."""
    flows = summary.flows(names[0])
    apps = set(flows.column("app").to_pylist()) - {None} if "app" in flows.column_names else set()
    if len(apps) != 1:
        return ()
    app = str(apps.pop())
    return (JUDGED_BY[app],) if app in JUDGED_BY else _GREEDY


def _effects(
    study: Study, summary: Summary, sides: tuple[_Side, _Side], protocol: str, kpi: Kpi
) -> Iterator[Effect]:
    """The ratio under every condition that both sides have."""
    these, those = (summary.factors(side.experiment) for side in sides)
    varied = [
        name
        for name in these
        if name not in _NOT_CONDITIONS and name not in sides[0].chosen and setting_of(name) is None
    ]
    shared = [[value for value in these[name] if value in those.get(name, ())] for name in varied]
    for values in itertools.product(*shared):
        condition = dict(zip(varied, values, strict=True))
        try:
            one, other = (
                by_repetition(
                    summary,
                    side.experiment,
                    {"protocol": protocol, **side.chosen, **condition},
                    Quantity(kpi.name),
                    measures=study.measures,
                )
                for side in sides
            )
            one.check()
            other.check()
        except NotMeasured:
            continue
        pairs = sorted(one.values.keys() & other.values.keys())
        found = (
            ratio([one.values[it] for it in pairs], [other.values[it] for it in pairs]).mean
            if pairs
            else None
        )
        if found is None:
            continue
        if one.deterministic and other.deterministic:
            found = the_same(found.value)
        yield Effect(_words(summary, sides[0].experiment, condition), found)


def _words(summary: Summary, experiment: str, condition: Mapping[str, Any]) -> str:
    said = []
    for name, value in condition.items():
        label = summary.label(experiment, name, value)
        said.append(f"{label} loss" if name == "loss" else label)
    return ", ".join(said) or "all runs"
