"""What a scenario is: bearers over time, and for a railway the line they come from."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from gauntlet.scenario.cells import Cell
from gauntlet.scenario.linefile import Area, Station
from gauntlet.scenario.trace import Trace
from gauntlet.scenario.traffic import Train


@dataclass(frozen=True)
class Line:
    """The railway behind a scenario; `trains[0]` is the reference train."""

    title: str
    length_km: float
    stations: list[Station]
    areas: list[Area]
    cells: list[Cell]
    trains: list[Train]
    headway_s: float

    @property
    def reference(self) -> Train:
        """The train whose link the scenario is."""
        return self.trains[0]


@dataclass(frozen=True)
class Scenario:
    """A named link over time.

    `bearers` maps bearer names ("lte", "nr", "wifi", "link") to traces that all end at `duration_s`
    (infinity: they hold for as long as needed). `max_rate_bps` is the highest rate that the link can give to
    one train alone. `params` are the parameters in force, defaults included, in plain numbers; `seed` is the
    seed of its random draws.
    """

    name: str
    title: str
    kind: str
    bearers: Mapping[str, Trace]
    duration_s: float
    max_rate_bps: float
    params: Mapping[str, object]
    seed: int
    line: Line | None = None

    @property
    def trace(self) -> Trace:
        """The first bearer's trace (the only one of every scenario built in)."""
        return next(iter(self.bearers.values()))

    @property
    def ends(self) -> bool:
        """Whether the scenario ends by itself."""
        return math.isfinite(self.duration_s)

    @property
    def known_until_s(self) -> float:
        """Until when something is known of it: its end; without one the beginning of its last row, which
        holds for as long as needed. 0 for a link that never changes.
        """
        if self.ends:
            return self.duration_s
        return max(float(trace.column("t_s")[-1]) for trace in self.bearers.values())


@dataclass(frozen=True)
class ScenarioInfo:
    """One line of the list of scenarios: `params` maps each parameter to its default."""

    name: str
    title: str
    kind: str
    params: Mapping[str, object]


Build = Callable[[str, Mapping[str, object] | None, int], Scenario]
"""Builds a scenario from its name (or path), parameters and seed."""


def generator(seed: int, label: str) -> np.random.Generator:
    """A random generator for one purpose of a scenario.

    PCG64 seeded from NumPy's SeedSequence over `seed` and the first eight bytes of SHA-256 of `label`, so
    that draws for one purpose never shift those for another.
    """
    tag = int.from_bytes(sha256(label.encode()).digest()[:8], "big")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, tag])))
