"""What settings change: of results that vary one, and between two that differ in one."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gauntlet.advice.settings import Change, Effect, Setting, setting_of
from gauntlet.errors import NotMeasured
from gauntlet.metrics.intervals import the_same
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.ratios import ratio
from gauntlet.metrics.selected import Selected

GREEDY = ("throughput_bps", "delay_p95_s")
"""What flows that send all they can are told by: what they carry, and how long it waits."""


class Played(Protocol):
    """An experiment that was played, as settings are asked of it."""

    @property
    def name(self) -> str:
        """What it is called."""

    def factors(self) -> Mapping[str, Sequence[Any]]:
        """What it varies besides transport and repetition, with the values."""

    def label(self, factor: str, value: Any) -> str:
        """A factor's value for people."""

    def transports(self) -> Sequence[str]:
        """The protocols that run by themselves."""

    def judged_by(self) -> Sequence[Kpi]:
        """What its flows are judged by."""

    def by_repetition(self, kpi: Kpi, protocol: str, chosen: Mapping[str, Any]) -> Selected:
        """The KPI under these values of factors. Raises NotMeasured when that was not run."""


@dataclass(frozen=True)
class Side:
    """One of the two that are compared: an experiment and what is chosen of it."""

    played: Played
    chosen: Mapping[str, Any]


def within(played: Played) -> Iterator[Change]:
    """What each setting that an experiment varies changes: its other values against the usual one, or against
    the first where none is usual; other settings at their last.
    """
    factors = played.factors()
    settings = {name: setting for name in factors if (setting := setting_of(name)) is not None}
    for name, setting in settings.items():
        if len(factors[name]) < 2:
            continue
        others = {other: factors[other][-1] for other in settings if other != name}
        labels = {value: setting.value(value, played.label(name, value)) for value in factors[name]}
        usual = next((it for it in labels if labels[it] == setting.unset), factors[name][0])
        besides = ", ".join(
            f"{settings[other].words} {settings[other].value(value, played.label(other, value))}"
            for other, value in others.items()
        )
        for value, label in labels.items():
            if value != usual:
                sides = (Side(played, {**others, name: value}), Side(played, {**others, name: usual}))
                yield from compared(setting, sides, (label, labels[usual]), besides)


def compared(
    setting: Setting, sides: tuple[Side, Side], values: tuple[str, str], besides: str = ""
) -> Iterator[Change]:
    """What the first side changes against the second: for each transport that both have, and each KPI that it
    is judged by. `values` are the two values of the setting for people.
    """
    names = list(dict.fromkeys(side.played.name for side in reversed(sides)))
    one, other = (side.played for side in sides)
    for protocol in other.transports():
        if protocol not in one.transports():
            continue
        for kpi in other.judged_by():
            effects = tuple(_effects(sides, protocol, kpi))
            if effects:
                yield Change(setting, protocol, *values, besides, kpi, effects, " and ".join(names))


def _effects(sides: tuple[Side, Side], protocol: str, kpi: Kpi) -> Iterator[Effect]:
    """The ratio under every condition that both sides have."""
    these, those = (side.played.factors() for side in sides)
    varied = [name for name in these if name not in sides[0].chosen and setting_of(name) is None]
    shared = [[value for value in these[name] if value in those.get(name, ())] for name in varied]
    for values in itertools.product(*shared):
        condition = dict(zip(varied, values, strict=True))
        try:
            one, other = (
                side.played.by_repetition(kpi, protocol, {**side.chosen, **condition}) for side in sides
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
        yield Effect(_words(sides[0].played, condition), found)


def _words(played: Played, condition: Mapping[str, Any]) -> str:
    said = []
    for name, value in condition.items():
        label = played.label(name, value)
        said.append(f"{label} loss" if name == "loss" else label)
    return ", ".join(said) or "all runs"
