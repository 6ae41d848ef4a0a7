"""How well sites are named, from a confusion matrix: rows are true classes, columns what the attack said."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gauntlet.traffic.sequences import Flags, Floats, Ints

BASE_RATE = 20
"""Visits to unmonitored sites for each monitored one in `precision`: the r of Wang (IEEE S&P 2020)."""


def confusion(true: Ints, said: Ints, classes: int) -> Ints:
    """How many visits of each class were taken for which."""
    return np.bincount(true * classes + said, minlength=classes * classes).reshape(classes, classes)


def by_class(matrix: npt.NDArray[Any]) -> Floats:
    """F1 of each class: 2 TP / (2 TP + FP + FN); not a number for a class that neither is nor was said.

    Leading axes of the matrix are kept.
    """
    hits = np.diagonal(matrix, axis1=-2, axis2=-1).astype(float)
    both = matrix.sum(axis=-1) + matrix.sum(axis=-2)
    with np.errstate(invalid="ignore"):
        return np.where(both > 0, 2 * hits / both, np.nan)


def macro_f1(matrix: npt.NDArray[Any]) -> Floats:
    """The mean of F1 over classes: each site counts alike."""
    return np.asarray(np.nanmean(by_class(matrix), axis=-1))


def micro_f1(matrix: npt.NDArray[Any]) -> Floats:
    """F1 of all decisions together. Where each visit has one class and gets one, it is the accuracy."""
    hits = np.trace(matrix, axis1=-2, axis2=-1)
    return np.asarray(hits / matrix.sum(axis=(-2, -1)))


@dataclass(frozen=True)
class Open:
    """What becomes of visits where most sites are not monitored."""

    found: float
    """Share of visits to monitored sites that are named rightly."""
    mistaken: float
    """Share of these that are taken for another monitored site."""
    alarms: float
    """Share of visits to other sites that are taken for a monitored one."""

    def precision(self, base_rate: float = BASE_RATE) -> float:
        """The share of alarms that are right when there are `base_rate` visits to other sites for each one to
        a monitored site; 0 without alarms.
        """
        alarms = self.found + self.mistaken + base_rate * self.alarms
        return self.found / alarms if alarms else 0.0


def open_world(matrix: Ints) -> Open:
    """Of a matrix whose last class is *unmonitored*."""
    monitored, others = matrix[:-1], matrix[-1]
    hits = np.trace(monitored)
    return Open(
        float(hits / monitored.sum()),
        float((monitored[:, :-1].sum() - hits) / monitored.sum()),
        float(others[:-1].sum() / others.sum()),
    )


def correct_if(correct: Flags, present: Flags) -> float | None:
    """P(correct | present): the share named rightly of the visits that have packets of some kind; None where
    none has.
    """
    return float(correct[present].mean()) if present.any() else None
