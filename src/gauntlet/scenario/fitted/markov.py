"""A chain of classes of one quantity: at each step a class, and in it a value as it was measured there."""

from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from gauntlet.scenario.fitted.series import Floats, Ints
from gauntlet.scenario.linefile import StrictData

DEFAULT_STATES = 8
QUANTILES = tuple(tenth / 10 for tenth in range(11))
"""What is kept of the values of a class; between them values are spread evenly."""
_DIGITS = 9


class Markov(StrictData):
    """`values` are quantiles of each class (0, 10, ... 100 %), `transitions` the chances of going from a
    class (row) to each (column).
    """

    model: Literal["markov"] = "markov"
    values: list[list[float]] = Field(min_length=1)
    transitions: list[list[float]]

    @model_validator(mode="after")
    def _square(self) -> Self:
        count = len(self.values)
        if len(self.transitions) != count or any(len(row) != count for row in self.transitions):
            raise ValueError(f"transitions must have {count} rows of {count} chances, one for each class")
        for row in self.transitions:
            if min(row) < 0 or abs(sum(row) - 1) > 1e-6:
                raise ValueError("the chances of a row of transitions must be 0 or more and add up to 1")
        if any(len(own) != len(QUANTILES) or own != sorted(own) for own in self.values):
            raise ValueError(f"values must have {len(QUANTILES)} quantiles for each class, rising")
        return self

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """The quantity step by step; the chain begins as it is on average."""
        states = self._states(rng.random(count))
        places = rng.random(count)
        drawn = np.empty(count)
        for state, quantiles in enumerate(self.values):
            here = states == state
            drawn[here] = np.interp(places[here], QUANTILES, quantiles)
        return drawn

    def _states(self, draws: Floats) -> Ints:
        chances = np.array(self.transitions)
        count = len(chances)
        # What stays the same after a step, and adds up to 1.
        equations = np.vstack([chances.T - np.eye(count), np.ones(count)])
        average = np.linalg.lstsq(equations, np.append(np.zeros(count), 1.0))[0]
        row = np.cumsum(np.maximum(average, 0))
        rows = np.cumsum(chances, axis=1)
        states = np.empty(len(draws), np.int64)
        for step, draw in enumerate(draws):
            state = min(int(np.searchsorted(row, draw * row[-1], side="right")), count - 1)
            states[step] = state
            row = rows[state]
        return states


def fit(values: Floats, states: int = DEFAULT_STATES) -> Markov:
    """Calibrate to a series: classes of equally many values, or one for each value where there are few.

    The first value follows the last one, so that no class is without a way out.
    """
    distinct = np.unique(values)
    if len(distinct) <= states:
        edges = distinct[1:]
    else:
        edges = np.unique(np.quantile(values, np.linspace(0, 1, states + 1)[1:-1]))
    place = np.searchsorted(edges, values, side="right")
    # Where many values are the same a class may be empty.
    used, place = np.unique(place, return_inverse=True)
    moves = np.zeros((len(used), len(used)))
    np.add.at(moves, (place, np.roll(place, -1)), 1)
    transitions = moves / moves.sum(axis=1, keepdims=True)
    quantiles = [np.quantile(values[place == state], QUANTILES) for state in range(len(used))]
    return Markov.model_validate(
        {
            "values": [np.round(own, _DIGITS).tolist() for own in quantiles],
            "transitions": np.round(transitions, _DIGITS).tolist(),
        }
    )
