"""From what a file says of a scenario to the scenario that runs ride, and to the stretch of each of them."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gauntlet.errors import UserError
from gauntlet.experiment import links
from gauntlet.experiment.runspec import ScenarioRef
from gauntlet.experiment.scenario_section import FollowedSection

if TYPE_CHECKING:
    from gauntlet.scenario import Scenario

_FILES = (".csv", ".parquet", ".toml")


@dataclass(frozen=True)
class Asked:
    """Which stretch of a scenario is to be ridden; with neither time one from its beginning on."""

    name: str
    """The scenario's, as it was written."""
    chunk_s: float | None = None
    """The length of one whose beginning is drawn."""
    start_s: float | None = None
    """A fixed beginning."""


def referred(section: FollowedSection, params: Mapping[str, Any], folder: Path) -> ScenarioRef:
    """The scenario of a section with these parameters; where its name is a file, looked for in `folder`.

    Raises UserError for a stretch that is both drawn and fixed.
    """
    if section.chunk is not None and section.start is not None:
        raise UserError(
            "[scenario]: 'chunk' and 'start' both stand here; keep one (chunk draws the start by chance)."
        )
    path = str((folder / section.name).resolve()) if section.name.endswith(_FILES) else None
    return ScenarioRef(section.name, dict(params), section.bearer, path)


def refuse_bare_numbers(section: FollowedSection, ref: ScenarioRef, seed: int) -> None:
    """What has a unit needs it in a file: `delay = 100` would be 100 s, and `loss = 1` all packets.

    As text a number means the same where it has no unit, and is refused where it lacks one.
    """
    bare = {
        key: str(value)
        for key, value in section.params.items()
        if isinstance(value, int | float)
        and not isinstance(value, bool)
        and not (key == "loss" and 0 <= value < 1)
    }
    if bare:
        links.scenario(dataclasses.replace(ref, params={**ref.params, **bare}), seed)


def stretch(
    asked: Asked,
    scenario: "Scenario",
    link_seed: int,
    limit_s: float,
    part: tuple[int, int] = (0, 1),
) -> tuple[float, float]:
    """Where on the scenario a run begins and how long the stretch is, in seconds; `part` as of `chunks`.

    Raises UserError for a beginning beyond the scenario's end.
    """
    if asked.chunk_s is not None:
        from gauntlet.scenario import chunks

        chosen = chunks(scenario, duration_s=asked.chunk_s, count=1, seed=link_seed, part=part)[0]
        return chosen.start_s, chosen.duration_s
    start_s = asked.start_s or 0.0
    if start_s >= scenario.duration_s:
        raise UserError(
            f"[scenario] start: {start_s:g} s is beyond the end of '{asked.name}', which lasts "
            f"{scenario.duration_s:g} s; choose an earlier start."
        )
    return start_s, min(limit_s, scenario.duration_s - start_s)
