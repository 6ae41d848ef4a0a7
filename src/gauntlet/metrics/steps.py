"""A quantity that holds between instants: link rates over time, and their mean over windows."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Steps:
    """`values[k]` holds from `times_s[k]` until `times_s[k + 1]`, the last one for ever; `times_s` rises."""

    times_s: Floats
    values: Floats

    @classmethod
    def of(cls, changes: list[tuple[float, float]]) -> Self:
        """From (instant, new value) pairs in order of time; of several at one instant the last counts."""
        last: dict[float, float] = {}
        for t_s, value in changes:
            last[t_s] = value
        return cls(np.array(list(last), dtype=float), np.array(list(last.values()), dtype=float))

    def at(self, t_s: Floats) -> Floats:
        """The value at each instant; before the first instant its value is taken."""
        return self.values[np.maximum(np.searchsorted(self.times_s, t_s, side="right") - 1, 0)]

    def minimum(self, other: "Steps") -> "Steps":
        """The smaller of two quantities at any instant."""
        times_s = np.union1d(self.times_s, other.times_s)
        return Steps(times_s, np.minimum(self.at(times_s), other.at(times_s)))

    def plus(self, other: "Steps") -> "Steps":
        """The sum of two quantities at any instant."""
        times_s = np.union1d(self.times_s, other.times_s)
        return Steps(times_s, self.at(times_s) + other.at(times_s))

    def mean(self, edges_s: Floats) -> Floats:
        """The time average between consecutive edges, exactly (by the integral, not by samples)."""
        knots_s = np.union1d(self.times_s, edges_s)
        integral = np.concatenate(([0.0], np.cumsum(self.at(knots_s[:-1]) * np.diff(knots_s))))
        at_edges = integral[np.searchsorted(knots_s, edges_s)]
        means: Floats = np.diff(at_edges) / np.diff(edges_s)
        return means
