"""Whether a flow kept what is asked of it (`judge`), and the value that says so."""

import numpy as np

from gauntlet.metrics import tails
from gauntlet.metrics.asked import Asked
from gauntlet.metrics.kpi import Kpi
from gauntlet.metrics.message_quantiles import MESSAGE_DELAYS
from gauntlet.metrics.observation import NEVER, Observation
from gauntlet.metrics.quantity import DISTRIBUTIONS, OF_TAIL
from gauntlet.metrics.quantity import of_due as quantile_of_due
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

    Where all came it is that of the table of flows, but of single messages of which something is asked, which
    are read one by one.
    """
    arrived = 1 - lost(row)
    if not row.completed or arrived <= 0:
        return NEVER
    told = row.kpis.get(tails.column(of.removeprefix("each_"), level)) if level in tails.TAILS else None
    singly = samples.singly and DISTRIBUTIONS[of][1] in MESSAGE_DELAYS
    if arrived == 1 and told is not None and not singly:
        return Observation(told)
    kept = samples.of(of).get((row.run, row.flow))
    if kept is None or not kept.values.size or np.isnan(kept.values).any():
        return None
    value = quantile_of_due(level, kept, arrived=arrived)
    return Observation(value) if np.isfinite(value) else NEVER


def of_kpi(kpi: Kpi, row: Row, samples: Samples, *, of_due: bool) -> Observation | None:
    """A KPI of a flow. With `of_due` percentiles of delays are those of all messages that were due, as where
    one of them is asked: a page has one p99.
    """
    if of_due and kpi.of_tail and row.trusted and row.completed:
        distribution, level = OF_TAIL[kpi.name]
        return delay(row, level, distribution, samples)
    return row.observed(kpi)


def lost(row: Row) -> float:
    """The share of the messages that did not come."""
    shares = (row.kpis.get("message_failure_ratio"), row.kpis.get("message_loss_ratio"))
    return next((it for it in shares if it is not None), 0.0)
