"""The study's three lines as its experiment files ride them, and what chapter 4 says of them as numbers."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from gauntlet.metrics.steps import Floats
from gauntlet.scenario import Scenario, load_scenario
from gauntlet.scenario.model import Line as ScenarioLine
from gauntlet.scenario.radio import average_bps, lte_data, lte_zones

IP_SCALE = 0.7912
"""From radio to IP rates: 72 carriers of 12 symbols a millisecond (docs/scenario-data.md)."""

SEED = 34
"""As in the experiment files; it decides latencies, which no figure here shows."""


@dataclass(frozen=True)
class Line:
    """One of the study's lines."""

    key: str
    """Its scenario, and the end of the names of its experiments."""
    words: str
    headway_s: float
    """Between departures (D3.4, section 3.3)."""
    scaled: bool
    """Whether its rates are scaled to the IP layer; Table 7's are taken as they are."""


LINES = (
    Line("hsr", "High-speed line", 600.0, True),
    Line("regional", "Regional line", 1500.0, True),
    Line("metro-a", "Metropolitan line", 120.0, False),
)


@cache
def scenario(key: str, headway_s: float | None = None) -> Scenario:
    """A line of the study, with another headway where one is given (seconds)."""
    line = next(line for line in LINES if line.key == key)
    params: dict[str, object] = {"ip_scale": IP_SCALE} if line.scaled else {}
    if headway_s is not None:
        params["headway"] = headway_s
    return load_scenario(key, params, SEED)


def track(found: Scenario) -> ScenarioLine:
    """The railway of a scenario that is one."""
    assert found.line is not None
    return found.line


def others(found: Scenario) -> tuple[Floats, Floats]:
    """Other trains in the reference train's cell: instants (s; the end too), and how many from each on."""
    starts_s = np.append(found.trace.column("t_s").astype(float), found.duration_s)
    return starts_s, found.trace.column("sharers").astype(float) - 1


def shared_part(found: Scenario) -> float:
    """Share of the journey with another train in the cell."""
    starts_s, count = others(found)
    return float((np.diff(starts_s) * (count > 0)).sum() / starts_s[-1])


def most_others(found: Scenario) -> float:
    """The largest number of other trains in the cell at once."""
    return float(others(found)[1].max())


def average_rate_bps() -> float:
    """D3.4's equation (2): the mean rate of one train alone over the radius of a suburban cell of Table 4."""
    carriers = lte_data().capacity.carriers["1.4"]
    return average_bps(lte_zones("suburban", "1.4", carriers, IP_SCALE))


def handover_steps(found: Scenario) -> float:
    """How many modulation steps the handover points between suburban cells lie from QPSK 3/4, at most."""
    cells = track(found).cells
    order = [zone.mcs for zone in next(it for it in cells if it.area == "suburban").zones_ahead]
    return float(
        max(
            abs(order.index(cell.zone_at(cell.to_km).mcs) - order.index("QPSK 3/4"))
            for cell in cells[:-1]
            if cell.area == "suburban"
        )
    )
