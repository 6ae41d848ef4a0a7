"""A link read from a CSV or Parquet file (docs/formats/trace.md)."""

from collections.abc import Mapping
from pathlib import Path

from gauntlet.scenario.model import Scenario
from gauntlet.scenario.params import ScenarioParams, read_params
from gauntlet.scenario.trace_files import read_trace


class RecordedParams(ScenarioParams):
    """A recorded link has nothing to set."""


def build(name: str, given: Mapping[str, object] | None, seed: int) -> Scenario:
    """The link recorded in the file `name`."""
    params = read_params(RecordedParams, given, name)
    trace = read_trace(Path(name))
    return Scenario(
        name=name,
        title=f"Recorded link {Path(name).stem}",
        kind="recorded",
        bearers={"link": trace},
        duration_s=trace.end_s,
        max_rate_bps=float(max(trace.column("rate_up_bps").max(), trace.column("rate_down_bps").max())),
        params=params.model_dump(),
        seed=seed,
    )
