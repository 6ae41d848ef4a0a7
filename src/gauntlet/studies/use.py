"""What to use, by a study's results: its classes, the settings that were measured, and what they rest on."""

from collections.abc import Sequence

from gauntlet.advice.grid import Grid
from gauntlet.advice.settings import unvaried
from gauntlet.advice.use import Advice
from gauntlet.studies.advised import grids
from gauntlet.studies.calibrated import behind
from gauntlet.studies.model import Study
from gauntlet.studies.settings import changes
from gauntlet.studies.siblings import with_other_queues
from gauntlet.studies.summary import Summary


def advice(study: Study, summary: Summary) -> Advice:
    """What the results say of every class and setting. Of what was not measured it says that, or nothing."""
    found = tuple(grids(study, summary))
    limits_rest = tuple(tuple(behind(study, _experiments(it, absolute=True))) for it in found)
    values_rest = tuple(tuple(behind(study, _experiments(it))) for it in found)
    settings = tuple(changes(study, summary))
    silent_on = unvaried(settings)
    return Advice(
        found,
        settings,
        limits_rest,
        values_rest,
        unvaried=tuple(it for it in silent_on if it not in study.elsewhere),
        elsewhere={name: told for name, told in study.elsewhere.items() if name in silent_on},
        unclassed=tuple(_unclassed(study, summary, found)),
    )


def _unclassed(study: Study, summary: Summary, found: Sequence[Grid]) -> list[str]:
    """The experiments that no need is measured in, not even with another queue; none without classes."""
    if not found:
        return []
    needs = [need for grid in found for need in grid.service.needs]
    asked = {name for need in needs for name in need.experiments}
    for need in needs:
        for other in with_other_queues(study, summary, need).values():
            asked |= set(other.experiments)
    return [name for name in summary.experiments if name not in asked]


def _experiments(grid: Grid, *, absolute: bool = False) -> Sequence[str]:
    """The experiments that the class's needs are measured in, or only those with absolute limits."""
    return [
        name
        for need in grid.service.needs
        if need.bound is not None or not absolute
        for name in need.experiments
    ]
