"""Delays of clients as survival curves: Kaplan and Meier's estimate, with an interval.

A request that was not served when its time was over is *censored*: all that is known is that it would have
taken longer. Leaving it out, as a mean over those that ended does, praises whoever serves fewest. One that
was refused or reset is censored at the limit too: nobody served it.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Step:
    """A step of the curve: what holds from this time until the next step."""

    time_s: float
    unserved: float
    """Share of requests that take longer."""
    low: float
    high: float
    """95 % interval (exponential Greenwood)."""


@dataclass(frozen=True)
class Curve:
    """The share of requests that are not served yet, against time."""

    n: int
    """Requests."""
    served: int
    limit_s: float
    """Until when it was waited."""
    steps: tuple[Step, ...]

    def unserved(self, time_s: float) -> float:
        """The share that takes longer than this."""
        held = 1.0
        for step in self.steps:
            if step.time_s > time_s:
                break
            held = step.unserved
        return held

    def quantile_s(self, share: float) -> float | None:
        """The time by which this share is served; None where it is not within the limit."""
        return next((step.time_s for step in self.steps if step.unserved <= 1 - share + 1e-12), None)

    @property
    def restricted_mean_s(self) -> float:
        """The mean time of a client that gives up at the limit: the area under the curve up to there."""
        times = [0.0, *(step.time_s for step in self.steps), self.limit_s]
        shares = [1.0, *(step.unserved for step in self.steps)]
        return math.fsum(
            share * (later - earlier) for share, (earlier, later) in zip(shares, pairwise(times), strict=True)
        )


def curve(delays_s: Sequence[float | None], limit_s: float) -> Curve:
    """The curve of these delays; None, and what is longer than the limit, was not served within it.

    Raises ValueError without a single request.
    """
    # It takes a second to import, which only those wait for who ask for a curve.
    from scipy.stats import CensoredData, ecdf

    if not delays_s:
        raise ValueError("a survival curve needs at least one request")
    served = [delay for delay in delays_s if delay is not None and delay <= limit_s]
    n = len(delays_s)
    if not served:
        return Curve(n, 0, limit_s, ())
    censored = [limit_s] * (n - len(served))
    found = ecdf(CensoredData(uncensored=served, right=censored)).sf
    with warnings.catch_warnings():
        # The formula has no value where all or none are left; there the point itself stands for it.
        warnings.simplefilter("ignore", RuntimeWarning)
        interval = found.confidence_interval(CONFIDENCE, method="log-log")
    points = zip(
        found.quantiles, found.probabilities, interval.low.probabilities, interval.high.probabilities,
        strict=True,
    )  # fmt: skip
    ended = set(served)
    steps = [
        Step(float(time), float(share), _or(low, share), _or(high, share))
        for time, share, low, high in points
        if float(time) in ended
    ]
    return Curve(n, len(served), limit_s, tuple(steps))


def _or(bound: float, share: float) -> float:
    return float(share if math.isnan(bound) else bound)
