"""A link drawn from a model that was calibrated to a trace (docs/formats/link-model.md)."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

from gauntlet.scenario.fitted import link_model
from gauntlet.scenario.fitted.link_model import Calibration
from gauntlet.scenario.model import Scenario
from gauntlet.scenario.params import DurationS, ScenarioParams, SizeBytes, read_params


class FittedParams(ScenarioParams):
    """What is None is the model's own: as long as the trace that it was calibrated to, and its buffer."""

    duration: DurationS | None = None
    queue_limit: SizeBytes | None = None


def is_model(path: Path) -> bool:
    """Whether a TOML file says that it is a fitted link; what cannot be read is none."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8")).get("kind") == link_model.KIND
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return False


def build(name: str, given: Mapping[str, object] | None, seed: int) -> Scenario:
    """A link drawn with `seed` from the model in the file `name`."""
    params = read_params(FittedParams, given, name)
    model = link_model.read(Path(name))
    if params.queue_limit is not None:
        model = model.model_copy(update={"queue_limit_bytes": params.queue_limit})
    duration_s = params.duration or model.calibrated.duration_s
    trace = model.trace(duration_s, seed, name)
    return Scenario(
        name=name,
        title=_title(model.calibrated),
        kind=link_model.KIND,
        bearers={"link": trace},
        duration_s=duration_s,
        max_rate_bps=float(max(trace.column("rate_up_bps").max(), trace.column("rate_down_bps").max())),
        params=params.model_dump(),
        seed=seed,
    )


def _title(calibrated: Calibration) -> str:
    """What it was fitted to, and what of it is not like that."""
    title = f"Link fitted to {calibrated.source}"
    if not calibrated.far:
        return title
    unlike = (f"{name.replace('_', ' ')} (distance {far:.2f})" for name, far in calibrated.far.items())
    return f"{title}, unlike it in {', '.join(unlike)}"
