"""How many of many packets chance may lose: ranges that a link doing what was asked leaves with a given, tiny
probability.

The ranges are Chernoff bounds: P(S >= s) <= min over t > 0 of E[exp(t S)] exp(-t s), and likewise below. They
hold for every number of packets, for sums over stretches with different probabilities, and (with the transfer
matrix of the chain in place of the single probability) for the bursts of a Gilbert-Elliott model. They
contain the exact binomial range and are hardly wider: at 10,000 packets and 1 % loss, alpha 1e-6, 52 to 158
instead of 55 to 152 packets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, log

import numpy as np
import numpy.typing as npt

from gauntlet.certificate.asked import Bursts

Floats = npt.NDArray[np.float64]

_TILTS: Floats = np.geomspace(1e-6, 40.0, 600)


@dataclass(frozen=True)
class Trials:
    """`count` packets, each hit with a probability between `low` and `high`.

    With `bursts` these are the stationary probabilities, and hits come in the bursts of a Gilbert-Elliott
    chain; what `high` has above the chain's own probability are independent hits.
    """

    count: int
    low: float
    high: float
    bursts: Bursts | None = None


def allowed_range(trials: Sequence[Trials], alpha: float) -> tuple[int, int]:
    """The smallest and the largest total number of hits that is not an event rarer than `alpha` (half of
    it on either side)."""
    total = sum(part.count for part in trials)
    up = np.zeros_like(_TILTS)
    down = np.zeros_like(_TILTS)
    for part in trials:
        if part.bursts is not None:
            up += _log_moment_of_chain(part.bursts, part.count, _TILTS)
            up += part.count * _log_moment(max(0.0, part.high - part.bursts.loss), _TILTS)
            thinned = _thinned(part.bursts, part.low / part.high if part.high else 1.0)
            down += _log_moment_of_chain(thinned, part.count, -_TILTS)
        else:
            up += part.count * _log_moment(part.high, _TILTS)
            down += part.count * _log_moment(part.low, -_TILTS)
    bound = log(2 / alpha)
    # A count s is rejected above if up - t s <= -bound for any tilt t, that is from min((up + bound) / t) on;
    # likewise below.
    largest = ceil(float(np.min((up + bound) / _TILTS))) - 1
    smallest = floor(float(np.max(-(down + bound) / _TILTS))) + 1
    return max(0, smallest), min(total, largest)


def _thinned(model: Bursts, share: float) -> Bursts:
    return replace(model, loss_bad=model.loss_bad * share, loss_good=model.loss_good * share)


def _log_moment(probability: float, tilts: Floats) -> Floats:
    if probability == 1.0:
        return tilts
    moment: Floats = np.log1p(probability * np.expm1(tilts))
    return moment


def tilted_range(moments: tuple[Floats, Floats], tilts: Floats, alpha: float) -> tuple[float, float]:
    """The range of a sum that is not left with a chance of more than `alpha`, half of it on either side.

    `moments`: bounds of log E[exp(t S)] and of log E[exp(-t S)] for each of the `tilts` t > 0.
    """
    up, down = moments
    bound = log(2 / alpha)
    return float(np.max(-(down + bound) / tilts)), float(np.min((up + bound) / tilts))


def _log_moment_of_chain(model: Bursts, count: int, tilts: Floats) -> Floats:
    """log E[exp(t S)] of a Gilbert-Elliott chain over `count` packets, from whichever state makes it
    larger."""
    lost = np.exp(tilts)
    good = 1 - model.loss_good + model.loss_good * lost
    bad = 1 - model.loss_bad + model.loss_bad * lost
    power = np.empty((len(tilts), 2, 2))
    power[:, 0, 0], power[:, 0, 1] = good * (1 - model.p), good * model.p
    power[:, 1, 0], power[:, 1, 1] = bad * model.r, bad * (1 - model.r)
    result = np.ones((len(tilts), 2, 1))
    log_scale = np.zeros(len(tilts))
    log_power = np.zeros(len(tilts))
    remaining = count
    while remaining:
        if remaining & 1:
            result = power @ result
            size = result.max(axis=(1, 2))
            result /= size[:, None, None]
            log_scale += log_power + np.log(size)
        power = power @ power
        size = power.max(axis=(1, 2))
        power /= size[:, None, None]
        log_power = 2 * log_power + np.log(size)
        remaining >>= 1
    moment: Floats = log_scale + np.log(result.max(axis=(1, 2)))
    return moment
