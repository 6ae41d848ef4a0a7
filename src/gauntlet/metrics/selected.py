"""One number a repetition, and what takes no part in it or counts by its limit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gauntlet.errors import NotMeasured
from gauntlet.metrics.ecdf import ALPHA
from gauntlet.metrics.intervals import Mean, mean, the_same
from gauntlet.metrics.numbers import counted
from gauntlet.metrics.observation import Observation, State


@dataclass(frozen=True)
class LeftOut:
    """Flows of the selection that take no part, or not with a number of their own."""

    failed: int = 0
    """Of runs that failed."""
    untrusted: int = 0
    without_value: int = 0
    """Flows that did what they were to do and that the quantity does not apply to."""
    at_limit: int = 0
    """Flows that did not end, and count with their limit."""
    nothing: int = 0
    """Flows of which no number can be, since nothing came to be."""
    flows: int = 0
    """All flows of trusted runs."""

    def __add__(self, other: "LeftOut") -> "LeftOut":
        return LeftOut(
            self.failed + other.failed,
            self.untrusted + other.untrusted,
            self.without_value + other.without_value,
            self.at_limit + other.at_limit,
            self.nothing + other.nothing,
            self.flows + other.flows,
        )

    @property
    def words(self) -> str:
        """What was left out and what counts by its limit, for people; empty when nothing does."""
        said = []
        if self.at_limit:
            said.append(
                f"{self.at_limit} of {counted(self.flows, 'flow')} did not end and count with the limit"
            )
        if self.nothing:
            said.append(
                f"of {self.nothing} of {counted(self.flows, 'flow')} there is no number: nothing arrived, or "
                "not all of it"
            )
        return "; ".join([*said, *([left] if (left := self._left) else [])])

    @property
    def _left(self) -> str:
        parts = [
            f"{count} {word}"
            for count, word in (
                (self.failed, "failed"),
                (self.untrusted, "not trusted"),
                (self.without_value, "without this value"),
            )
            if count
        ]
        return f"left out: {', '.join(parts)}" if parts else ""


@dataclass(frozen=True)
class Selected:
    """One number a repetition."""

    values: Mapping[int, float]
    """Without the repetitions in which no number can be."""
    left_out: LeftOut = field(default_factory=LeftOut)
    deterministic: bool = False
    """Whether every repetition is the same one, because nothing was drawn."""
    never: int = 0
    """Repetitions in which no number can be, since nothing came to be."""
    of_flows: Sequence[Observation] = ()
    """What each flow of a trusted run says, as far as the quantity applies to it."""

    @property
    def at_limit(self) -> bool:
        """Whether none of its flows came to its end, so that every number is a limit."""
        return bool(self.of_flows) and all(it.state == State.CENSORED for it in self.of_flows)

    def mean(self, alpha: float = ALPHA) -> Mean:
        """Over all repetitions. Raises NotMeasured without any, and where some have no number: a mean over
        the others would praise whoever fails most.
        """
        self.check()
        numbers = list(self.values.values())
        return the_same(numbers[0]) if self.deterministic else mean(numbers, alpha)

    def check(self) -> None:
        """Raise NotMeasured as `mean` does."""
        if self.never:
            of = len(self.values) + self.never
            raise NotMeasured(
                f"In {self.never} of {of} repetitions there is no number: nothing arrived, or not all of it."
            )
        if not self.values:
            raise NotMeasured(
                f"There is no repetition with a number ({self.left_out.words or 'none was run'})."
            )
