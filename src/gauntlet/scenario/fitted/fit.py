"""Calibrates a model of a link to a trace."""

import hashlib
import math
from pathlib import Path
from typing import Literal

import numpy as np

from gauntlet.errors import UserError
from gauntlet.scenario.fitted import autoregressive, gilbert_elliott, markov, together
from gauntlet.scenario.fitted.link_model import Calibration, LinkModel, Outages, Series
from gauntlet.scenario.fitted.series import Constant, Flags, Floats, Proportional
from gauntlet.scenario.model import Scenario
from gauntlet.scenario.trace import Trace

Method = Literal["markov", "autoregressive"]
LEAST_STEPS = 60
"""Fewer say nothing of a distribution."""
_DIGITS = {"rate": 0, "delay": 9, "loss": 9}


def fit(
    scenario: Scenario,
    trace: Trace,
    *,
    method: Method = "markov",
    step_s: float | None = None,
    states: int = markov.DEFAULT_STATES,
    order: int | None = None,
) -> LinkModel:
    """Calibrate rate and delay by a Markov chain or an autoregression, losses by Gilbert's and Elliott's
    chain and outages by a chain of two states. `step_s` None: the usual time between two rows of the trace.

    Raises `UserError` for a trace that is too short.
    """
    step_s = usual_step_s(trace) if step_s is None else step_s
    measured, out = samples(trace, step_s)
    models = _models(measured, out, step_s, method=method, states=states, order=order)
    path = Path(scenario.name)
    calibrated = Calibration(
        source=path.name,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest() if scenario.kind == "recorded" else None,
        duration_s=round(len(out) * step_s, 6),
    )
    return LinkModel.model_validate(
        {
            "step_s": step_s,
            "queue_limit_bytes": int(np.median(trace.column("queue_limit_bytes"))),
            "calibrated": calibrated,
            "outages": _outages(out),
            **models,
        }
    )


def usual_step_s(trace: Trace) -> float:
    """The median time between two rows."""
    t_s = trace.column("t_s")
    if len(t_s) < 2:
        raise UserError(f"{trace.name} never changes; there is nothing to fit.")
    return round(float(np.median(np.diff(t_s))), 6)


def samples(trace: Trace, step_s: float) -> tuple[dict[str, Floats], Flags]:
    """Means of every quantity over each step, and which of the steps are in an outage."""
    until_s = trace.end_s if math.isfinite(trace.end_s) else float(trace.column("t_s")[-1])
    count = int(until_s / step_s + 1e-9) if step_s > 0 else 0
    if count < LEAST_STEPS:
        raise UserError(
            f"{trace.name} is known for {until_s:g} s, which is {count} steps of {step_s:g} s; a fit needs "
            f"{LEAST_STEPS}: take a longer trace or a smaller --step."
        )
    edges_s = step_s * np.arange(count + 1)
    found: dict[str, Floats] = {}
    for what, unit in (("rate", "_bps"), ("delay", "_s"), ("loss", "")):
        for side in ("down", "up"):
            means = trace.means(f"{what}_{side}{unit}", edges_s)
            found[f"{what}_{side}"] = np.round(means, _DIGITS[what])
    out = (found["loss_down"] == 1) | (found["loss_up"] == 1)
    if out.all():
        raise UserError(f"{trace.name} is one outage; there is nothing to fit.")
    return found, out


def _models(
    measured: dict[str, Floats], out: Flags, step_s: float, *, method: Method, states: int, order: int | None
) -> dict[str, Series]:
    models: dict[str, Series] = {}
    for what in ("rate", "delay", "loss"):
        # An outage says nothing of what the link is like otherwise.
        down, up = (measured[f"{what}_{side}"][~out] for side in ("down", "up"))
        ratio = together.ratio(down, up, _DIGITS[what])
        for side, values in (("down", down), ("up", up)):
            name = f"{what}_{side}"
            if np.ptp(values) == 0:
                models[name] = Constant(value=float(values[0]))
            elif side == "up" and ratio is not None:
                models[name] = Proportional(of=f"{what}_down", ratio=round(ratio, 9))
            elif what == "loss":
                seen = np.where(out, np.nan, measured[name])
                rate_bps = float(np.mean(measured[f"rate_{side}"][~out]))
                models[name] = gilbert_elliott.fit(seen, gilbert_elliott.packets_of(seen, rate_bps, step_s))
            elif method == "markov":
                models[name] = markov.fit(values, states)
            else:
                models[name] = autoregressive.fit(values, order)
    return models


def _outages(out: Flags) -> Outages:
    p, r = gilbert_elliott.count_states(out)
    return Outages(p=round(p, 9), r=round(r, 9))
