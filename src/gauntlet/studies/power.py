"""What an undecided number could have told: the difference that could have been seen, and how many
repetitions would decide if the mean stays where it is (an interval shrinks with the square root of n).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

from gauntlet.metrics.intervals import Mean
from gauntlet.metrics.numbers import number

MOST_TIMES = 100
"""A number that wants more than so many times the repetitions lies on its bound, as far as can be seen."""

ON_THE_BOUND = "a mean lies on its bound"


@dataclass(frozen=True)
class Power:
    """Of one undecided number, or of a claim of several parts."""

    seen: str
    """Which difference could have been seen, for people."""
    holds: bool
    """Whether the claim would hold if the mean stays where it is."""
    n: int
    repetitions: int | None
    """How many would decide; None: not even `MOST_TIMES` as many."""
    never: str = ON_THE_BOUND
    """Why no number of repetitions that can be played would decide."""
    looked_at: int = 1
    """Of how many parts it is one, where the confidence allows for them."""

    @property
    def words(self) -> str:
        """For people."""
        one_of = f"as one of {self.looked_at} parts " if self.looked_at > 1 else ""
        return f"{one_of}{self.seen}; {self.would_decide}"

    @property
    def would_decide(self) -> str:
        """What would decide, for people."""
        if self.repetitions is None:
            return f"{self.never}, so not even {MOST_TIMES} times as many repetitions would decide"
        return f"about {self.repetitions} repetitions instead of {self.n} would decide"

    @property
    def times(self) -> float:
        """How many times the repetitions would decide."""
        return float("inf") if self.repetitions is None else self.repetitions / self.n

    def one_of(self, parts: int) -> "Power":
        """The same of a number that is judged as one of several."""
        return replace(self, looked_at=self.looked_at * parts)

    def decided_as(self, other: "Power") -> "Power":
        """The same difference, and what would decide another number."""
        return replace(self, holds=other.holds, n=other.n, repetitions=other.repetitions, never=other.never)


def half_width(mean: Mean, factor: float = 1.0, unit: str = "") -> str:
    """How far an interval reaches from its mean, for people; empty without an interval."""
    if mean.low is None or mean.high is None:
        return ""
    half = max(mean.value - mean.low, mean.high - mean.value)
    return number(half * factor) + (f" {unit}" if unit else "")


def power(
    mean: Mean, at_least: float | None, at_most: float | None, factor: float = 1.0, unit: str = ""
) -> Power | None:
    """Of an undecided number; None without an interval."""
    if mean.low is None or mean.high is None:
        return None
    ends = [it for it in (at_least, at_most) if it is not None and mean.low <= it <= mean.high]
    distance = min(abs(mean.value - end) for end in ends)
    half = max(mean.value - mean.low, mean.high - mean.value)
    holds = (at_least is None or mean.value >= at_least) and (at_most is None or mean.value <= at_most)
    seen = f"{half_width(mean, factor, unit)} from the bound could have been seen"
    on_it = distance * MOST_TIMES**0.5 < half
    return Power(seen, holds, mean.n, None if on_it else ceil(mean.n * (half / distance) ** 2))


def of_all(shown: Power | None, parts: Sequence[Power | None]) -> Power | None:
    """Of a claim that holds when all its parts do, with the difference of the part that is shown.

    The first part that fails decides it; where none would, the last that holds. None where a part lacks what
    it needs, and no other would fail.
    """
    failing = [it for it in parts if it is not None and not it.holds]
    if shown is None or (not failing and None in parts):
        return None
    if failing:
        return shown.decided_as(min(failing, key=lambda it: it.times))
    return shown.decided_as(max((it for it in parts if it is not None), key=lambda it: it.times))
