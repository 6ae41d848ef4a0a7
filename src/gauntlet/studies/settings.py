"""What settings change, by a study: of an experiment that varies one, between two that differ in one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gauntlet.advice.settings import Change, Setting, setting_of
from gauntlet.advice.varied import GREEDY, Side, compared, within
from gauntlet.errors import UserError
from gauntlet.experiment.subset import PROTOCOLS
from gauntlet.metrics.flow_rows import JUDGED_BY
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.quantity import Quantity, shown
from gauntlet.metrics.selected import Selected
from gauntlet.studies.model import Study
from gauntlet.studies.select import by_repetition
from gauntlet.studies.siblings import QUEUES, Sibling, queue_of, siblings
from gauntlet.studies.summary import Summary

_NOT_CONDITIONS = ("repetition", "protocol", PROTOCOLS)


@dataclass(frozen=True)
class _Played:
    """An experiment of a study's summary, as `gauntlet.advice.varied.Played`."""

    study: Study
    summary: Summary
    name: str

    def factors(self) -> Mapping[str, Sequence[Any]]:
        """See `Played`."""
        every = self.summary.factors(self.name)
        return {name: values for name, values in every.items() if name not in _NOT_CONDITIONS}

    def label(self, factor: str, value: Any) -> str:
        """See `Played`."""
        return self.summary.label(self.name, factor, value)

    def transports(self) -> Sequence[str]:
        """See `Played`."""
        return [str(it) for it in self.summary.factors(self.name).get(PROTOCOLS, []) if "+" not in str(it)]

    def judged_by(self) -> Sequence[Kpi]:
        """See `Played`."""
        flows = self.summary.flows(self.name)
        apps = set(flows.column("app").to_pylist()) - {None} if "app" in flows.column_names else set()
        if len(apps) != 1:
            return ()
        app = str(apps.pop())
        found = []
        for name in (JUDGED_BY[app],) if app in JUDGED_BY else GREEDY:
            try:
                found.append(shown(Quantity(name), self.study.measures))
            except UserError:
                continue
        return found

    def by_repetition(self, kpi: Kpi, protocol: str, chosen: Mapping[str, Any]) -> Selected:
        """See `Played`."""
        selection = {"protocol": protocol, **chosen}
        return by_repetition(
            self.summary, self.name, selection, Quantity(kpi.name), measures=self.study.measures
        )


def changes(study: Study, summary: Summary) -> list[Change]:
    """Every setting that was measured, by the order of the study's experiments; nothing for the others."""
    every = (within(_Played(study, summary, name)) for name in summary.experiments)
    found = [*(change for each in every for change in each), *_between(study, summary)]
    order = {it.name: place for place, it in enumerate(study.experiments)}
    return sorted(found, key=lambda it: min(order[name] for name in it.where.split(" and ")))


def _between(study: Study, summary: Summary) -> Iterator[Change]:
    """Experiments that differ in one setting and were played with the same seed, on the same stretches."""
    manifest = summary.manifest()
    for pair in siblings(study):
        setting = setting_of(pair.key)
        if setting is None or not {pair.one.name, pair.other.name} <= manifest.keys():
            continue
        if manifest[pair.one.name].get("seed") != manifest[pair.other.name].get("seed"):
            continue
        other, one = (_Played(study, summary, it.name) for it in (pair.other, pair.one))
        yield from compared(setting, (Side(other, {}), Side(one, {})), _values(pair, setting))


def _values(pair: Sibling, setting: Setting) -> tuple[str, str]:
    if pair.key in QUEUES:
        return queue_of(pair.other), queue_of(pair.one)
    one, other = (setting.value(it) for it in pair.values)
    return other, one
