"""A flow of a run as a report needs it: what it was to do, whether it did, and its KPIs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.observation import Observation, observed
from gauntlet.report.channel import Channel
from gauntlet.report.factors import Condition


@dataclass(frozen=True, slots=True)
class Row:
    """One flow of one run."""

    run: str
    flow: int
    protocol: str
    condition: Condition
    repetition: int
    ok: bool
    trusted: bool
    reason: str | None
    kpis: Mapping[str, float | None]
    subject: str = ""
    """What it is one of (`gauntlet.report.subjects`)."""
    app: str = ""
    greedy: bool = False
    """Whether it sends all it can."""
    upward: bool = False
    """Whether its bytes go from the train to the ground."""
    completed: bool = True
    """Whether it did what it was to do."""
    supported: bool = True
    """Whether its programs could carry it at all."""
    given_s: float | None = None
    """How long it had for it."""
    received_bytes: int = 0
    start_s: float | None = None
    """Where on the line its run began; None where there is no line."""
    asked: Mapping[str, Any] = field(default_factory=dict)
    """What it was to do, as its run's specification has it."""
    channel: Channel = field(default_factory=Channel)
    """What it rode."""
    observed_until_s: float | None = None

    def observed(self, kpi: Kpi) -> Observation | None:
        """What it says of a KPI; None where the KPI does not apply to it."""
        if not self.supported:
            return None
        value = self.kpis.get(kpi.name)
        return observed(kpi, value, completed=self.completed, given_s=self.given_s)
