"""Whether one direction of a link is a number times the other at every step."""

import numpy as np

from gauntlet.scenario.fitted.series import Floats

_SAME = 1e-4
"""Quotients that differ by less are the same."""
_ROUGHEST = 0.01
"""Values are taken to be rounded to this share of their median at most; a link's levels are further apart."""


def ratio(of: Floats, values: Floats, digits: int) -> float | None:
    """By what `of` has to be multiplied to give `values`, within what both were rounded to; None where no
    number does. `digits` are those behind the decimal point that both have.
    """
    if np.mean(of) <= 0 or np.ptp(of) == 0:
        return None
    usual = float(np.mean(values) / np.mean(of))
    if usual > 0 and np.allclose(values, usual * of, rtol=_SAME, atol=0):
        return usual
    half_of, half = (_unit(series, digits) / 2 for series in (of, values))
    above = of > half_of
    if not above.any() or np.any(values[~above] > half):
        return None
    least = float(np.max((values[above] - half) / (of[above] + half_of)))
    most = float(np.min((values[above] + half) / (of[above] - half_of)))
    return min(max(usual, least), most) if 0 < least <= most else None


def _unit(values: Floats, digits: int) -> float:
    """That of which every value is a multiple, or a small share of the median where it is more."""
    scale = 10.0**digits
    common = int(np.gcd.reduce(np.rint(values * scale).astype(np.int64))) / scale
    return min(common, _ROUGHEST * float(np.median(values)))
