"""What to use, by a study's results: its classes, the settings that were measured, and what they rest on."""

from collections.abc import Sequence

from gauntlet.advice.grid import Grid
from gauntlet.advice.use import Advice
from gauntlet.studies.advised import grids
from gauntlet.studies.calibrated import behind
from gauntlet.studies.model import Study
from gauntlet.studies.settings import changes
from gauntlet.studies.summary import Summary


def advice(study: Study, summary: Summary) -> Advice:
    """What the results say of every class and setting. Of what was not measured it says that, or nothing."""
    found = tuple(grids(study, summary))
    rests = tuple(tuple(behind(study, _absolute(it))) for it in found)
    return Advice(found, tuple(changes(study, summary)), rests)


def _absolute(grid: Grid) -> Sequence[str]:
    """The experiments that the class's absolute needs are measured in."""
    return [name for need in grid.service.needs if need.bound is not None for name in need.experiments]
