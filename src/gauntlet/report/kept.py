"""Whether a flow kept what is asked of it (`judge`), and the value that says so."""

import numpy as np

from gauntlet.metrics.asked import Asked
from gauntlet.metrics.observation import NEVER, Observation
from gauntlet.metrics.quantity import of_due
from gauntlet.report.rows import Row
from gauntlet.report.samples import Samples


def keeps(asked: Asked, row: Row, samples: Samples) -> bool | None:
    """Whether a flow kept it; None where it does not apply to the flow."""
    seen = observed(asked, row, samples)
    return None if seen is None else asked.keeps(seen, completed=row.completed)


def observed(asked: Asked, row: Row, samples: Samples) -> Observation | None:
    """What is asked of a flow, as it did; None where it does not apply to it."""
    if asked.level is None or asked.distribution is None:
        return row.observed(asked.kpi)
    return delay(row, asked.level, asked.distribution, samples)


def delay(row: Row, level: float, of: str, samples: Samples) -> Observation | None:
    """A quantile of the delays `of` of all messages that were due: one that never came is later than any
    other, and a flow that failed has none. None where delays were not recorded.
    """
    arrived = 1 - _lost(row)
    if not row.completed or arrived <= 0:
        return NEVER
    known, values = samples.of(of).get((row.run, row.flow), (np.empty(0), np.empty(0)))
    if not values.size or np.isnan(values).any():
        return None
    value = of_due(level, known, values, arrived=arrived)
    return Observation(value) if np.isfinite(value) else NEVER


def _lost(row: Row) -> float:
    """The share of the messages that did not come."""
    shares = (row.kpis.get("message_failure_ratio"), row.kpis.get("message_loss_ratio"))
    return next((it for it in shares if it is not None), 0.0)
