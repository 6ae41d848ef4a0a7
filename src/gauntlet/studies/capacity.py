"""What the line itself would carry on the stretch of each repetition: the covariate of claims about a line.

A stretch is drawn, and what a line carries there is known before anything is played: the mean capacity while
the flows send, or the time in which the capacity comes to the bytes that they bring. So is its mean over all
stretches that could have been drawn. What of a result only says which stretches were drawn can thus be taken
off (`gauntlet.metrics.adjusted`).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from gauntlet.engine.hashes import sha256_of_file
from gauntlet.experiment import RunSpec, expand, links, load_experiment
from gauntlet.experiment.runspec import ScenarioRef
from gauntlet.experiment.subset import PROTOCOLS
from gauntlet.metrics.steps import Floats
from gauntlet.scenario import beginnings
from gauntlet.studies.model import Study
from gauntlet.studies.select import Selection, same
from gauntlet.studies.summary import Summary

_ANY_SEED = 0
"""Seeds draw latencies; no scenario draws its capacity."""

_EVERYWHERE = 2000
"""Evenly spaced stretches that stand for all that could be drawn; twice as many change means by 0.1 %."""

_SPOKEN = ("protocol", PROTOCOLS)
"""The factors that say what flows speak."""


@dataclass(frozen=True)
class Carried:
    """What the line carries, one number a repetition, and on all stretches that could be drawn."""

    here: Mapping[int, float]
    everywhere: Floats

    def column(self, repetitions: Sequence[int], of: Callable[[Any], Any] = float) -> tuple[Floats, float]:
        """The numbers of these repetitions and the true mean, both through `of` (such as the logarithm)."""
        here = np.array([of(self.here[it]) for it in repetitions])
        return here, float(np.mean([of(it) for it in self.everywhere]))


def carried(
    study: Study, summary: Summary, experiment: str, selection: Selection, kpi: str
) -> Carried | None:
    """What the line carries on the stretches of a selection's runs; of a quantity that is a time, the time it
    takes.

    None where no stretch is drawn, and where the experiment's file is not the one that was played.
    """
    experiment = str(selection.get("experiment", experiment))
    file, facts = study.experiment(experiment).file, summary.manifest().get(experiment, {})
    played = facts.get("experiment_sha256")
    if not file.exists() or played != sha256_of_file(file):
        return None
    takes = kpi.endswith("_time_s")
    line = _line(file, played, int(facts["seed"]), takes)
    meant = [it for it in line.stretches if _meant(it, selection)]
    if len({it.start_s for it in meant}) < 2:
        return None
    here: dict[int, dict[str, float]] = {}
    for stretch in meant:
        here.setdefault(stretch.repetition, {})[stretch.work] = stretch.here
    everywhere = {it.work: line.everywhere[it.work] for it in meant}
    return Carried(
        {repetition: sum(each.values()) / len(each) for repetition, each in here.items()},
        np.mean(list(everywhere.values()), axis=0),
    )


@dataclass(frozen=True)
class _Work:
    """What the flows of a run have to do: bring bytes, or send for a time."""

    side: str
    start_s: float
    size_bytes: int | None
    duration_s: float

    @staticmethod
    def of(spec: RunSpec) -> "_Work":
        flows = spec.flows
        brings = all(it.duration_s is None and it.count is None and it.size_bytes for it in flows)
        lasts = [it.duration_s or (it.count or 0) * (it.interval_s or 0.0) or spec.duration_s for it in flows]
        return _Work(
            side=flows[0].direction,
            start_s=min(it.start_s for it in flows),
            size_bytes=sum(it.size_bytes or 0 for it in flows) if brings else None,
            duration_s=max(lasts),
        )

    def on(self, spec: RunSpec, starts_s: Floats, takes: bool) -> Floats:
        """On stretches that begin then: bit/s that the line carries, or the time that the bytes take, s."""
        instants_s, bits = _carried_by(*_named(spec.scenario), spec.scenario.bearer, self.side)
        begin_s = starts_s + self.start_s
        before = _at(begin_s, instants_s, bits)
        if self.size_bytes is None:
            return (_at(begin_s + self.duration_s, instants_s, bits) - before) / self.duration_s
        needed_s = _at(before + 8 * self.size_bytes, bits, instants_s) - begin_s
        return needed_s if takes else 8 * self.size_bytes / needed_s


def _named(ref: ScenarioRef) -> tuple[str, str]:
    """A scenario by what a cache can keep: name or path, parameters as JSON."""
    return ref.path or ref.name, json.dumps(dict(ref.params), sort_keys=True)


@lru_cache(maxsize=64)
def _carried_by(name: str, params: str, bearer: str | None, side: str) -> tuple[Floats, Floats]:
    """Instants of the scenario and the bits that it could have carried by then."""
    ref = ScenarioRef(name, json.loads(params), bearer=bearer)
    trace = links.bearer(ref, links.scenario(ref, _ANY_SEED))
    rate_bps = trace.column(f"rate_{side}_bps").astype(float)
    starts_s = trace.column("t_s").astype(float)
    end_s = trace.end_s if np.isfinite(trace.end_s) else starts_s[-1] + 1.0
    instants_s = np.append(starts_s, end_s)
    return instants_s, np.append(0.0, np.cumsum(np.diff(instants_s) * rate_bps))


def _at(wanted: Floats, along: Floats, values: Floats) -> Floats:
    """Values between the points, and beyond the last as its last step goes on, for the last row holds."""
    slope = (values[-1] - values[-2]) / (along[-1] - along[-2])
    beyond = np.maximum(wanted - along[-1], 0.0)
    return np.asarray(np.interp(wanted, along, values) + beyond * slope)


@lru_cache(maxsize=64)
def _places(name: str, params: str, duration_s: float) -> Floats:
    """Where all stretches begin that could be drawn, in seconds."""
    even = (np.arange(_EVERYWHERE) + 0.5) / _EVERYWHERE
    found = links.scenario(ScenarioRef(name, json.loads(params)), _ANY_SEED)
    return np.array(beginnings(found, duration_s, even.tolist()))


@dataclass(frozen=True)
class _Stretch:
    """What the line carries for one run; what its flows speak does not change it."""

    factors: Mapping[str, Any]
    start_s: float
    repetition: int
    work: str
    """Which work on which line; those of the same have the same numbers everywhere."""
    here: float


@dataclass(frozen=True)
class _Line:
    stretches: Sequence[_Stretch]
    everywhere: Mapping[str, Floats]
    """By work."""


@lru_cache(maxsize=64)
def _line(file: Path, sha256: str, seed: int, takes: bool) -> _Line:
    """All stretches of an experiment, one for all protocols; each claim about it asks for some of them."""
    stretches: dict[str, _Stretch] = {}
    everywhere: dict[str, Floats] = {}
    for spec in expand(load_experiment(file, seed=seed)):
        factors = {name: value for name, value in spec.factors.items() if name not in _SPOKEN}
        work = _Work.of(spec)
        key = json.dumps([spec.scenario.name, dict(spec.scenario.params), repr(work)], default=str)
        alike = json.dumps([factors, spec.start_s, key], default=str)
        if alike in stretches:
            continue
        if key not in everywhere:
            everywhere[key] = work.on(spec, _places(*_named(spec.scenario), spec.duration_s), takes)
        here = float(work.on(spec, np.array([spec.start_s]), takes)[0])
        stretches[alike] = _Stretch(factors, spec.start_s, int(factors["repetition"]), key, here)
    return _Line(list(stretches.values()), everywhere)


def _meant(stretch: _Stretch, selection: Selection) -> bool:
    """Whether a selection means this stretch."""
    for name, wanted in selection.items():
        if name in ("experiment", "flow", *_SPOKEN):
            continue
        values = wanted if isinstance(wanted, list | tuple) else [wanted]
        if not any(same(value, stretch.factors[name]) for value in values):
            return False
    return True
