"""A link that never changes."""

import math
from collections.abc import Mapping

from gauntlet.scenario.model import Scenario
from gauntlet.scenario.params import DelayS, DurationS, Loss, RateBps, ScenarioParams, SizeBytes, read_params
from gauntlet.scenario.trace import Trace


class ConstantParams(ScenarioParams):
    """Both directions alike; the defaults are D3.4's highest rate, lowest channel delay, and its buffer."""

    rate: RateBps = 5.2e6
    delay: DelayS = 0.025
    loss: Loss = 0.0
    queue_limit: SizeBytes = 512_000
    duration: DurationS | None = None


def build(name: str, given: Mapping[str, object] | None, seed: int) -> Scenario:
    """A constant link; without `duration` it holds for as long as needed."""
    params = read_params(ConstantParams, given, name)
    end_s = params.duration or math.inf
    trace = Trace.from_columns(
        {
            "t_s": [0.0],
            "rate_up_bps": [params.rate],
            "rate_down_bps": [params.rate],
            "delay_up_s": [params.delay],
            "delay_down_s": [params.delay],
            "loss_up": [params.loss],
            "loss_down": [params.loss],
            "queue_limit_bytes": [params.queue_limit],
            "source": ["parameters"],
        },
        end_s,
        name,
    )
    return Scenario(
        name=name,
        title="Constant link",
        kind="constant",
        bearers={"link": trace},
        duration_s=end_s,
        max_rate_bps=params.rate,
        params=params.model_dump(),
        seed=seed,
    )
