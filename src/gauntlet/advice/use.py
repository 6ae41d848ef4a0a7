"""Advice: what to use for each class of service, what settings change, and what the two rest on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from gauntlet.advice import lateness, words
from gauntlet.advice.grid import Candidate, Cell, Grid
from gauntlet.advice.settings import Change, sentences
from gauntlet.advice.standing import Standing
from gauntlet.metrics.intervals import Mean


class Badge(Protocol):
    """A parameter that was chosen so that a printed value is met."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def words(self) -> str:
        """How it was chosen."""


@dataclass(frozen=True)
class Advice:
    """What to use."""

    classes: tuple[Grid, ...]
    settings: tuple[Change, ...]
    calibrated: tuple[tuple[Badge, ...], ...]
    """For each class the calibrated parameters that its absolute limits are held against. A limit against the
    best hangs on none: what was chosen is the same for all.
    """
    values_calibrated: tuple[tuple[Badge, ...], ...]
    """For each class the calibrated parameters that its values hang on, such as delays in milliseconds."""
    silent: tuple[str, ...] = ()
    """Why nothing is advised, a sentence for each thing that was played and has no class."""
    whose: str = ""
    """Whose classes these are, for people; empty for a study's, whose grids say it."""
    above: str = ""
    """What has its answer elsewhere, for people; empty where nothing has."""
    unvaried: tuple[str, ...] = ()
    """Settings of which these results say nothing, where that is to be told."""
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    """Of those that were varied elsewhere: the setting -> where, and what came of it."""
    unclassed: tuple[str, ...] = ()
    """Experiments that no need is measured in: their conditions give no advice."""

    def to_json(self) -> dict[str, Any]:
        """Plain data, values in SI units."""
        return {
            "whose": self.whose or None,
            "classes": [
                class_json(it, behind_it) for it, behind_it in zip(self.classes, self.calibrated, strict=True)
            ],
            "not_advised": list(self.silent),
            "settings": [
                {"title": title, "effects": [_change(it) for it in those]}
                for title, those in sentences(self.settings)
            ],
            "settings_not_varied": list(self.unvaried),
            "settings_elsewhere": dict(self.elsewhere),
            "without_class": list(self.unclassed),
        }


def class_json(grid: Grid, calibrated: Sequence[Badge]) -> dict[str, Any]:
    """One class as plain data, values in SI units."""
    return {
        "class": grid.service.name,
        "by": grid.by or None,
        "limits_by": grid.service.whose or None,
        "study": list(grid.service.study),
        "needs": [need.words for need in grid.service.needs],
        "limits": [
            {
                "need": need.words,
                "kpi": need.kpi,
                "quantile": need.quantile,
                "limit": need.bound,
                "of_best": need.of_best,
                "source": need.source or None,
                "assumed": need.assumed or None,
            }
            for need in grid.service.needs
        ],
        "answer": words.answer(grid),
        "use": [it.protocol for it in grid.overall() if it.grade.serving],
        "calibrated": [it.name for it in calibrated],
        "cells": [_cell(it) for it in grid.cells],
    }


def _cell(cell: Cell) -> dict[str, Any]:
    return {
        "delay_s": cell.delay_s,
        "loss": cell.loss,
        "queue": cell.queue or None,
        "besides": cell.variant.besides or None,
        "needs_judged": cell.judged,
        "needs": cell.of,
        "transports": [_candidate(it) for it in cell.candidates],
    }


def _candidate(candidate: Candidate) -> dict[str, Any]:
    done, flows = candidate.completed
    return {
        "protocol": candidate.protocol,
        "grade": str(candidate.grade),
        "margin": _finite(candidate.deciding.margin) if candidate.deciding.mean else None,
        "completed": done,
        "flows": flows,
        "needs": [_standing(it) for it in candidate.standings],
    }


def _standing(standing: Standing) -> dict[str, Any]:
    known = standing.tail.quantiles_s if standing.tail else {}
    return {
        "need": standing.need.words,
        "kpi": standing.kpi.name,
        **_mean("value", standing.mean),
        "limit": _finite(standing.limit),
        **_interval("paired_margin", standing.paired),
        "times": _finite(standing.times),
        "grade": str(standing.grade),
        "decided_by": "missed" if standing.by_missed else "flows" if standing.kept else "value",
        **dict(zip(("kept", "judged"), standing.kept or (None, None), strict=True)),
        **{f"p{100 * level:g}_s".replace(".", "_"): _value(mean) for level, mean in known.items()},
        **_interval("missed", standing.missed),
        **dict(zip(("missed_least", "missed_most"), standing.missed_between or (None, None), strict=True)),
        "may_miss": lateness.may_miss(standing.need),
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "setting": change.setting.words,
        "protocol": change.protocol,
        "to": change.to,
        "of": change.of,
        "kpi": change.kpi.name,
        "experiments": change.where,
        "words": change.words,
        "conditions": [
            {"condition": it.condition, **_mean("ratio", it.ratio), "beyond_chance": it.sure}
            for it in change.effects
        ],
    }


def _mean(name: str, mean: Mean | None) -> dict[str, Any]:
    if mean is None:
        return {name: None, "low": None, "high": None, "n": 0}
    return {name: mean.value, "low": mean.low, "high": mean.high, "n": mean.n}


def _interval(name: str, mean: Mean | None) -> dict[str, Any]:
    ends = (None, None) if mean is None else (mean.low, mean.high)
    return {name: _value(mean), f"{name}_low": ends[0], f"{name}_high": ends[1]}


def _value(mean: Mean | None) -> float | None:
    return None if mean is None else mean.value


def _finite(value: float) -> float | None:
    return value if abs(value) < float("inf") else None
