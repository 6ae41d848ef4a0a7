"""What a bench is: what it measures under which conditions, and the table that it leaves.

Most benches run on this machine's own kernel, in real time: computing costs nothing in a guest's virtual
time. Others compute what is no number of a flow (`traffic_sites`). A bench's table has one row for each
condition and repetition, in columns like those of flows, so that claims and figures of a study select from it
as they do from results (docs/formats/study.md). One file a bench, one line in `gauntlet.benches.registry`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import pyarrow as pa

from gauntlet.benches.parts import Parts
from gauntlet.errors import RunError
from gauntlet.experiment.runspec import Factor
from gauntlet.metrics.kpi import Kpi

REPETITION = "repetition"
"""Column of the repetition, from 1: a block of samples that share what the machine did meanwhile. Intervals
are over repetitions, never over samples.
"""

SAMPLES = "samples"
"""Column that says from how many samples a row is."""

Tell = Callable[[str], None]
"""Takes what is being done, a sentence each."""


@dataclass(frozen=True)
class Plan:
    """What is measured."""

    factors: Mapping[str, Sequence[Factor]]
    """Every factor with all its values, in the order in which people read them. Not every combination has to
    be there.
    """
    repetitions: int
    details: Mapping[str, Any] = field(default_factory=dict)
    """What else decides how much is measured, such as samples a repetition; plain data."""

    @property
    def whole(self) -> dict[str, list[Any]]:
        """The factors, `repetition` among them, as selections are held against."""
        named = {name: list(values) for name, values in self.factors.items()}
        return {**named, REPETITION: list(range(1, self.repetitions + 1))}


@dataclass(frozen=True)
class Measured:
    """What a bench leaves."""

    table: pa.Table
    """A row for each condition and repetition: the factors, `repetition`, `samples`, and a column for each
    measure (null: it does not apply).
    """
    machine: Mapping[str, Any]
    """The machine that it is of."""
    raw: Mapping[str, pa.Table] = field(default_factory=dict)
    """The samples themselves by the names of their files; they stay in the results folder."""


@dataclass(frozen=True)
class Bench:
    """One bench."""

    name: str
    about: str
    """What it measures, in a sentence."""
    measures: tuple[Kpi, ...]
    full: Plan
    quick: Plan
    """Cut down for a first look; its values are among those of `full`."""
    measure: Callable[[bool, int, Tell, Parts], Measured]
    """Measures: whether quick, the seed of the order in which conditions take turns, whom to tell, and where
    parts stay if it is stopped.
    """
    ready: Callable[[], None]
    """Raises UserError when something that it needs is not here, with what would bring it."""
    labels: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)
    """Factor -> value -> how it reads; what is not named reads as it is."""
    alone: bool = False
    """Whether nothing may run beside it: then it is not begun on a machine that does something else."""

    def plan(self, quick: bool) -> Plan:
        """What is measured in full or for a first look."""
        return self.quick if quick else self.full

    def sha256(self, quick: bool) -> str:
        """Hash of what is measured: bench, plan and measures. A registration fixes it."""
        measures = [it.name for it in self.measures]
        plan = self.plan(quick)
        said = [self.name, plan.whole, dict(plan.details), measures]
        return sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()

    @property
    def words(self) -> dict[str, dict[str, str]]:
        """How the values of factors read, by factor and value as a summary's manifest has them."""
        return {
            name: {str(value): self.labels.get(name, {}).get(value, str(value)) for value in values}
            for name, values in self.full.whole.items()
        }

    def check(self, table: pa.Table) -> None:
        """Raise RunError when a table is not what the bench promises."""
        wanted = {*self.full.factors, REPETITION, SAMPLES, *(it.name for it in self.measures)}
        if lacking := sorted(wanted - set(table.column_names)):
            raise RunError(
                f"The bench {self.name} left no column {', '.join(lacking)}; its program is another."
            )
        for name, known in self.full.whole.items():
            strange = sorted(str(it) for it in set(table.column(name).to_pylist()) - set(known))
            if strange:
                raise RunError(
                    f"The bench {self.name} has {name} = {strange[0]}, which its plan does not have."
                )
