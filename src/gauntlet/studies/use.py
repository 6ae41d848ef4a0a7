"""What to use, by a study's results: its classes, the settings that were measured, and what they rest on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gauntlet.advice import words
from gauntlet.advice.grid import Candidate, Cell, Grid
from gauntlet.advice.settings import Change, sentences
from gauntlet.advice.standing import Standing
from gauntlet.metrics.intervals import Mean
from gauntlet.studies.advised import grids
from gauntlet.studies.calibrated import behind
from gauntlet.studies.model import Calibrated, Study
from gauntlet.studies.settings import changes
from gauntlet.studies.summary import Summary


@dataclass(frozen=True)
class Advice:
    """The advice of a study."""

    classes: tuple[Grid, ...]
    settings: tuple[Change, ...]
    calibrated: tuple[tuple[Calibrated, ...], ...]
    """For each class the calibrated parameters that its absolute limits are held against. A limit against the
    best hangs on none: what was chosen is the same for all.
    """

    def to_json(self) -> dict[str, Any]:
        """Plain data, values in SI units."""
        return {
            "classes": [
                _class(it, behind_it) for it, behind_it in zip(self.classes, self.calibrated, strict=True)
            ],
            "settings": [
                {"title": title, "effects": [_change(it) for it in those]}
                for title, those in sentences(self.settings)
            ],
        }


def advice(study: Study, summary: Summary) -> Advice:
    """What the results say of every class and setting. Of what was not measured it says that, or nothing."""
    found = tuple(grids(study, summary))
    rests = tuple(tuple(behind(study, _absolute(it))) for it in found)
    return Advice(found, tuple(changes(study, summary)), rests)


def _absolute(grid: Grid) -> Sequence[str]:
    """The experiments that the class's absolute needs are measured in."""
    return [name for need in grid.service.needs if need.most is not None for name in need.experiments]


def _class(grid: Grid, calibrated: Sequence[Calibrated]) -> dict[str, Any]:
    return {
        "class": grid.service.name,
        "by": grid.by or None,
        "study": list(grid.service.study),
        "needs": [need.words for need in grid.service.needs],
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
    tail = standing.tail
    known = tail.quantiles_s if tail else {}
    return {
        "need": standing.need.words,
        "kpi": standing.kpi.name,
        **_mean("value", standing.mean),
        "limit": _finite(standing.limit),
        "times": _finite(standing.times),
        "grade": str(standing.grade),
        **{f"p{100 * level:g}_s".replace(".", "_"): _value(mean) for level, mean in known.items()},
        "missed": _value(tail.missed) if tail else None,
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


def _value(mean: Mean | None) -> float | None:
    return None if mean is None else mean.value


def _finite(value: float) -> float | None:
    return value if abs(value) < float("inf") else None
