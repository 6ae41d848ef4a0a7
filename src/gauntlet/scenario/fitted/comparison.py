"""How a fitted link compares with the one that was measured: distributions, persistence and outages."""

from typing import Any

import numpy as np

from gauntlet.scenario.fitted.link_model import QUANTITIES, LinkModel
from gauntlet.scenario.fitted.series import Flags, Floats, Proportional

SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles that are shown."""
LEAST_CORRELATION = 0.3
"""Less, the two directions of a journey may have in common by chance."""
FAR = 0.2
"""A distance above it is named: so large a share of the steps is on the wrong side of some value."""
_LEAST_STEPS = 20_000
"""A link drawn for less would show its own chance, not the model."""
_MOST_STEPS = 200_000
_MEASURED_TIMES = 10


def compare(model: LinkModel, measured: dict[str, Floats], out: Flags, seed: int) -> dict[str, Any]:
    """Plain JSON types: for each quantity outside of outages the mean, quantiles and the correlation from one
    step to the next, measured and fitted, and the largest distance of the two distribution functions
    (Kolmogorov and Smirnov's); the outages; how the two directions' rates go together; and the correlation of
    the directions where they do so in what was measured and the model draws them apart. `far` has the
    quantities whose distance is above `FAR`.
    """
    steps = min(max(_LEAST_STEPS, _MEASURED_TIMES * len(out)), _MOST_STEPS)
    drawn, drawn_out = model.draw(steps, seed)
    distances = {name: _distance(measured[name][~out], drawn[name][~drawn_out]) for name in QUANTITIES}
    return {
        "step_s": model.step_s,
        "measured_steps": len(out),
        "fitted_steps": steps,
        "quantities": {
            name: {
                "model": getattr(model, name).model,
                "measured": _figures(measured[name][~out]),
                "fitted": _figures(drawn[name][~drawn_out]),
                "distance": distances[name],
            }
            for name in QUANTITIES
        },
        "outages": {
            "measured": _spells(out, model.step_s),
            "fitted": _spells(drawn_out, model.step_s),
        },
        "correlation_of_rates": {
            "measured": _correlation(measured["rate_down"][~out], measured["rate_up"][~out]),
            "fitted": _correlation(drawn["rate_down"][~drawn_out], drawn["rate_up"][~drawn_out]),
        },
        "drawn_apart": _drawn_apart(model, measured, out),
        "far": {name: distance for name, distance in distances.items() if distance > FAR},
    }


def _drawn_apart(model: LinkModel, measured: dict[str, Floats], out: Flags) -> dict[str, float]:
    found: dict[str, float] = {}
    for what in ("rate", "delay", "loss"):
        down, up = f"{what}_down", f"{what}_up"
        if isinstance(getattr(model, up), Proportional) or isinstance(getattr(model, down), Proportional):
            continue
        together = _correlation(measured[down][~out], measured[up][~out])
        if together is not None and abs(together) >= LEAST_CORRELATION:
            found[what] = together
    return found


def _figures(values: Floats) -> dict[str, float | None]:
    return {
        "mean": float(np.mean(values)),
        **{f"p{share * 100:g}": float(np.quantile(values, share)) for share in SHARES},
        "step_to_step": _correlation(values[:-1], values[1:]),
    }


def _distance(one: Floats, other: Floats) -> float:
    """The largest between two distribution functions. No test: one step of a link hangs on the one before."""
    # SciPy takes longer to load than most commands to run.
    from scipy.stats import ks_2samp

    return round(float(ks_2samp(one, other, method="asymp").statistic), 4)


def _correlation(one: Floats, other: Floats) -> float | None:
    """Pearson's; None where one does not change."""
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    return round(float(np.corrcoef(one, other)[0, 1]), 4)


def _spells(out: Flags, step_s: float) -> dict[str, float | None]:
    begun = int(np.sum(out[1:] & ~out[:-1]) + out[0])
    return {
        "share": float(np.mean(out)),
        "mean_length_s": float(np.sum(out)) * step_s / begun if begun else None,
    }
