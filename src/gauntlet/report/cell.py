"""A cell of the matrix: what one protocol did under one condition, by one KPI."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gauntlet.metrics.compare import Standing
from gauntlet.metrics.intervals import Mean
from gauntlet.metrics.observation import Observation, State, common_limit


@dataclass(frozen=True)
class Cell:
    """One protocol under one condition, for one KPI."""

    mean: Mean | None
    """Over the trusted runs; when none is trusted, over the others, and `trusted` is False. What did not end
    counts with the limit (the restricted mean); what never came to be is not in it.
    """
    trusted: bool
    untrusted_runs: int
    failed_runs: int
    standing: Standing | None
    observations: Mapping[int, Observation]
    """By repetition: what the mean is over, and what never came to be."""
    flows: int
    """How many flows these repetitions had."""
    completed: int
    """How many of them did what they were to do."""
    higher_is_better: bool
    deterministic: bool = False
    """Whether every repetition is the same one, because nothing was drawn."""

    @property
    def repetitions(self) -> int:
        """The n of the cell: repetitions that say something; one, if they are all the same."""
        return min(len(self.observations), 1) if self.deterministic else len(self.observations)

    @property
    def known(self) -> int:
        """Repetitions that have a number, if only a limit."""
        return sum(it.state != State.NEVER for it in self.observations.values())

    @property
    def limit(self) -> float | None:
        """Where some did not end: the limit up to which they count."""
        return common_limit(self.observations.values())

    @property
    def median(self) -> Observation | None:
        """The middle repetition; of two the worse one, when they are not both numbers."""
        return self._at(0.5)

    @property
    def worst(self) -> Observation | None:
        """The worst repetition."""
        return self._at(1.0)

    def _at(self, level: float) -> Observation | None:
        sign = -1 if self.higher_is_better else 1
        bad = {State.MEASURED: 0, State.CENSORED: 1, State.NEVER: 2}
        ordered = sorted(self.observations.values(), key=lambda it: (bad[it.state], sign * it.value))
        if not ordered:
            return None
        place = level * (len(ordered) - 1)
        low, high = ordered[int(place)], ordered[int(np.ceil(place))]
        both = high.state == low.state == State.MEASURED
        return Observation((low.value + high.value) / 2) if both else high
