"""How many messages a need lets be late or lost, and how far from that a transport is.

*99.9 % of messages within 0.5 s* lets 0.1 % of them be late. The mean over repetitions of that quantile does
not say whether more were: where 3 % are late on one ride of twenty and none on the others, the mean may well
keep 0.5 s, and 0.15 % of all messages were late. So the quantile has to keep the limit, and the share of
messages that were late or lost what the need lets be.
"""

import math

from gauntlet.experiment.services import Limit
from gauntlet.metrics.quantity import MESSAGES

_OF_COLUMNS = {"delay_p95_s": 0.95, "delay_median_s": 0.5}
"""Columns of `MESSAGES` that are a quantile; the others are means or have theirs named by the need."""


def may_miss(need: Limit) -> float | None:
    """The share of messages that may be late or lost; None where a need does not say so: one against the
    best, or of a mean.
    """
    level = _OF_COLUMNS.get(need.kpi, need.quantile)
    if need.most is None or need.kpi not in MESSAGES or level is None:
        return None
    return round(1 - level, 12)


def deadline_s(need: Limit, channel_delay_s: float | None) -> float | None:
    """From when on a message is late, the channel's own delay included; None without an absolute limit."""
    if need.most is None:
        return None
    own_s = channel_delay_s if need.above_channel else None
    return need.most + (own_s or 0.0)


def times(missed: float, allowed: float) -> float:
    """How many times as many messages were late or lost as may be; 1 however a computer rounds it."""
    found = missed / allowed
    return 1.0 if math.isclose(found, 1, rel_tol=1e-9) else found
