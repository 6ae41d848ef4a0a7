"""Experiments of a study that differ in one setting only: what it does, all else being the same."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from gauntlet import units
from gauntlet.advice.classes import Need
from gauntlet.errors import UserError
from gauntlet.scenario import load_scenario
from gauntlet.studies.model import Experiment, Study
from gauntlet.studies.summary import Summary

CONDITIONS = frozenset({"protocols", "channel_delay", "loss"})
"""Axes of the matrix of which an experiment may have other values than its sibling."""

QUEUES = ("link.queue", "scenario.queue_limit", "matrix.queue")
"""Where a file says how long the queue before the line is."""


@dataclass(frozen=True)
class Sibling:
    """Two experiments that differ in one setting."""

    one: Experiment
    other: Experiment
    key: str
    """The setting by its place in the file: link.queue, workload.send_buffer."""
    values: tuple[Any, Any]
    """As the two files have it; None where the file leaves it out."""


def siblings(study: Study) -> list[Sibling]:
    """Every pair of a study's experiments that differ in one setting, the one that leaves it out first."""
    found = []
    there = [it for it in study.experiments if it.file.is_file()]
    for place, one in enumerate(there):
        for other in there[place + 1 :]:
            pair = _differ(one, other)
            if pair is not None:
                found.append(pair)
    return found


def with_other_queues(study: Study, summary: Summary, need: Need) -> dict[str, Need]:
    """The need under each queue that was measured, its own first: how the queue reads -> the need."""
    if not isinstance(need.experiment, str):
        return {"": need}
    own = study.experiment(need.experiment)
    found = {queue_of(own): need}
    for it in siblings(study):
        if it.key not in QUEUES or own not in (it.one, it.other):
            continue
        other = it.other if own == it.one else it.one
        if other.name in summary.experiments:
            found.setdefault(queue_of(other), need.model_copy(update={"experiment": other.name}))
    return found


def queue_of(experiment: Experiment) -> str:
    """The queue before the line as people read it: 512 kB; empty where it is no single one."""
    settings = settings_of(experiment.file)
    named = next((settings[key] for key in QUEUES if key in settings), None)
    if named is not None:
        return units.spaced(str(named)) if isinstance(named, str) else ""
    scenario = {key[9:]: it for key, it in settings.items() if key.startswith("scenario.")}
    return _default_queue(str(scenario.get("name", "")), str(scenario.get("ip_scale", "")))


@lru_cache
def _default_queue(name: str, _: str) -> str:
    """The queue that a scenario has when nobody names one."""
    try:
        limit = load_scenario(name).params.get("queue_limit")
    except UserError:
        return ""
    return units.spaced(units.format_size(float(limit))) if isinstance(limit, int | float) else ""


@lru_cache
def settings_of(file: Path) -> Mapping[str, Any]:
    """The settings of an experiment file by their place, without what only names or counts."""
    given = tomllib.loads(file.read_text(encoding="utf-8"))
    given.pop("experiment", None)
    flat: dict[str, Any] = {}
    _flatten("", given, flat)
    return flat


def _flatten(place: str, given: Any, flat: dict[str, Any]) -> None:
    if isinstance(given, dict):
        for key, value in given.items():
            _flatten(f"{place}.{key}" if place else key, value, flat)
    elif isinstance(given, list) and given and isinstance(given[0], dict):
        for number, value in enumerate(given, 1):
            _flatten(f"{place}.{number}", value, flat)
    else:
        flat[place] = given


def _differ(one: Experiment, other: Experiment) -> Sibling | None:
    """The two as a pair when they differ in one setting and share conditions and protocols; else None."""
    mine, others = settings_of(one.file), settings_of(other.file)
    unlike = []
    for key in mine.keys() | others.keys():
        first, second = mine.get(key), others.get(key)
        if first == second:
            continue
        if key.removeprefix("matrix.") in CONDITIONS and isinstance(first, list) and isinstance(second, list):
            if not set(map(str, first)) & set(map(str, second)):
                return None
            continue
        unlike.append(key)
    if len(unlike) != 1 or isinstance(mine.get(unlike[0]), list) or isinstance(others.get(unlike[0]), list):
        return None
    key = unlike[0]
    pair = Sibling(one, other, key, (mine.get(key), others.get(key)))
    if key not in others:
        return Sibling(other, one, key, (None, mine.get(key)))
    return pair
