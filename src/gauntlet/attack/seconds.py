"""What an attacker did, second by second, by its own clock.

A line comes when a second is over, and the last one as soon as the last of what was begun has ended: that may
be some milliseconds after the one before it. So each line counts with as long as it lasted, from when to when
it says itself. When it was heard says nothing: whoever hears has other things to do, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any

from gauntlet.errors import RunError

_NS = 1e-9


@dataclass(frozen=True)
class Second:
    """One line."""

    number: int
    """From 1."""
    began_s: float
    """By the monotonic clock, as `ended_s`."""
    ended_s: float
    counts: Mapping[str, Any]

    @property
    def lasted_s(self) -> float:
        """A second, but for the last line, which may be of less."""
        return self.ended_s - self.began_s

    @property
    def middle_s(self) -> float:
        """Where it counts as being: it is in a window or not."""
        return (self.began_s + self.ended_s) / 2

    def count(self, name: str) -> float:
        """How many of something; what it does not tell of is 0."""
        return float(self.counts.get(name, 0))


def seconds(lines: Sequence[Mapping[str, Any]]) -> list[Second]:
    """The lines of an attacker. Raises RunError where they do not say their time: it is an older one."""
    if any("began_ns" not in line for line in lines):
        raise RunError(
            "gauntlet-attacker does not say when its seconds began, so it is an older one: build it anew "
            "(`cargo build --profile measure -p attackers`)."
        )
    return [Second(int(it["t"]), it["began_ns"] * _NS, it["ended_ns"] * _NS, it) for it in lines]


def per_s(of: Sequence[Second], name: str) -> float | None:
    """How many of something a second; None of none."""
    lasted_s = fsum(it.lasted_s for it in of)
    return fsum(it.count(name) for it in of) / lasted_s if lasted_s > 0 else None


def lacking(of: Sequence[Second], asked_s: float) -> str:
    """Why these cannot be all seconds of an attack of this length; empty: they are all."""
    if [it.number for it in of] != list(range(1, len(of) + 1)):
        return "a second of the attacker's log is missing"
    told_s = of[-1].ended_s - of[0].began_s if of else 0.0
    # What is rounded between nanoseconds and seconds is less than this.
    if told_s < asked_s - 1e-6:
        return f"the attacker told of {told_s:.1f} of {asked_s:g} s"
    return ""
